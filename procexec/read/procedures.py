"""procedures/<product>/<name>.yaml: the documented procedures, cross-checked."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.document import Procedure
from procexec.read.decode import decode_yaml, did_you_mean


def read_procedures(folder: Path) -> tuple[dict[str, Procedure], list[UserError]]:
    """Return all procedures below a folder by id, and every error found in them."""
    procedures: dict[str, Procedure] = {}
    errors: list[UserError] = []
    if not folder.is_dir():
        hint = "give the folder with --procedures DIR"
        return {}, [UserError(f"there is no folder `{folder}`", hint=hint)]
    for path in sorted(folder.glob("*/*.yaml")):
        try:
            procedure = read_procedure(path)
        except UserError as e:
            errors.append(e)
            continue
        errors += _check_name(procedure, path)
        procedures[procedure.id] = procedure
        errors += check_procedure(procedure, path.read_text(), str(path))
    return procedures, errors


def read_procedure(path: Path) -> Procedure:
    """Return one procedure.

    Raises:
        UserError: with the place of the first fault of form.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise UserError(f"cannot be read: {e}", at=Location(str(path), 1)) from e
    return decode_yaml(text, Procedure, file=str(path))


def check_procedure(procedure: Procedure, text: str, file: str) -> list[UserError]:
    """Return the faults of meaning: unknown steps, duplicates, cycles, versions."""
    return [
        *_duplicates(procedure, text, file),
        *_unknown_steps(procedure, text, file),
        *_cycles(procedure, text, file),
        *_unknown_versions(procedure, text, file),
        *_empty_goal(procedure, file),
    ]


def _check_name(procedure: Procedure, path: Path) -> list[UserError]:
    expected = f"{path.parent.name}/{path.stem}"
    if procedure.id == expected and procedure.product == path.parent.name:
        return []
    message = f"the id `{procedure.id}` does not fit the file's name"
    return [UserError(message, at=Location(str(path), 1), hint=f"call it `{expected}`")]


def _place(text: str, file: str, pattern: str) -> Location:
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        return Location(file, 1)
    start = found.start(1) if found.lastindex else found.start()
    line = text.count("\n", 0, start) + 1
    return Location(file, line, start - (text.rfind("\n", 0, start) + 1) + 1)


def _duplicates(procedure: Procedure, text: str, file: str) -> Iterator[UserError]:
    for kind, ids in (
        ("step", [step.id for step in procedure.steps]),
        ("check", [check.id for check in (*procedure.goal, *procedure.must_not)]),
    ):
        for name in dict.fromkeys(i for i in ids if ids.count(i) > 1):
            at = _place(
                text, file, rf"id:\s*['\"]?{re.escape(name)}\b[\s\S]*?id:\s*({re.escape(name)})\b"
            )
            yield UserError(f"two {kind}s are called `{name}`", at=at, hint="rename one")


def _unknown_steps(procedure: Procedure, text: str, file: str) -> Iterator[UserError]:
    ids = [step.id for step in procedure.steps]
    for step in procedure.steps:
        for name in step.after:
            if name not in ids:
                at = _place(
                    text,
                    file,
                    rf"id:\s*{re.escape(step.id)}\b[\s\S]*?(?<![\w-])({re.escape(name)})(?![\w-])",
                )
                message = f"step `{step.id}` comes after `{name}`, which is no step"
                yield UserError(message, at=at, hint=did_you_mean(name, ids))


def _cycles(procedure: Procedure, text: str, file: str) -> Iterator[UserError]:
    try:
        TopologicalSorter({step.id: step.after for step in procedure.steps}).prepare()
    except CycleError as e:
        circle = " -> ".join(reversed(e.args[1]))
        at = _place(text, file, rf"id:\s*({re.escape(e.args[1][0])})\b")
        yield UserError(f"the steps wait for each other: {circle}", at=at, hint="drop one `after`")


def _unknown_versions(procedure: Procedure, text: str, file: str) -> Iterator[UserError]:
    for version in procedure.documented_for:
        if version not in procedure.versions:
            at = _place(text, file, rf"documented_for:[\s\S]*?({re.escape(version)})")
            message = f"documented_for names `{version}`, which versions does not"
            yield UserError(message, at=at, hint=did_you_mean(version, list(procedure.versions)))


def _empty_goal(procedure: Procedure, file: str) -> Iterator[UserError]:
    del procedure, file  # no goal: the goal is the end state of the reference run
    yield from ()
