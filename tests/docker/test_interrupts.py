"""A run that is stopped leaves nothing behind, loses nothing, and can be gone on with."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from procexec.report.journal import read_rows, results_of
from procexec.sandbox.engine import connect
from procexec.sandbox.owner import RUN

ROOT = Path(__file__).parent.parent.parent
DEADLINE = 90.0

pytestmark = pytest.mark.docker


def started(out: Path, *more: str) -> "subprocess.Popen[str]":
    command = ["-m", "procexec", "run", "examples/answers.jsonl", "--product", "git", "-q"]
    return subprocess.Popen(
        [sys.executable, *command, "--version", "2.39", *more, str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def rows(out: Path) -> int:
    path = out / "results.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def containers_of(pid: int) -> list[str]:
    client = connect()
    try:
        label = f"procexec.owner.pid={pid}"
        found = client.containers.list(all=True, sparse=True, filters={"label": [RUN, label]})
        return [str(c.id) for c in found]
    finally:
        client.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_keeps_its_results(
    number: signal.Signals, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = started(out, "--out")
    until(lambda: rows(out) >= 1)

    run.send_signal(number)
    told, _ = run.communicate(timeout=DEADLINE)

    assert run.returncode == 128 + number
    assert f"go on with: procexec run examples/answers.jsonl --resume {out}" in told
    assert rows(out) >= 1
    assert containers_of(run.pid) == []


def test_a_run_that_was_stopped_and_gone_on_with_ends_like_one_that_was_not(tmp_path: Path) -> None:
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    run = started(stopped, "--out")
    until(lambda: rows(stopped) >= 2)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=DEADLINE)
    kept = rows(stopped)

    started(stopped, "--resume").communicate(timeout=DEADLINE)
    started(whole, "--out").communicate(timeout=DEADLINE)

    results = results_of(read_rows(stopped / "results.jsonl"))
    assert len({r.key for r in results}) == len(results) == rows(stopped) > kept
    assert (stopped / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


def test_a_killed_run_is_cleared_up_by_the_next_and_loses_no_result(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = started(out, "--out")
    until(lambda: rows(out) >= 1 and bool(containers_of(run.pid)))
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    kept = rows(out)

    started(out, "--resume").communicate(timeout=DEADLINE)

    assert containers_of(run.pid) == []
    assert rows(out) > kept
