"""What mutants and harmless changes are made of, from `benchmarks/data/variants.yaml`."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from benchmarks.mutation.write import Prose

FILE = Path(__file__).resolve().parent.parent / "data" / "variants.yaml"


@cache
def variants() -> dict[str, Any]:
    """Return the whole file."""
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """A command that does not belong into an answer, and the findings that say so."""

    run: str
    codes: frozenset[str]


def extras(kind: str, program: str) -> list[Extra]:
    """Return the commands of a kind; ``program`` is the product's own."""
    return [
        Extra(run=e["run"].replace("{program}", program), codes=frozenset(e["codes"]))
        for e in variants()[kind]
    ]


def prose(name: str) -> Prose:
    """Return the sentences of a way to write."""
    return msgspec.convert(variants()["prose"][name], Prose)
