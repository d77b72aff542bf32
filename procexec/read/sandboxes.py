"""sandboxes/<product>/<version>/sandbox.yaml: what procexec knows about a product."""

import re
from dataclasses import dataclass
from pathlib import Path

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.document import SandboxSpec
from procexec.read.decode import decode_yaml


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
            spec = decode_yaml(path.read_text(), SandboxSpec, file=str(path))
        except (UserError, OSError, UnicodeDecodeError) as e:
            errors.append(e if isinstance(e, UserError) else UserError(str(e)))
            continue
        errors += _check(spec, path)
        found[spec.product, spec.version] = SandboxFolder(folder=path.parent, spec=spec)
    return found, errors


def _check(spec: SandboxSpec, path: Path) -> list[UserError]:
    errors = []
    at = Location(str(path), 1)
    if (path.parent.parent.name, path.parent.name) != (spec.product, spec.version):
        message = f"product `{spec.product}` and version `{spec.version}` do not fit the folder"
        hint = f"the folder says `{path.parent.parent.name}` and `{path.parent.name}`"
        errors.append(UserError(message, at=at, hint=hint))
    if not (path.parent / "Dockerfile").is_file():
        errors.append(UserError("there is no Dockerfile beside it", at=at))
    for pattern in _patterns(spec):
        try:
            re.compile(pattern)
        except re.error as e:
            errors.append(UserError(f"the pattern `{pattern}` is wrong: {e}", at=at))
    return errors


def _patterns(spec: SandboxSpec) -> list[str]:
    return [
        *(prompt.pattern for prompt in spec.prompts),
        *(unsafe.pattern for unsafe in spec.unsafe),
        *(
            pattern
            for session in spec.sessions
            for pattern in (*session.prompts, *session.retarget, *session.quit, *session.read_only)
        ),
    ]
