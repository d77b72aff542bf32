"""The catalogue of hostile cases, and which of them a test is about."""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
_ID = re.compile(r"(?<![a-z0-9])([ispxfejr]\d\d)(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileCase:
    """What is fed, what must come of it; ``not_here`` says why it cannot be run, if it cannot."""

    id: str
    group: str
    fed: str
    safe: str
    nightly: bool = False
    differs: str = ""
    not_here: str = ""


def catalogue() -> dict[str, HostileCase]:
    """Return all cases by id."""
    groups = yaml.safe_load((FOLDER / "cases.yaml").read_text())
    cases = [HostileCase(group=g["group"], **case) for g in groups for case in g["cases"]]
    by_id = {case.id: case for case in cases}
    assert len(by_id) == len(cases), "an id stands twice"
    return by_id


def ids_in(nodeid: str) -> frozenset[str]:
    """Return the ids of the cases that a test's name, or its parameter's, is about."""
    name = nodeid.partition("::")[2].replace("_", " ")
    return frozenset(found.upper() for found in _ID.findall(name))
