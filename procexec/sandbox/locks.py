"""One process at a time: locks between processes of the same user."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from procexec.errors import SandboxError

Tell = Callable[[str], None]
"""Takes one line about the progress of something slow."""

PATIENCE = 3600.0
POLL = 0.2


def silent(_line: str) -> None:
    """Tell nobody."""


def cache_folder() -> Path:
    """Return the folder for what procexec can make again, as the XDG rules place it."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    folder = home / "procexec"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(name: str, tell: Tell = silent, *, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of that name; the kernel frees it when its process dies.

    Raises SandboxError if another process holds it for longer than ``patience`` seconds.
    """
    folder = cache_folder() / "locks"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.lock"
    with path.open("a") as file:
        _acquire(file.fileno(), path, tell, time.monotonic() + patience)
        yield


def _acquire(descriptor: int, path: Path, tell: Tell, deadline: float) -> None:
    if _taken(descriptor):
        return
    tell(f"waiting for another procexec: {path.stem}")
    while not _taken(descriptor):
        if time.monotonic() > deadline:
            raise SandboxError(
                f"another process holds {path} for too long",
                hint=f"see which one: fuser -v {path}",
            )
        time.sleep(POLL)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
