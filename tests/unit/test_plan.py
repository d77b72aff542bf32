"""Alignment to what is run, with which replies."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.align.alignment import align, documented
from procexec.execute.files import file_text
from procexec.execute.plan import documented_plan, plan
from procexec.execute.values import KnownValues
from procexec.model.document import Procedure
from procexec.model.plan import Plan
from procexec.model.result import Code
from procexec.model.step import (
    Action,
    AnswerStep,
    Command,
    FileWrite,
    Input,
    Manual,
    Rule,
    Session,
    WriteMode,
)
from procexec.shell.atoms import ShellKnowledge
from procexec.shell.parse import placeholders

PROCEDURE: dict[str, Any] = {
    "id": "tool/make",
    "title": "Make a thing",
    "product": "tool",
    "doc": {"title": "Manual", "url": "https://example.test/manual"},
    "versions": ["1"],
    "steps": [{"id": "a", "run": "make one"}],
}
KNOWLEDGE = ShellKnowledge(options={})
DOCUMENTED = documented(msgspec.convert(PROCEDURE, Procedure), "1", KNOWLEDGE)


def planned(*actions: Action | str, **named: str) -> Plan:
    told = [Command(text=a) if isinstance(a, str) else a for a in actions]
    steps = [
        AnswerStep(
            action=action,
            line=k,
            column=1,
            confidence=1,
            rule=Rule.SCRIPT_LINE,
            placeholders=placeholders(action.text),
        )
        for k, action in enumerate(told)
    ]
    return plan(steps, align(told, DOCUMENTED), KnownValues(named=named), KNOWLEDGE)


def test_replies_go_to_the_command_before_them() -> None:
    yes, no = Input(keys=("y\r",)), Input(keys=("n\r",))

    first, second = planned("git add -p", yes, no, "git status").steps

    assert (first.index, first.replies, first.reply_steps) == (0, (yes, no), (1, 2))
    assert (second.index, second.replies) == (3, ())


def test_a_reply_before_any_command_has_nobody_to_answer() -> None:
    assert planned(Input(keys=("y\r",))).steps == ()


def test_a_session_is_typed_line_by_line_and_then_left() -> None:
    (step,) = planned(Session(program="sqlite3 x.db", lines=("select 1;", ".quit"))).steps

    assert step.text == "sqlite3 x.db"
    assert [reply.keys for reply in step.replies] == [("select 1;\r",), (".quit\r",)]
    assert step.at_end == "\x04"


def test_placeholders_get_the_values_that_are_known() -> None:
    made = planned("git switch <branch>", branch="topic")

    assert (made.steps[0].text, made.values) == ("git switch topic", {"<branch>": "topic"})
    assert made.steps[0].blocked == ()


def test_a_placeholder_without_a_value_blocks_its_step() -> None:
    (step,) = planned("git switch <branch>").steps

    (blocked,) = step.blocked
    assert blocked.code is Code.UNRESOLVED_PLACEHOLDER
    assert blocked.reason == "nothing tells the value of `<branch>`"


def test_a_step_that_needs_the_network_is_blocked() -> None:
    (step,) = planned("curl https://example.test/x").steps

    (blocked,) = step.blocked
    assert (blocked.code, blocked.reason) == (
        Code.NOT_RUNNABLE,
        "it needs the network (host `example.test`)",
    )


def test_a_manual_step_is_an_open_question() -> None:
    (step,) = planned(Manual(text="Open the lid")).steps

    assert [blocked.code for blocked in step.blocked] == [Code.OPEN_QUESTION]


def test_only_steps_that_text_cannot_judge_are_watched() -> None:
    watched = [step.watched for step in planned("make one", "ls", "cp a b").steps]

    assert watched == [False, False, True]


def test_every_documented_step_is_watched() -> None:
    made = documented_plan([Command(text="a"), Input(keys=("y\r",)), Manual(text="b")], KNOWLEDGE)

    assert [step.watched for step in made.steps] == [True, True]
    assert made.steps[0].reply_steps == (1,)


# --- files ------------------------------------------------------------------------------------


def written(action: FileWrite, folder: Path) -> str:
    subprocess.run(
        ["/bin/bash", "-c", file_text(action)],
        cwd=folder,
        check=True,
        timeout=20,
        env={"HOME": str(folder)},
    )
    return (folder / action.path.removeprefix("~/")).read_text()


@pytest.mark.parametrize("path", ["a.txt", "a b.txt", "it's.txt", "~/x.txt", "$HOME.txt", "é.txt"])
def test_a_file_is_written_where_it_says(tmp_path: Path, path: str) -> None:
    assert written(FileWrite(path=path, content="x\n"), tmp_path) == "x\n"


def test_appending_keeps_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")

    append = FileWrite(path="a", content="two\n", mode=WriteMode.APPEND)

    assert written(append, tmp_path) == "one\ntwo\n"


def test_the_last_line_is_ended() -> None:
    text = file_text(FileWrite(path="a", content="x"), lambda: "0")

    assert text == "cat > 'a' <<'END_0'\nx\nEND_0"


def test_content_is_not_expanded(tmp_path: Path) -> None:
    content = "$HOME `id` $(id) \\ 'q' \"q\"\nEND\n\n\tx\n"

    assert written(FileWrite(path="a", content=content), tmp_path) == content


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=12).filter(lambda path: "\0" not in path))
def test_a_path_is_one_word_for_the_shell(path: str) -> None:
    line = file_text(FileWrite(path="./" + path, content="x\n"), lambda: "0")

    assert shlex.split(line.partition(" <<'END_0'")[0])[2] == "./" + path
