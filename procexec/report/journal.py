"""The durable results of a run: one row a line, on the disk before anybody is told so.

A row is canonical JSON (ASCII, sorted keys) whose last member ``~`` is the BLAKE2b checksum of the
row without it; its first, ``#``, is its number, so that a row that was taken out is missed. The rows of a run are the truth; every other report is made from them.
"""

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from procexec.errors import StorageError, UserError
from procexec.model.result import AnswerResult, Verdict
from procexec.report.files import sync_folder, write_all, write_atomically

Row = dict[str, object]

_NUMBER = "#"
_CHECKSUM = b',"~":"%s"}\n'
_CHECKSUM_BYTES = len(_CHECKSUM % (b"0" * 16))


class Journal:
    """The one writer of a run's results.

    ``rows`` are those that were there at open. ``torn`` is where a last row that a crash left
    unfinished was put aside; nobody was told that it is stored. Threads may append at once.
    """

    def __init__(self, path: Path, fd: int, scan: "_Scan", torn: Path | None) -> None:
        self.rows = scan.rows
        self.torn = torn
        self._path = path
        self._fd = fd
        self._size = scan.size
        self._count = len(scan.rows)
        self._broken = False
        self._lock = Lock()

    @classmethod
    def open(cls, path: Path) -> "Journal":
        """Open a journal to append, or make one.

        Raises:
            UserError: another process writes it, or it is not a file.
            StorageError: a row other than the last is damaged; the disk failed.
        """
        fd = _opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            _own(fd, path)
            with open(fd, "rb", closefd=False) as file:
                scan = _scan(file, path)
            torn = _put_aside(fd, path, scan) if scan.torn else None
            sync_folder(path.parent)
            return cls(path, fd, scan, torn)
        except OSError as e:
            os.close(fd)
            raise StorageError(f"cannot use {path}: {e.strerror}") from e
        except BaseException:
            os.close(fd)
            raise

    def append(self, row: Mapping[str, object]) -> None:
        """Store a row; it is on the disk when this returns.

        Raises:
            StorageError: it is not stored, and no later row will be.
        """
        with self._lock:
            if self._broken:
                raise StorageError(f"cannot write {self._path}: an earlier row was not stored")
            self._store(encoded({**row, _NUMBER: self._count + 1}))
            self._count += 1

    def _store(self, line: bytes) -> None:
        """Write and sync; never sync again after a failure: the kernel forgets what it lost."""
        stored = False
        try:
            write_all(self._fd, line)
            os.fdatasync(self._fd)
            stored = True
        except OSError as e:
            self._broken = True
            hint = "free space on the disk, then go on with `--resume`"
            raise StorageError(f"cannot write {self._path}: {e.strerror}", hint=hint) from e
        finally:
            if stored:
                self._size += len(line)
            else:
                self._cut()

    def _cut(self) -> None:
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            self._broken = True  # a torn row stays; the next open puts it aside

    def close(self) -> None:
        """Give the journal free; harmless when repeated."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._broken = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_rows(path: Path) -> list[Row]:
    """Return the stored rows, also while somebody writes; an unfinished last one is left out.

    Raises:
        UserError: there is no such file.
        StorageError: a row other than the last is damaged; the disk failed.
    """
    try:
        with open(_opened(path, os.O_RDONLY), "rb") as file:
            return _scan(file, path).rows
    except OSError as e:
        raise StorageError(f"cannot read {path}: {e.strerror}") from e


def results_of(rows: Iterable[Mapping[str, object]]) -> list[AnswerResult]:
    """Return one result for each answer and version: the last, but no error after a verdict."""
    kept: dict[str, AnswerResult] = {}
    for number, row in enumerate(rows, start=1):
        result = _result(row, number)
        known = kept.get(result.key)
        if known is None or _supersedes(result, known):
            kept[result.key] = result
    return list(kept.values())


def row_of(result: AnswerResult, **times: float) -> Row:
    """Return a result as a row; times stand beside it, so that equal results are equal."""
    row: Row = msgspec.to_builtins(result)
    return row | {"times": times} if times else row


def encoded(row: Mapping[str, object]) -> bytes:
    """Return a row as its line."""
    assert row, "an empty row says nothing"
    body = json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    return body[:-1] + _CHECKSUM % _checksum(body)


def decoded(line: bytes) -> Row:
    """Return a line's row.

    Raises:
        ValueError: the line is not what was written.
    """
    body = line[:-_CHECKSUM_BYTES] + b"}"
    if line[-_CHECKSUM_BYTES:] != _CHECKSUM % _checksum(body):
        raise ValueError("the checksum does not fit")
    row: Row = json.loads(body)
    return row


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=8).hexdigest().encode()


def _supersedes(later: AnswerResult, earlier: AnswerResult) -> bool:
    return later.verdict is not Verdict.ERROR or earlier.verdict is Verdict.ERROR


def _result(row: Mapping[str, object], number: int) -> AnswerResult:
    try:
        return msgspec.convert(row, AnswerResult)
    except msgspec.ValidationError as e:
        hint = "use the version of procexec that wrote it"
        raise UserError(f"row {number} of the results is none of ours: {e}", hint=hint) from e


def _opened(path: Path, flags: int) -> int:
    """Return the descriptor of a plain file; a link or a pipe in its place is refused."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise UserError(f"{path} is a symbolic link: results go to a plain file") from e
        raise UserError(f"cannot open {path}: {e.strerror}") from e
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UserError(f"{path} is not a plain file")
    return fd


def _own(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        hint = f"wait for it, or find it: `fuser {path}`"
        raise UserError(f"another procexec writes {path}", hint=hint) from e


@dataclass(frozen=True, slots=True)
class _Scan:
    """What a journal holds: sound rows, their size in bytes, and the bytes of a torn last one."""

    rows: list[Row]
    size: int
    torn: bytes


def _scan(file: BinaryIO, path: Path) -> _Scan:
    rows: list[Row] = []
    size = 0
    for line in file:
        try:
            row = decoded(line)
        except ValueError as e:
            if next(file, None) is None:
                return _Scan(rows, size, line)
            raise _damaged(path, size, len(rows) + 1) from e
        if row.pop(_NUMBER, len(rows) + 1) != len(rows) + 1:
            raise _damaged(path, size, len(rows) + 1)
        rows.append(row)
        size += len(line)
    return _Scan(rows, size, b"")


def _damaged(path: Path, offset: int, number: int) -> StorageError:
    return StorageError(
        f"{path} is damaged: row {number}, at byte {offset}, is not what was written",
        hint=f"keep the file; the rows before it: `head -c {offset} {path}`",
    )


def _put_aside(fd: int, path: Path, scan: _Scan) -> Path:
    torn = next(p for p in _torn_names(path, scan.size) if not os.path.lexists(p))
    write_atomically(torn, scan.torn)
    os.ftruncate(fd, scan.size)
    os.fsync(fd)
    return torn


def _torn_names(path: Path, offset: int) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.torn-{offset}")
    for again in count(2):
        yield path.with_name(f"{path.name}.torn-{offset}-{again}")
