"""sandboxes/<product>/<version>/sandbox.yaml: what procexec knows about a product."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.document import SandboxSpec
from procexec.read.decode import decode_yaml, place_in_yaml, read_yaml
from procexec.sandbox.grants import refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFolder:
    """A product at one version: its folder and what sandbox.yaml says."""

    folder: Path
    spec: SandboxSpec


def read_sandboxes(folder: Path) -> tuple[dict[tuple[str, str], SandboxFolder], list[UserError]]:
    """Return all sandboxes below a folder by product and version, and every error in them."""
    found: dict[tuple[str, str], SandboxFolder] = {}
    errors: list[UserError] = []
    if not folder.is_dir():
        hint = "give the folder with --sandboxes DIR"
        return {}, [UserError(f"there is no folder `{folder}`", hint=hint)]
    for path in sorted(folder.glob("*/*/sandbox.yaml")):
        try:
            text = read_yaml(path, within=folder)
            spec = decode_yaml(text, SandboxSpec, file=str(path))
        except UserError as e:
            errors.append(e)
            continue
        errors += _check(spec, path, text)
        found[spec.product, spec.version] = SandboxFolder(folder=path.parent, spec=spec)
    return found, errors


def _check(spec: SandboxSpec, path: Path, text: str) -> Iterator[UserError]:
    at = Location(str(path), 1)
    if (path.parent.parent.name, path.parent.name) != (spec.product, spec.version):
        message = f"product `{spec.product}` and version `{spec.version}` do not fit the folder"
        hint = f"the folder says `{path.parent.parent.name}` and `{path.parent.name}`"
        yield UserError(message, at=at, hint=hint)
    if not (path.parent / "Dockerfile").is_file():
        yield UserError("there is no Dockerfile beside it", at=at)
    for k, grant in enumerate(spec.grants):
        if why := refusal(grant):
            yield UserError(why, at=place_in_yaml(text, ("grants", k), file=str(path)))
    for place, pattern, groups in _patterns(spec):
        wrong = _wrong(pattern, groups)
        if wrong:
            where = place_in_yaml(text, place, file=str(path))
            yield UserError(f"the pattern `{pattern}` is wrong: {wrong}", at=where)


def _wrong(pattern: str, groups: int) -> str:
    try:
        found = re.compile(pattern).groups
    except re.error as e:
        return str(e)
    return f"it has no group {groups}" if found < groups else ""


def _patterns(spec: SandboxSpec) -> Iterator[tuple[tuple[str | int, ...], str, int]]:
    """Yield the place of each pattern, the pattern, and how many groups it needs."""
    for k, prompt in enumerate(spec.prompts):
        yield ("prompts", k, "pattern"), prompt.pattern, 0
    for k, unsafe in enumerate(spec.unsafe):
        yield ("unsafe", k, "pattern"), unsafe.pattern, 0
    for k, pattern in enumerate(spec.limits):
        yield ("limits", k), pattern, 0
    for k, pattern in enumerate(spec.editors):
        yield ("editors", k), pattern, 0
    for k, session in enumerate(spec.sessions):
        for name, patterns, groups in (
            ("prompts", session.prompts, 0),
            ("retarget", session.retarget, 1),
            ("quit", session.quit, 0),
            ("ends", session.ends, 0),
            ("errors", session.errors, 0),
            ("read_only", session.read_only, 0),
        ):
            for j, pattern in enumerate(patterns):
                yield ("sessions", k, name, j), pattern, groups
