"""A container's owner is told apart from every other process, also from one with its number."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from procexec.sandbox.owner import ANSWER, RUN, Owner, is_dead, this_process


@pytest.fixture
def mine() -> Owner:
    return this_process("run-1")


def test_this_process_owns_what_it_makes(mine: Owner) -> None:
    assert mine.pid == os.getpid()
    assert mine.start.isdigit()
    assert mine == this_process("run-1")


def test_labels_are_text_and_name_run_and_answer(mine: Owner) -> None:
    labels = mine.labels("answer-1")

    assert (labels[RUN], labels[ANSWER]) == ("run-1", "answer-1")
    assert all(labels.values())


def test_a_live_owner_is_not_dead(mine: Owner) -> None:
    assert not is_dead(mine.labels("a"))


def test_a_process_with_the_same_number_is_another_one(mine: Owner) -> None:
    assert is_dead(replace(mine, start=str(int(mine.start) - 1)).labels("a"))


def test_before_the_last_boot_every_owner_died(mine: Owner) -> None:
    assert is_dead(replace(mine, boot="another").labels("a"))


def test_nothing_is_known_of_another_hosts_processes(mine: Owner) -> None:
    assert not is_dead(replace(mine, host="another.invalid", pid=1 << 22).labels("a"))


def test_labels_that_are_no_owners_name_nobody_dead() -> None:
    assert not is_dead({})


def test_a_damaged_number_is_nobodys(mine: Owner) -> None:
    assert is_dead(mine.labels("a") | {"procexec.owner.pid": "../1"})


def test_an_owner_that_has_ended_is_dead_before_and_after_its_parent_asks() -> None:
    code = "from procexec.sandbox.owner import *; import os; o = this_process('x')\n"
    code += "print(o.pid, o.start, o.boot, o.host, flush=True); input()"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid, start, boot, host = process.stdout.readline().split()
        labels = Owner(run="x", pid=int(pid), start=start, boot=boot, host=host).labels("a")

        assert not is_dead(labels)

        process.kill()
        assert process.stdout.read() == ""
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert is_dead(labels)  # a zombie: nobody has asked for its status yet

    assert is_dead(labels)
