"""The case format of procedures that were verified by running them, to our own documents."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from procexec.model.document import Answer, Procedure

FOLDER = Path(os.environ.get("PROCEXEC_CASES", Path(__file__).parents[2] / "shared" / "cases"))


def procedure_folders() -> list[Path]:
    """Return the folders of all procedures with cases; none where the folder is not there."""
    return sorted(path.parent for path in FOLDER.glob("*/*/procedure.yaml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What running an answer on one version by hand showed."""

    verdict: str
    owner: str
    findings: tuple[str, ...]
    goal_reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An answer with its expectations by version, and the labelled steps."""

    answer: Answer
    kind: str
    expect: dict[str, Expected]
    labels: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]


def procedure_of(folder: Path) -> Procedure:
    """Return a case's procedure as ours."""
    raw = yaml.safe_load((folder / "procedure.yaml").read_text())
    return procedure_from(raw)


def procedure_from(raw: dict[str, Any]) -> Procedure:
    doc = dict(raw["doc"])
    doc["version"] = str(doc.pop("doc_version", ""))
    known = {field.encode_name for field in msgspec.structs.fields(Procedure)}
    ours = {key: value for key, value in raw.items() if key in known}
    ours |= {"doc": doc, "versions": [str(v) for v in raw["versions"]]}
    if "# runs as root" in raw.get("fixture", "").split("\n", 1)[0]:
        ours["fixture_user"] = "root"
    return msgspec.convert(ours, Procedure)


def cases_of(folder: Path, product: str) -> Iterator[Case]:
    """Yield a case folder's answers."""
    for line in (folder / "answers.jsonl").read_text().splitlines():
        raw = json.loads(line)
        procedure = raw.get("procedure", f"{product}/{folder.name}")
        yield Case(
            answer=Answer(
                id=raw["id"],
                answer=raw["answer"],
                question=raw.get("question", ""),
                product=product,
                procedure=procedure,
                versions=tuple(raw["expect"]),
            ),
            kind=raw["kind"],
            expect={
                version: Expected(
                    verdict=e["verdict"],
                    owner=e["owner"],
                    findings=tuple(e["findings"]),
                    goal_reached=e["goal_reached"],
                )
                for version, e in raw["expect"].items()
            },
            labels=tuple((s["text"], s["label"]) for s in raw["steps"]),
            missing=tuple(raw.get("missing", ())),
        )
