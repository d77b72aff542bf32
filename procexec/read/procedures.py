"""procedures/<product>/<name>.yaml: the documented procedures, cross-checked."""

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from procexec.errors import UserError
from procexec.model.document import Procedure
from procexec.read.decode import decode_yaml, did_you_mean, place_in_yaml, read_yaml


def read_procedures(folder: Path) -> tuple[dict[str, Procedure], list[UserError]]:
    """Return all procedures below a folder by id, and every error found in them."""
    procedures: dict[str, Procedure] = {}
    errors: list[UserError] = []
    if not folder.is_dir():
        hint = "give the folder with --procedures DIR"
        return {}, [UserError(f"there is no folder `{folder}`", hint=hint)]
    for path in sorted(folder.glob("*/*.yaml")):
        try:
            text = read_yaml(path, within=folder)
            procedure = decode_yaml(text, Procedure, file=str(path))
        except UserError as e:
            errors.append(e)
            continue
        procedures[procedure.id] = procedure
        errors += _check_name(procedure, path, text)
        errors += check_procedure(procedure, text, str(path))
    return procedures, errors


def read_procedure(path: Path) -> Procedure:
    """Return one procedure.

    Raises:
        UserError: with the place of the first fault of form.
    """
    return decode_yaml(read_yaml(path, within=path.parent), Procedure, file=str(path))


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with the value at a path of the file."""

    path: tuple[str | int, ...]
    message: str
    hint: str


def check_procedure(procedure: Procedure, text: str, file: str) -> list[UserError]:
    """Return the faults of meaning in reading order: unknown steps, duplicates, cycles, versions."""
    faults = (
        *_duplicates(procedure),
        *_unknown_steps(procedure),
        *_cycles(procedure),
        *_unknown_versions(procedure),
    )
    placed = [(place_in_yaml(text, fault.path, file=file), fault) for fault in faults]
    placed.sort(key=lambda pair: (pair[0].line, pair[0].column))
    return [UserError(fault.message, at=at, hint=fault.hint) for at, fault in placed]


def _check_name(procedure: Procedure, path: Path, text: str) -> list[UserError]:
    expected = f"{path.parent.name}/{path.stem}"
    if procedure.id != expected:
        message = f"the id `{procedure.id}` does not fit the file's name"
        at = place_in_yaml(text, ("id",), file=str(path))
        return [UserError(message, at=at, hint=f"call it `{expected}`")]
    if procedure.product != path.parent.name:
        message = f"the product `{procedure.product}` does not fit the folder's name"
        at = place_in_yaml(text, ("product",), file=str(path))
        return [UserError(message, at=at, hint=f"call it `{path.parent.name}`")]
    return []


def _duplicates(procedure: Procedure) -> Iterator[_Fault]:
    goal = [check.id for check in procedure.goal]
    must_not = [check.id for check in procedure.must_not]
    yield from _repeated("step", "steps", [step.id for step in procedure.steps], [])
    yield from _repeated("check", "goal", goal, [])
    yield from _repeated("check", "must_not", must_not, goal)


def _repeated(kind: str, part: str, ids: list[str], taken: list[str]) -> Iterator[_Fault]:
    for k, name in enumerate(ids):
        if name in taken or name in ids[:k]:
            yield _Fault((part, k, "id"), f"two {kind}s are called `{name}`", "rename one")


def _unknown_steps(procedure: Procedure) -> Iterator[_Fault]:
    ids = [step.id for step in procedure.steps]
    for k, step in enumerate(procedure.steps):
        for j, name in enumerate(step.after):
            if name not in ids:
                message = f"step `{step.id}` comes after `{name}`, which is no step"
                yield _Fault(("steps", k, "after", j), message, did_you_mean(name, ids))


def _cycles(procedure: Procedure) -> Iterator[_Fault]:
    ids = [step.id for step in procedure.steps]
    try:
        TopologicalSorter({step.id: step.after for step in procedure.steps}).prepare()
    except CycleError as e:
        circle = e.args[1][::-1]
        message = f"the steps wait for each other: {' -> '.join(circle)}"
        yield _Fault(("steps", ids.index(circle[0]), "after"), message, "drop one `after`")


def _unknown_versions(procedure: Procedure) -> Iterator[_Fault]:
    for k, version in enumerate(procedure.documented_for):
        if version not in procedure.versions:
            message = f"documented_for names `{version}`, which versions does not"
            hint = did_you_mean(version, list(procedure.versions))
            yield _Fault(("documented_for", k), message, hint)
