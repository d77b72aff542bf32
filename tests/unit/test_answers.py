"""answers.jsonl: each line an answer or an error, whatever the file is like."""

import gzip
import io
from pathlib import Path

import pytest

from procexec.errors import UserError
from procexec.read import answers
from procexec.read.answers import AnswerFile, NumberedAnswer, open_answers
from procexec.read.check import Known, check_answers
from tests.golden import DATA, Golden

LINE = b'{"id": "a", "answer": "hi"}\n'
SECOND = b'{"id": "b", "answer": "ho"}\n'
KNOWN = Known(procedures={}, sandboxes=frozenset([("git", "2.39")]))


def errors(file: AnswerFile) -> str:
    found = check_answers(AnswerFile("answers.jsonl", file.path), KNOWN).errors
    return "".join(f"{error}\n" for error in found)


def written(folder: Path, data: bytes, name: str = "answers.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def ids(path: Path) -> list[tuple[int, str]]:
    with open_answers(str(path)) as file:
        return [(a.line, a.answer.id) for a in file if isinstance(a, NumberedAnswer)]


@pytest.mark.parametrize(
    "path", sorted((DATA / "bad-answers").glob("*.jsonl")), ids=lambda p: p.stem
)
def test_a_bad_file_is_refused_line_by_line(path: Path, golden: Golden) -> None:
    with open_answers(str(path)) as file:
        golden.check(errors(file), path.with_suffix(".txt"))


def test_the_line_is_that_of_the_file_blank_lines_and_all(tmp_path: Path) -> None:
    assert ids(written(tmp_path, b"\n" + LINE + b"  \n\r\n" + SECOND)) == [(2, "a"), (5, "b")]


def test_a_byte_order_mark_and_carriage_returns_are_no_content(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + (LINE + SECOND).replace(b"\n", b"\r\n")

    assert ids(written(tmp_path, data)) == [(1, "a"), (2, "b")]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    assert ids(written(tmp_path, LINE + SECOND.strip())) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("name", ["answers.jsonl.gz", "answers.jsonl"])
def test_a_packed_file_is_known_by_its_content_not_its_name(tmp_path: Path, name: str) -> None:
    assert ids(written(tmp_path, gzip.compress(LINE + SECOND), name)) == [(1, "a"), (2, "b")]


def test_a_plain_file_may_be_called_gz(tmp_path: Path) -> None:
    assert ids(written(tmp_path, LINE, "answers.jsonl.gz")) == [(1, "a")]


def test_packed_files_joined_are_one(tmp_path: Path) -> None:
    joined = gzip.compress(LINE) + gzip.compress(SECOND)

    assert ids(written(tmp_path, joined)) == [(1, "a"), (2, "b")]


def test_a_truncated_packed_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(LINE)[:-6])

    with open_answers(str(path)) as file:
        assert errors(file) == (
            "answers.jsonl:1:1: error: cannot be unpacked: "
            "Compressed file ended before the end-of-stream marker was reached\n"
        )


@pytest.mark.parametrize("damage", range(10, 60, 7))
def test_a_damaged_packed_file_is_refused(tmp_path: Path, damage: int) -> None:
    lines = b"".join(b'{"id": "%d", "answer": "hi"}\n' % k for k in range(20))
    packed = bytearray(gzip.compress(lines))
    packed[damage] ^= 0x55

    with open_answers(str(written(tmp_path, bytes(packed)))) as file:
        assert "error: cannot be unpacked: " in errors(file) or "error: JSON" in errors(file)


def test_text_behind_a_packed_file_is_refused(tmp_path: Path) -> None:
    with open_answers(str(written(tmp_path, gzip.compress(LINE) + b"more"))) as file:
        assert "cannot be unpacked: Not a gzipped file" in errors(file)


def test_a_line_that_is_too_long_is_refused_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MAX_LINE_BYTES", 40)
    long = b'{"id": "long", "answer": "' + b"x" * 100 + b'"}\n'
    path = written(tmp_path, long + SECOND)

    with open_answers(str(path)) as file:
        assert errors(file) == "answers.jsonl:1:1: error: the line is longer than 40 bytes\n"
    assert ids(path) == [(2, "b")]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_of_just_the_limit_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    monkeypatch.setattr(answers, "MAX_LINE_BYTES", len(LINE) - 1)

    assert ids(written(tmp_path, LINE.strip() + end)) == [(1, "a")]


@pytest.mark.parametrize("data", [LINE * 9, b"x" * 300])
def test_a_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(answers, "MAX_UNPACKED_BYTES", 200)
    monkeypatch.setattr(answers, "MAX_LINE_BYTES", 50)

    with open_answers(str(written(tmp_path, gzip.compress(data)))) as file:
        assert "error: cannot be unpacked: more than 200 bytes" in errors(file)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError) as e, open_answers(str(tmp_path)):
        pass

    assert str(e.value) == (
        f"{tmp_path}:1:1: error: a directory\n  hint: give a .jsonl file, or - for standard input"
    )


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError) as e, open_answers(str(tmp_path / "no.jsonl")):
        pass

    assert str(e.value) == (
        f"{tmp_path}/no.jsonl:1:1: error: cannot be read: No such file or directory\n"
        "  hint: give a .jsonl file, or - for standard input"
    )


def test_a_device_is_refused() -> None:
    with pytest.raises(UserError, match="not a regular file"), open_answers("/dev/null"):
        pass


class Stdin:
    """Standard input that can be read once."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_can_be_read_twice(monkeypatch: pytest.MonkeyPatch, pack: type) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(pack(LINE + b"{}\n")))

    with open_answers("-") as file:
        first, second = list(file), list(file)

    assert str(first[1]) == (
        "<stdin>:2:1: error: Object missing required field `id`\n  hint: add `id`"
    )
    assert [str(item) for item in first] == [str(item) for item in second]


def test_the_digest_is_of_the_file_as_it_is(tmp_path: Path) -> None:
    plain = AnswerFile("a", written(tmp_path, LINE, "a")).sha256()
    packed = AnswerFile("b", written(tmp_path, gzip.compress(LINE), "b")).sha256()

    assert len(plain) == 64
    assert plain != packed
