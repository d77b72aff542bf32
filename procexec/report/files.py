"""Files that are there whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from procexec.errors import StorageError


def write_atomically(path: Path, data: bytes) -> None:
    """Put data at the path, durably; whoever reads sees the old bytes or the new, never a part.

    Raises:
        StorageError: the disk did not take it; what stood at the path still stands there.
    """
    fresh = path.with_name(f".tmp-{secrets.token_hex(8)}")
    try:
        try:
            _write_new(fresh, data)
            fresh.replace(path)
        finally:
            with suppress(OSError):
                fresh.unlink()
        sync_folder(path.parent)
    except OSError as e:
        raise StorageError(f"cannot write {path}: {e.strerror}") from e


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes; the kernel may take them in pieces."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _write_new(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
