"""Packages for images: fetched on the host with its own pip and npm, checked against their lists.

A build has no way to an index of its own, and a sandbox has no network: what a product's steps
install must stand in the image.
"""

import base64
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from procexec.errors import SandboxError, UserError
from procexec.location import Location
from procexec.model.document import Packages
from procexec.sandbox.engine import can_install, install, run
from procexec.sandbox.locks import Tell, cache_folder, locked, silent

NO_WAY: Final = "does {} reach its index on this machine?"
AT_ONCE: Final = 60
"""npm releases in one call: each is a word of its command line."""

_RELEASE: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)==[^\s;]+(?: +--hash=sha256:[0-9a-f]{64})+"
)
_TARBALL: Final = re.compile(
    r"(?P<name>(?:@[\w.-]+/)?[\w.-]+@[\w.+-]+) sha512-(?P<digest>[A-Za-z0-9+/]{86}==)"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file for the build's context, and where it stands on the host."""

    name: str
    path: Path


def fetch(packages: Packages, folder: Path, tell: Tell = silent) -> list[Fetched]:
    """Return the files of a sandbox's package lists, from the cache or fetched now.

    Raises:
        UserError: a list cannot be read, with its place.
        SandboxError: pip or npm could not fetch a release.
    """
    found: list[Fetched] = []
    if packages.wheels:
        found += _wheels(folder / packages.wheels, packages.python, tell)
    if packages.tarballs:
        found += _tarballs(folder / packages.tarballs, tell)
    return found


def _lines(path: Path, form: re.Pattern[str], example: str) -> Iterator[tuple[int, re.Match[str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise UserError(
            f"the list of packages cannot be read: {e}", at=Location(str(path), 1)
        ) from e
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        m = form.fullmatch(line.strip())
        if m is None:
            at = Location(str(path), number, 1)
            raise UserError("this line names no release", at=at, hint=f"for example: {example}")
        yield number, m


def _store(kind: str, key: str) -> Path:
    return cache_folder() / kind / hashlib.sha256(key.encode()).hexdigest()[:24]


# --- wheels -------------------------------------------------------------------------------------


def _wheels(path: Path, python: str, tell: Tell) -> list[Fetched]:
    form = _lines(path, _RELEASE, "requests==2.31.0 --hash=sha256:<64 hex digits>")
    lines = [(m["name"].lower(), m[0]) for _, m in form]
    store = _store("wheels", "\n".join([python, _machine(), *(line for _, line in lines)]))
    with locked(f"wheels-{store.name}", tell):
        if not store.is_dir():
            tell(f"fetching {len(lines)} wheels with pip")
            with tempfile.TemporaryDirectory(dir=_parent(store)) as made:
                for part in _passes(lines):
                    _pip(part, python, Path(made))
                Path(made).rename(store)
                Path(made).mkdir()  # for the context manager to remove
    return [Fetched(f"wheels/{p.name}", p) for p in sorted(store.iterdir())]


def _parent(store: Path) -> Path:
    store.parent.mkdir(parents=True, exist_ok=True)
    return store.parent


def _passes(lines: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the lines in as few lists as there are releases of one project: pip takes one each."""
    passes: list[dict[str, str]] = []
    for name, line in lines:
        free = next((p for p in passes if name not in p), None)
        if free is None:
            passes.append(free := {})
        free[name] = line
    return [list(p.values()) for p in passes]


def _machine() -> str:
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(m := os.uname().machine.lower(), m)


def _pip(lines: Sequence[str], python: str, folder: Path) -> None:
    platforms = [f"manylinux_2_{n}_{_machine()}" for n in (17, 28)]
    platforms += [f"manylinux2014_{_machine()}"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
        ]
        command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", str(folder)]
        command += ["--python-version", python, "--implementation", "cp"]
        command += [word for name in platforms for word in ("--platform", name)]
        run([*command, "--requirement", file.name], hint=NO_WAY.format("pip"))


# --- npm ----------------------------------------------------------------------------------------


def _tarballs(path: Path, tell: Tell) -> list[Fetched]:
    form = _lines(path, _TARBALL, "<name>@<version> sha512-<base64>")
    digests = {m["name"]: m["digest"] for _, m in form}
    store = _store("tarballs", "\n".join(f"{n} {d}" for n, d in sorted(digests.items())))
    with locked(f"tarballs-{store.name}", tell):
        if not store.is_dir():
            tell(f"fetching {len(digests)} packages with npm")
            _npm(digests, store, tell)
    return [Fetched(f"tarballs/{p.name}", p) for p in sorted(store.iterdir())]


def _npm(digests: dict[str, str], store: Path, tell: Tell) -> None:
    """Fill a store by way of npm's own cache, which keeps what it fetched by its digest."""
    if shutil.which("npm") is None and can_install():
        install(["npm"], tell)
    if shutil.which("npm") is None:
        raise SandboxError("npm is needed to fetch packages", hint="sudo apt-get install npm")
    with tempfile.TemporaryDirectory(dir=_parent(store)) as folder:
        made, cache = Path(folder) / "made", Path(folder) / "cache"
        made.mkdir()
        names = sorted(digests)
        for k in range(0, len(names), AT_ONCE):
            run(
                ["npm", "cache", "add", f"--cache={cache}", *names[k : k + AT_ONCE]],
                hint=NO_WAY.format("npm"),
            )
        for name, digest in digests.items():
            hexed = base64.b64decode(digest).hex()
            content = cache / "_cacache/content-v2/sha512" / hexed[:2] / hexed[2:4] / hexed[4:]
            if not content.is_file():
                raise SandboxError(f"npm fetched another {name} than the list's digest says")
            shutil.copyfile(content, made / f"{name.replace('/', '__')}.tgz")
        made.rename(store)
