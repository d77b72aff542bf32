"""answers.jsonl: streamed, plain, gzipped or from standard input."""

import gzip
import hashlib
import io
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.document import Answer
from procexec.read.decode import decode_json

MAX_LINE_BYTES = 8 << 20
MAX_UNPACKED_BYTES = 4 << 30
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """An answer and its line in the file, from 1."""

    line: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """A file of answers that can be read more than once. ``name`` is what messages call it."""

    name: str
    path: Path

    def __iter__(self) -> Iterator[NumberedAnswer | UserError]:
        """Yield each line's answer, or its error."""
        with _open(self.path) as stream:
            yield from _decoded(stream, self.name)

    def sha256(self) -> str:
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def open_answers(name: str) -> Iterator[AnswerFile]:
    """Give an answer file; ``-`` is standard input, which is kept in a temporary file.

    Raises:
        UserError: if it is no readable regular file.
    """
    if name == "-":
        with tempfile.NamedTemporaryFile(prefix="procexec-answers-", suffix=".jsonl") as copy:
            for chunk in iter(lambda: sys.stdin.buffer.read(1 << 16), b""):
                copy.write(chunk)
            copy.flush()
            yield AnswerFile("<stdin>", Path(copy.name))
        return
    path = Path(name)
    _check_readable(path)
    yield AnswerFile(name, path)


def _check_readable(path: Path) -> None:
    at = Location(str(path), 1)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise UserError(kind, at=at, hint="give a .jsonl file, or - for standard input")
        path.open("rb").close()
    except OSError as e:
        raise UserError(
            f"cannot be read: {e.strerror}",
            at=at,
            hint="give a .jsonl file, or - for standard input",
        ) from e


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if packed:
            with gzip.open(raw) as unpacked:
                yield cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", unpacked), 1 << 16))
        else:
            yield raw


def _decoded(stream: BinaryIO, name: str) -> Iterator[NumberedAnswer | UserError]:
    number = 0
    try:
        for line in _lines(stream):
            number += 1
            if number == 1:
                line = line.removeprefix(BOM)
            if line.strip():
                yield _decode_line(line, name, number)
    except (OSError, EOFError, zlib.error) as e:
        yield UserError(f"cannot be unpacked: {e}", at=Location(name, number + 1))


def _decode_line(line: bytes, name: str, number: int) -> NumberedAnswer | UserError:
    if len(line.removesuffix(b"\n")) > MAX_LINE_BYTES:
        message = f"the line is longer than {MAX_LINE_BYTES} bytes"
        return UserError(message, at=Location(name, number))
    try:
        return NumberedAnswer(
            line=number, answer=decode_json(line, Answer, file=name, number=number)
        )
    except UserError as e:
        return e


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines split at LF only; of a longer one just the first MAX_LINE_BYTES + 1 bytes."""
    total = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        total += len(line)
        rest = line
        while not rest.endswith(b"\n") and len(rest) > MAX_LINE_BYTES:
            rest = stream.readline(MAX_LINE_BYTES + 1)
            total += len(rest)
            if total > MAX_UNPACKED_BYTES:
                raise OSError(f"more than {MAX_UNPACKED_BYTES} bytes")
        if total > MAX_UNPACKED_BYTES:
            raise OSError(f"more than {MAX_UNPACKED_BYTES} bytes")
        yield line
