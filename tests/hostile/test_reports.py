"""Reports of hostile results, into hostile places, for readers who leave."""

import io
import json
import os
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from procexec.aggregate import exit_code, summarise
from procexec.errors import StorageError
from procexec.model.result import AnswerResult, Code, Finding, Owner, Verdict
from procexec.report.files import write_atomically
from procexec.report.journal import Journal, read_rows, results_of, row_of
from procexec.report.junit import junit_xml
from procexec.report.summary import summary_json
from procexec.report.terminal import print_report
from tests.hostile.bench import RIGHT, WRONG, make_bench, many

HOSTILE = (
    "\x00\x08\x1b[31m\x1b]52;c;aGk=\x07",
    "\ud800 \udfff \ufffe \uffff",
    "]]> <![CDATA[ <!-- --> &amp; &#0; <script>",
    "::set-env name=A::b",
    "  ::error file=x::y\n::add-mask::z",
    "##[error]x ##vso[task.setvariable variable=a]b ##teamcity[buildStop x='y']",
    "text\rsection_start:1:name\r\x1b[0Kheader",
    "=HYPERLINK(1) | `x` <details> ![](http://x.invalid/)",
    "\u202e reversed \u2066 \u200b \U000e0041",
)
# How the runners look for commands: GitHub, Azure and TeamCity, GitLab.
COMMAND = re.compile(
    r"^\s*::[\w-]+.*?::|##\[\w+|##vso\[|##teamcity\[|section_(?:start|end):\d+:[\w.]+\r",
    re.MULTILINE,
)
XML_FORBIDS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def hostile_results() -> Iterator[AnswerResult]:
    for number, text in enumerate(HOSTILE):
        finding = Finding(
            code=Code.STEP_FAILED,
            message=text,
            owner=Owner.ASSISTANT,
            command=text,
            evidence=text,
            fix=text,
        )
        yield AnswerResult(
            id=f"a{number}",
            version="1",
            product="git",
            procedure="git/x",
            verdict=tuple(Verdict)[number % 4],
            owner=Owner.ASSISTANT,
            findings=(finding,),
            notes=(text,),
            deviations=(text,),
        )


def printed(results: list[AnswerResult]) -> str:
    file = io.StringIO()
    print_report(summarise(results), results, source="answers.jsonl", file=file)
    return file.getvalue()


def test_r03_junit_is_well_formed_whatever_was_printed() -> None:
    xml = junit_xml(hostile_results())

    assert len(ET.fromstring(xml).findall(".//testcase")) == len(HOSTILE)
    assert not XML_FORBIDS.search(xml.decode())


def test_r04_no_line_is_a_command_of_a_ci_runner() -> None:
    text = printed(list(hostile_results()))

    assert not COMMAND.search(text)
    assert "\x1b" not in text
    assert "\r" not in text


@pytest.mark.docker
def test_r04_what_a_step_prints_is_no_command_of_a_ci_runner(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    says = "printf '::error::x\\n##[error]x\\n##vso[task.complete]\\rsection_start:1:x\\n'; false"
    bench.write({"says": f"Do:\n\n```sh\n{says}\n```\n"})

    done = bench.run()

    assert done.code == 1
    assert not COMMAND.search(done.said + done.told)


def test_r07_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    report = tmp_path / "summary.json"
    report.write_text("old")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        write_atomically(report, b"old")
        with pytest.raises(StorageError, match="No space left"):
            write_atomically(report, b"x" * (1 << 20))
        assert report.read_bytes() == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.docker
def test_r07_a_run_whose_reports_cannot_be_written_keeps_its_results(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write(many(2))
    bench.out.mkdir()
    (bench.out / "junit.xml").mkdir()

    done = bench.run()

    assert done.code == 4, done.told
    assert len(bench.rows) == 2
    assert not list(bench.out.glob(".tmp-*"))
    (bench.out / "junit.xml").rmdir()
    assert bench.resume().code == 0
    assert (bench.out / "junit.xml").is_file()
    assert len(bench.rows) == 2


@pytest.mark.docker
@pytest.mark.parametrize("kind", ["link", "file", "prepared", "manifest"])
def test_r08_a_run_folder_that_leads_elsewhere_is_refused(tmp_path: Path, kind: str) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write({"right": RIGHT})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    canary = elsewhere / "canary"
    canary.write_text("as it was")
    match kind:
        case "link":
            bench.out.symlink_to(elsewhere)
        case "file":
            bench.out.write_text("a file")
        case "prepared":
            bench.out.mkdir()
            (bench.out / "results.jsonl").symlink_to(canary)
        case _:
            bench.out.mkdir()
            for name in ("manifest.json", "junit.xml", "summary.json"):
                (bench.out / name).symlink_to(canary)

    done = bench.run()

    assert canary.read_text() == "as it was"
    assert [path.name for path in elsewhere.iterdir()] == ["canary"]
    assert done.code == (0 if kind == "manifest" else 2), done.told
    assert "Traceback" not in done.told


@pytest.mark.nightly
def test_r09_a_hundred_thousand_results_are_reported_in_bounded_time_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(tmp_path / "results.jsonl") as journal:
        os.environ.get("")
        monkeypatch.setattr(os, "fdatasync", lambda _fd: None)  # 0.4 ms each
        for number in range(100_000):
            result = next(hostile_results())
            journal.append(row_of(replace(result, id=f"a{number}")))
    script = (
        "import sys, io; from pathlib import Path\n"
        "from procexec.aggregate import summarise\n"
        "from procexec.report.journal import read_rows, results_of\n"
        "from procexec.report.junit import junit_xml\n"
        "from procexec.report.summary import summary_json\n"
        "from procexec.report.terminal import print_report\n"
        "results = results_of(read_rows(Path(sys.argv[1])))\n"
        "summary = summarise(results)\n"
        "print(len(summary_json(summary)), len(junit_xml(results)))\n"
        "print_report(summary, results, source='x', file=io.StringIO())\n"
    )
    began = time.monotonic()

    subprocess.run([sys.executable, "-c", script, tmp_path / "results.jsonl"], check=True)

    assert time.monotonic() - began < 60
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{time.monotonic() - began:.0f} s, {peak:.0f} MiB")
    assert peak < 700


@pytest.mark.docker
@pytest.mark.parametrize(
    "environment",
    [{"LANG": "C", "LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"TERM": "dumb"}],
    ids=["c-locale", "ascii", "no-terminal"],
)
def test_r10_a_poor_terminal_changes_no_exit_code(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write({"wrong": WRONG.replace("nothing", "ничего →")})
    bench.environment |= environment

    done = bench.run()

    assert done.code == 1, done.told
    assert "Traceback" not in done.told


@pytest.mark.docker
def test_r10_a_reader_that_leaves_sees_no_traceback(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write({"wrong": WRONG})
    process = bench.start()
    assert process.stdout is not None
    process.stdout.close()

    process.wait(100)
    assert process.stderr is not None
    told = process.stderr.read()
    process.stderr.close()

    assert "Traceback" not in told
    assert process.returncode in (0, 1)
    assert len(bench.rows) == 1


def test_r11_the_numbers_add_up_to_the_rows(tmp_path: Path) -> None:
    results = list(hostile_results())
    path = tmp_path / "results.jsonl"
    with Journal.open(path) as journal:
        for result in results:
            journal.append(row_of(result))
    rows = read_rows(path)

    summary = summarise(results_of(rows))
    told = json.loads(summary_json(summary))

    counts = told["counts"]
    assert sum(counts.values()) == len(rows) == len(told["results"])
    for verdict, name in zip(Verdict, ("passed", "inconclusive", "failed", "errors"), strict=True):
        assert counts[name] == sum(row["verdict"] == verdict.value for row in rows)
    suites = ET.fromstring(junit_xml(results_of(rows)))
    assert int(suites.attrib["tests"]) == len(rows)
    assert exit_code(summary, allow_inconclusive=False) == 4
