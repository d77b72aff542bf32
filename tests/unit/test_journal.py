"""What a run has stored is stored, whatever happens next."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from procexec.errors import StorageError, UserError
from procexec.model.result import AnswerResult, Code, Finding, Owner, Verdict
from procexec.report.files import write_atomically
from procexec.report.journal import Journal, encoded, read_rows, results_of, row_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def result(verdict: Verdict = Verdict.PASS, name: str = "a", note: str = "") -> AnswerResult:
    finding = Finding(code=Code.STEP_FAILED, message="m \udcff \u2028", owner=Owner.ASSISTANT)
    return AnswerResult(
        id=name,
        version="2.39",
        product="git",
        procedure=None,
        verdict=verdict,
        owner=Owner.NONE,
        findings=(finding,),
        fitness=0.1,
        notes=(note,),
    )


def fill(path: Path, count: int = 3) -> list[bytes]:
    with Journal.open(path) as journal:
        for number in range(count):
            journal.append({"id": number})
    return path.read_bytes().splitlines(keepends=True)


def test_rows_are_there_at_the_next_open(path: Path) -> None:
    fill(path)

    with Journal.open(path) as journal:
        assert journal.rows == [{"id": 0}, {"id": 1}, {"id": 2}]
        assert journal.torn is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_row_is_canonical_and_ends_with_its_checksum() -> None:
    line = encoded({"b": "é", "a": [1]})

    assert line == encoded({"a": [1], "b": "é"})
    assert line.startswith(b'{"a":[1],"b":"\\u00e9","~":"')
    assert line.endswith(b'"}\n')


def test_a_result_survives_the_journal_with_times_beside_it(path: Path) -> None:
    with Journal.open(path) as journal:
        journal.append(row_of(result(), seconds=1.5))

    assert read_rows(path)[0]["times"] == {"seconds": 1.5}
    assert results_of(read_rows(path)) == [result()]


def test_a_torn_last_row_is_put_aside_and_cut(path: Path) -> None:
    first, second, third = fill(path)
    path.write_bytes(first + second + third[:-1])

    assert read_rows(path) == [{"id": 0}, {"id": 1}]
    with Journal.open(path) as journal:
        journal.append({"id": 3})

    assert journal.torn == path.with_name(f"results.jsonl.torn-{len(first + second)}")
    assert journal.torn.read_bytes() == third[:-1]
    assert read_rows(path) == [{"id": 0}, {"id": 1}, {"id": 3}]


def test_what_was_put_aside_before_is_kept(path: Path) -> None:
    kept = []
    for tail in (b"one", b"two"):
        path.write_bytes(tail)
        with Journal.open(path) as journal:
            kept.append(journal.torn)

    assert [p.read_bytes() for p in kept if p] == [b"one", b"two"]


@pytest.mark.parametrize("at", range(31))
def test_a_flipped_bit_in_an_earlier_row_stops_with_its_place(path: Path, at: int) -> None:
    first, second, third = fill(path)
    damaged = bytearray(second)
    damaged[at] ^= 1
    path.write_bytes(first + damaged + third)

    for look in (Journal.open, read_rows):
        with pytest.raises(StorageError, match=f"row 2, at byte {len(first)}") as raised:
            look(path)
        assert f"head -c {len(first)}" in raised.value.hint
    assert path.read_bytes() == first + damaged + third


def test_a_second_writer_is_refused_and_disturbs_nothing(path: Path) -> None:
    with Journal.open(path) as journal:
        journal.append({"id": 0})
        with pytest.raises(UserError, match="another procexec writes") as raised:
            Journal.open(path)
        journal.append({"id": 1})

    assert raised.value.exit_code == 2
    assert read_rows(path) == [{"id": 0}, {"id": 1}]


def test_a_reader_needs_no_permission_of_the_writer(path: Path) -> None:
    with Journal.open(path) as journal:
        journal.append({"id": 0})

        assert read_rows(path) == [{"id": 0}]


def test_threads_may_append_at_once(path: Path) -> None:
    with Journal.open(path) as journal:

        def work(name: int) -> None:
            for number in range(20):
                journal.append({"id": f"{name}-{number}", "text": "x" * 5000})

        threads = [Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len({str(row["id"]) for row in read_rows(path)}) == 80


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_plain_file_is_a_journal(path: Path, kind: str) -> None:
    match kind:
        case "link":
            path.symlink_to("elsewhere")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()

    for look in (Journal.open, read_rows):
        with pytest.raises(UserError):
            look(path)


def test_a_missing_journal_is_the_users_error_to_a_reader(path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_rows(path)


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_full_disk_stops_the_journal_at_the_last_good_row(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with Journal.open(path) as journal:
        journal.append({"id": 0})
        with monkeypatch.context() as patched:
            patched.setattr(os, call, full)
            with pytest.raises(StorageError, match="No space left") as raised:
                journal.append({"id": 1})
        with pytest.raises(StorageError, match="an earlier row was not stored"):
            journal.append({"id": 2})

    assert raised.value.exit_code == 4
    assert path.read_bytes() == encoded({"id": 0, "#": 1})


def test_an_interrupted_row_leaves_no_trace(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with Journal.open(path) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                journal.append({"id": 0})
        journal.append({"id": 1})

    assert read_rows(path) == [{"id": 1}]


WRITER = """
import sys
from pathlib import Path
from procexec.report.journal import Journal

with Journal.open(Path(sys.argv[1])) as journal:
    number = len(journal.rows)
    while True:
        journal.append({"id": number, "text": "x" * 300_000})
        print(number, flush=True)
        number += 1
"""


def test_ten_kills_lose_no_acknowledged_row_and_double_none(path: Path) -> None:
    told: list[int] = []
    for _ in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for _ in range(10):
                told.append(int(writer.stdout.readline()))  # noqa: PERF401 - read as it comes
            writer.kill()
            told += [int(line) for line in writer.stdout if line.endswith("\n")]

    stored = [row["id"] for row in read_rows(path)]

    assert len(told) >= 100
    assert set(told) <= {*stored}
    assert stored == list(range(len(stored)))


def test_the_last_result_counts_unless_it_only_says_that_the_test_bed_failed() -> None:
    rows = [
        row_of(result(Verdict.FAIL, note="first")),
        row_of(result(Verdict.ERROR, name="b")),
        row_of(result(Verdict.PASS, note="second")),
        row_of(result(Verdict.ERROR, note="third")),
        row_of(result(Verdict.FAIL, name="b", note="after the error")),
    ]

    found = {r.id: r for r in results_of(rows)}

    assert (found["a"].verdict, found["a"].notes) == (Verdict.PASS, ("second",))
    assert (found["b"].verdict, found["b"].notes) == (Verdict.FAIL, ("after the error",))


def test_a_row_of_another_kind_is_named() -> None:
    with pytest.raises(UserError, match="row 2 of the results"):
        results_of([row_of(result()), {"id": 5}])


def test_a_file_is_replaced_whole(path: Path) -> None:
    write_atomically(path, b"old")
    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_failed_replacement_leaves_the_old_file_and_no_litter(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StorageError, match="No space left"):
        write_atomically(path, b"new")

    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_row_that_was_taken_out_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Journal.open(path) as journal:
        for number in range(3):
            journal.append({"n": number})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])

    with pytest.raises(StorageError, match=f"row 2, at byte {len(lines[0])}"):
        read_rows(path)
