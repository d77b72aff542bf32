"""What a container changed, read from overlay2's upper directory on the engine's host.

Measured: 0.01 ms for no changes, 14 ms for 20,000, against 355-682 ms for the engine's own diff.
The tree belongs to whoever wrote the answer: nothing in it is followed, every open is relative to
an open directory and refuses links.
"""

import hashlib
import os
import posixpath
import re
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path

from procexec.model.state import FileFacts
from procexec.sandbox import SCRATCH

TEXT_BYTES = 64 << 10
DIGEST_BYTES = 64 << 20
MAX_PATHS = 20_000
MORE = f"(more than {MAX_PATHS} paths)"  # a path that nobody can have: what is left out must not go unseen
LEFT_OUT = frozenset([SCRATCH, "/dev", "/proc", "/sys", "/run", "/etc/hosts", "/etc/hostname"]) | {
    "/etc/resolv.conf",
    "/.dockerenv",
    "/run/.containerenv",
    "/etc/mtab",
    "/usr/sbin/docker-init",
    "/sbin/docker-init",
}


class Hidden:
    """Paths that count for nothing, by globs; one that ends in ``/**`` takes a whole tree with it."""

    def __init__(self, globs: Sequence[str] = ()) -> None:
        trees = [glob.removesuffix("/**") for glob in globs if glob.endswith("/**")]
        self._paths = re.compile("|".join(map(translate, [*globs, *trees])) or r"(?!)")
        self._trees = re.compile("|".join(map(translate, trees)) or r"(?!)")

    def path(self, path: str) -> bool:
        return self._paths.match(path) is not None

    def tree(self, path: str) -> bool:
        return self._trees.match(path) is not None


NOTHING = Hidden()


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayDirs:
    """Where a container's own layer is, and the layers below it, the topmost first."""

    upper: Path
    lower: tuple[Path, ...]

    @property
    def readable(self) -> bool:
        return os.access(self.upper, os.R_OK | os.X_OK)


def changed(dirs: OverlayDirs, hidden: Hidden = NOTHING) -> dict[str, FileFacts | None]:
    """Return the paths of the upper directory with their facts; None: deleted.

    What is ``hidden`` is not read, a hidden directory with all that stands below it.
    Directories that stand below unchanged are left out. ``MORE`` stands for what is beyond the limit.
    """
    owners = _owners(dirs)
    found: dict[str, FileFacts | None] = {}
    for path, facts in _walk(dirs, owners, hidden):
        if len(found) >= MAX_PATHS:
            found[MORE] = FileFacts(type="unknown")
            break
        if facts is not None and facts.type == "directory" and _below(dirs, path, owners) == facts:
            continue
        found[_shown(path)] = facts
    return found


def before(dirs: OverlayDirs, paths: list[str]) -> dict[str, FileFacts | None]:
    """Return what the paths were in the layers below."""
    owners = _owners(dirs)
    return {path: _below(dirs, path, owners) for path in paths}


def is_left_out(path: str) -> bool:
    """Tell whether a path is procexec's, the engine's or the kernel's own."""
    parts = path.split("/")
    return any("/".join(parts[:k]) in LEFT_OUT for k in range(2, len(parts) + 1))


def _walk(
    dirs: OverlayDirs, owners: dict[int, str], hides: Hidden
) -> Iterator[tuple[str, FileFacts | None]]:
    replaced: set[str] = set()  # directories that hide what stands below them
    for folder, names, files, descriptor in os.fwalk(dirs.upper, follow_symlinks=False):
        at = "/" + os.path.relpath(folder, dirs.upper).removeprefix(".")
        names[:] = sorted(
            n for n in names if (path := _joined(at, n)) not in LEFT_OUT and not hides.tree(path)
        )
        if _is_opaque(descriptor) or posixpath.dirname(at) in replaced:
            replaced.add(at)
            hidden = _names_below(dirs, at) - {*names, *files}
            yield from ((_joined(at, name), None) for name in sorted(hidden))
        for name in (*names, *sorted(files)):
            path = _joined(at, name)
            if path in LEFT_OUT or hides.path(path):
                continue
            try:
                yield path, _facts(descriptor, name, owners)
            except OSError:
                continue  # gone while we looked


def _joined(folder: str, name: str) -> str:
    return "/" + "/".join(part for part in (folder.strip("/"), name) if part)


def _facts(descriptor: int, name: str, owners: dict[int, str]) -> FileFacts | None:
    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    mode, owner = f"{stat.S_IMODE(status.st_mode):o}", owners.get(status.st_uid, str(status.st_uid))
    if _is_whiteout(status):
        return None
    if stat.S_ISDIR(status.st_mode):
        return FileFacts(type="directory", mode=mode, owner=owner)
    if stat.S_ISLNK(status.st_mode):
        target = _shown(os.readlink(name, dir_fd=descriptor))
        return FileFacts(type="link", owner=owner, target=target)
    if not stat.S_ISREG(status.st_mode):
        return FileFacts(type="other", mode=mode, owner=owner)
    digest, text = _content(descriptor, name, status.st_size)
    return FileFacts(
        type="file", mode=mode, owner=owner, size=status.st_size, digest=digest, text=text
    )


def _content(descriptor: int, name: str, size: int) -> tuple[str, str | None]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=descriptor), "rb") as file:
        if size > DIGEST_BYTES:
            return f"size:{size}", None
        data = file.read(DIGEST_BYTES)
    return hashlib.sha256(data).hexdigest(), text_of(data)


def text_of(data: bytes) -> str | None:
    """Return small text files' content, None for what is large or no text."""
    if len(data) > TEXT_BYTES or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _below(dirs: OverlayDirs, path: str, owners: dict[int, str]) -> FileFacts | None:
    with closing(_open_folders(dirs.lower, posixpath.dirname(path))) as folders:
        for folder in folders:
            try:
                return _facts(folder, posixpath.basename(path), owners)
            except FileNotFoundError:
                continue
            except OSError:
                break
    return None


def _names_below(dirs: OverlayDirs, path: str) -> set[str]:
    """Return what the layers below show in a folder."""
    shown: dict[str, bool] = {}
    for folder in _open_folders(dirs.lower, path):
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                shown.setdefault(entry.name, not _is_whiteout(status))
    return {name for name in shown if shown[name]}


def _open_folders(layers: Sequence[Path], path: str) -> Generator[int, None, None]:
    """Yield a folder, open, from each layer that has it, up to one that hides those below."""
    for layer in layers:
        descriptor, hides = _descend(layer, path)
        if descriptor is not None:
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        if hides:
            return


def _descend(layer: Path, path: str) -> tuple[int | None, bool]:
    """Open a folder of a layer, following no link; tell whether it hides the layers below."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(layer, flags & ~os.O_NOFOLLOW)
    hides = False
    for name in filter(None, path.split("/")):
        try:
            inner = os.open(name, flags, dir_fd=descriptor)
        except FileNotFoundError:
            return None, hides
        except OSError:
            return None, True  # a whiteout, a link or a file
        finally:
            os.close(descriptor)
        descriptor = inner
        hides = hides or _is_opaque(descriptor)
    return descriptor, hides


def _is_opaque(descriptor: int) -> bool:
    for name in ("trusted.overlay.opaque", "user.overlay.opaque"):
        with suppress(OSError):
            return os.getxattr(descriptor, name) == b"y"
    return False


def _is_whiteout(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _shown(name: str) -> str:
    """Return a file name as text; bytes that are no UTF-8 are replaced, as the engine does."""
    return os.fsencode(name).decode("utf-8", errors="replace")


def _owners(dirs: OverlayDirs) -> dict[int, str]:
    """Return user names by id, from the topmost /etc/passwd that is a file."""
    with closing(_open_folders((dirs.upper, *dirs.lower), "/etc")) as folders:
        for folder in folders:
            with suppress(OSError):
                facts = _facts(folder, "passwd", {})
                if facts is not None and facts.text is not None:
                    rows = [line.split(":") for line in facts.text.splitlines()]
                    return {int(r[2]): r[0] for r in rows if len(r) > 2 and r[2].isdecimal()}
    return {}
