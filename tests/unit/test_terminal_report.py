"""What people see at the terminal, word by word."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from textwrap import dedent

import pytest

from procexec.aggregate import summarise
from procexec.model.result import AnswerResult, Code, Finding, Owner, StepResult, Verdict
from procexec.report.terminal import Progress, block, blocks, print_report, table


def answer(
    name: str = "adp-2",
    version: str = "2.39",
    verdict: Verdict = Verdict.FAIL,
    owner: Owner = Owner.ASSISTANT,
    findings: tuple[Finding, ...] = (),
    procedure: str | None = "git/add-patch",
    steps: tuple[StepResult, ...] = (),
) -> AnswerResult:
    return AnswerResult(
        id=name,
        version=version,
        product="git",
        procedure=procedure,
        verdict=verdict,
        owner=owner,
        line=17,
        findings=findings,
        steps=steps,
    )


def passed(name: str, version: str = "2.39", procedure: str = "git/add-patch") -> AnswerResult:
    return answer(name, version, Verdict.PASS, Owner.NONE, procedure=procedure)


OLD = Finding(
    code=Code.OLD_VERSION_STEP,
    message="the step of another version",
    owner=Owner.ASSISTANT,
    line=6,
    column=1,
    step="stage",
    command="git stage -p notes.txt",
    fix="documented: git add --patch notes.txt",
)
COLLATERAL = Finding(
    code=Code.COLLATERAL_CHANGE,
    message="the answer changes what the documented procedure leaves alone",
    owner=Owner.ASSISTANT,
    evidence="+ /home/user/.gitconfig: user.email=a@example.com",
)
GOAL = Finding(
    code=Code.GOAL_NOT_REACHED,
    message="the goal is not reached (one-hunk)",
    owner=Owner.ASSISTANT,
    evidence="wanted notes.txt staged in part\nfound notes.txt staged whole",
)
STALE = Finding(
    code=Code.STALE_DOCS,
    message="the documented procedure does not work on 2.39: its step `x` fails",
    owner=Owner.DOCUMENTATION,
    informational=True,
)
STEP = StepResult(
    text="git stage -p notes.txt",
    line=6,
    column=1,
    label="substituted",
    ending="exited",
    exit_code=128,
    output="\x1b[31mfatal:\x1b[0m no such thing\r\n::error::gotcha\n##[group]\n",
)


def test_a_failure_is_understood_without_opening_anything_else() -> None:
    result = answer(findings=(GOAL, COLLATERAL, OLD, STALE), steps=(STEP,))

    assert block(result, "answers.jsonl") == dedent(
        r"""
        FAIL adp-2 on git 2.39: assistant - the step of another version
          answers.jsonl:17#adp-2:6:1
          documented  stage: git add --patch notes.txt
          command     $ git stage -p notes.txt
          ended       exit code 128
          printed     | fatal: no such thing
                      | ::error::gotcha
                      | ##\[group]
          differs     | + /home/user/.gitconfig: user.email=a@example.com
                      | wanted notes.txt staged in part
                      | found notes.txt staged whole
          also        - collateral-change (PX108): the answer changes what the documented procedure leaves alone
                      - goal-not-reached (PX107): the goal is not reached (one-hunk)
          note        stale-docs (PX201): the documented procedure does not work on 2.39: its step `x` fails
          acts        assistant: correct the answer
          explain     procexec explain PX104
        """
    ).strip("\n")


def test_a_missing_step_names_the_documented_command_and_no_place_in_the_answer() -> None:
    missing = Finding(
        code=Code.MISSING_STEP,
        message="the documented step `deinit` is not done",
        owner=Owner.ASSISTANT,
        step="deinit",
        command="git submodule deinit -f lib",
        evidence="- .git/config: [submodule lib]",
        fix="add: git submodule deinit -f lib",
    )

    assert block(answer(findings=(missing,)), "answers.jsonl") == dedent(
        """
        FAIL adp-2 on git 2.39: assistant - the documented step `deinit` is not done
          answers.jsonl:17#adp-2
          documented  deinit: git submodule deinit -f lib
          differs     | - .git/config: [submodule lib]
          fix         add: git submodule deinit -f lib
          acts        assistant: correct the answer
          explain     procexec explain PX101
        """
    ).strip("\n")


def test_an_error_says_that_it_is_nobodys_answer() -> None:
    finding = Finding(
        code=Code.TEST_BED,
        message="cannot start a container: no space left on device",
        owner=Owner.ENVIRONMENT,
        fix="run `procexec sandbox prune`",
    )
    result = answer(verdict=Verdict.ERROR, owner=Owner.ENVIRONMENT, findings=(finding,))

    assert block(result, "answers.jsonl") == dedent(
        """
        ERROR adp-2 on git 2.39: environment - cannot start a container: no space left on device
          answers.jsonl:17#adp-2
          fix         run `procexec sandbox prune`
          acts        environment: repair the test bed, then run again; it says nothing about the answer
          explain     procexec explain PX401
        """
    ).strip("\n")


def test_long_output_is_told_by_its_last_lines() -> None:
    output = "".join(f"line {number}\n" for number in range(30))
    result = answer(findings=(OLD,), steps=(replace(STEP, output=output),))

    lines = block(result, "answers.jsonl").splitlines()

    assert lines[5:8] == [
        "  printed     … 23 before",
        "              | line 23",
        "              | line 24",
    ]
    assert lines[12] == "              | line 29"
    assert lines[13].startswith("  acts")


def test_a_long_command_is_told_by_its_first_lines() -> None:
    command = "\n".join(f"echo {number}" for number in range(9))
    lines = block(answer(findings=(replace(OLD, command=command),)), "a.jsonl").splitlines()

    assert lines[3:8] == [
        "  command     $ echo 0",
        "              $ echo 1",
        "              $ echo 2",
        "              $ echo 3",
        "              … 5 more",
    ]


def test_versions_with_the_same_findings_share_a_block() -> None:
    results = [
        answer(version="2.47", findings=(OLD,), steps=(STEP,)),
        answer(version="2.9", findings=(OLD,), steps=(replace(STEP, output="other"),)),
        answer(version="2.39", findings=(GOAL,)),
        passed("adp-2", "2.30"),
    ]

    heads = [text.splitlines()[0] for text in blocks(results, "answers.jsonl")]

    assert heads == [
        "FAIL adp-2 on git 2.39: assistant - the goal is not reached (one-hunk)",
        "FAIL adp-2 on git 2.9, 2.47: assistant - the step of another version",
    ]


def test_a_message_that_names_its_version_does_not_part_versions() -> None:
    stale = replace(STALE, informational=False)
    results = [
        answer(
            version=version,
            owner=Owner.DOCUMENTATION,
            findings=(replace(stale, message=stale.message.replace("2.39", version)),),
        )
        for version in ("2.30", "2.39")
    ]

    assert len([*blocks(results, "answers.jsonl")]) == 1


def test_hostile_ids_and_messages_stay_on_their_line() -> None:
    finding = replace(OLD, message="x\n::error::y\x1b[2J ##[error]z", command="a\r::error::b")
    text = block(answer("a\n::set-env", findings=(finding,)), "answers.jsonl")

    assert text.splitlines()[0] == (
        "FAIL a ::set-env on git 2.39: assistant - x ::error::y ##\\[error]z"
    )
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


def test_the_table_has_a_row_for_each_procedure_and_a_column_for_each_version() -> None:
    results = [
        passed("a"),
        passed("b"),
        passed("a", "2.9"),
        answer("c", findings=(STALE,)),
        answer("d", verdict=Verdict.INCONCLUSIVE, owner=Owner.JUDGE, procedure=None),
    ]

    assert table(summarise(results)) == dedent(
        """
        procedure      2.9     2.39
        (not covered)  -       1 inconclusive
        git/add-patch  1 pass  2 pass 1 fail

        5 results: 3 pass 1 inconclusive 1 fail
        to act: assistant 1, judge 1
        stale documentation: git/add-patch@2.39
        """
    ).strip("\n")


def test_a_table_that_is_too_wide_becomes_a_list() -> None:
    results = [passed("a", f"2.{minor}") for minor in (8, 9, 10)]

    assert table(summarise(results), width=35) == dedent(
        """
        procedure      version  verdicts
        git/add-patch  2.8      1 pass
        git/add-patch  2.9      1 pass
        git/add-patch  2.10     1 pass

        3 results: 3 pass
        """
    ).strip("\n")


def test_an_empty_run_says_so() -> None:
    assert table(summarise([])) == "no results: nothing was judged"


def test_the_report_is_the_blocks_and_the_table() -> None:
    results = [passed("a"), answer(findings=(OLD,))]
    file = io.StringIO()

    print_report(summarise(results), results, source="answers.jsonl", file=file, environment={})

    [told] = blocks(results, "answers.jsonl")
    assert file.getvalue() == f"{told}\n\n{table(summarise(results))}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(file: io.StringIO, environment: Mapping[str, str], *, quiet: bool = False) -> str:
    with Progress(36, file=file, quiet=quiet, environment=environment) as shown:
        shown.say("building git 2.39")
        shown.started("adp-1@2.39")
        shown.finished(passed("adp-1"))
        shown.started("adp-2@2.39")
        shown.finished(answer(findings=(COLLATERAL, GOAL, STALE)))
    return file.getvalue()


PLAIN = """\
building git 2.39
[  1/36] PASS adp-1 @ 2.39
[  2/36] FAIL adp-2 @ 2.39  collateral-change, goal-not-reached
"""


def test_without_a_terminal_each_result_is_a_line() -> None:
    assert progress(io.StringIO(), {}) == PLAIN


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_ci_and_dumb_terminals_get_lines(environment: dict[str, str]) -> None:
    assert progress(Terminal(), environment) == PLAIN


def test_a_note_is_told_once_whatever_the_verdict() -> None:
    file = io.StringIO()
    noted = replace(passed("ok"), notes=("procedure git/add-patch: the question alone tells",))
    with Progress(2, file=file, environment={}) as shown:
        for version in ("2.30", "2.39"):
            shown.finished(replace(noted, version=version))

    assert file.getvalue().count("ok: procedure git/add-patch: the question alone tells\n") == 1


def test_quiet_is_silent() -> None:
    assert progress(Terminal(), {"TERM": "xterm"}, quiet=True) == ""


def test_a_terminal_gets_a_bar_and_the_results_that_are_no_pass() -> None:
    text = progress(Terminal(), {"TERM": "xterm", "COLUMNS": "120"})

    assert "1 pass 1 fail" in text
    assert "\x1b[3" in text
    assert "[  2/36] FAIL adp-2 @ 2.39  collateral-change, goal-not-reached" in text
    assert "PASS adp-1" not in text
    assert text.rstrip().endswith("\x1b[2K")


def test_a_wide_bar_names_what_is_being_tried() -> None:
    file = Terminal()
    with Progress(5, file=file, environment={"TERM": "xterm", "COLUMNS": "120"}) as shown:
        for number in range(5):
            shown.started(f"adp-{number}@2.39")

    assert "adp-0@2.39, adp-1@2.39, adp-2@2.39, +2" in file.getvalue()


@pytest.mark.parametrize("width", [20, 49, 50, 69, 70, 99, 100, 200])
def test_a_bar_fits_any_terminal(width: int) -> None:
    text = progress(Terminal(), {"TERM": "xterm", "COLUMNS": str(width)})

    drawn = re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text))
    bars = [line for line in drawn if "/36 " in line and not line.startswith("[")]

    assert any("2/36" in line for line in bars)
    assert max(map(len, bars)) <= width


def test_no_color_is_honoured() -> None:
    text = progress(Terminal(), {"TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"})

    assert "\x1b[3" not in text
