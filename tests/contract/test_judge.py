"""What every judge keeps, and what each adapter adds."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from procexec.errors import UserError
from procexec.judge import JUDGES, Judge
from procexec.judge.scripted import Scripted
from procexec.judge.silent import Silent
from procexec.model.question import Opinion, OpinionVerdict, Question

QUESTION = Question(
    id="a1@2.47#3:1",
    answer="a1",
    subject="3:1",
    text="Is this step documented: Click Save",
    evidence="Open the page.\nClick Save.",
)


def opinion(verdict: OpinionVerdict = OpinionVerdict.PASS, *quotes: str) -> Opinion:
    return Opinion(question=QUESTION.id, verdict=verdict, reason="seen", quotes=quotes)


def script(tmp_path: Path, *opinions: Opinion) -> Path:
    path = tmp_path / "opinions.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(o) + b"\n" for o in opinions))
    return path


@pytest.fixture(params=["silent", "scripted", "scripted without an opinion"])
def judge(request: pytest.FixtureRequest, tmp_path: Path) -> Judge:
    made: dict[str, Callable[[], Judge]] = {
        "silent": Silent,
        "scripted": lambda: Scripted.read(script(tmp_path, opinion())),
        "scripted without an opinion": lambda: Scripted.read(script(tmp_path)),
    }
    return made[str(request.param)]()


def test_an_opinion_is_about_the_question_that_was_asked(judge: Judge) -> None:
    assert judge.ask(QUESTION).question == QUESTION.id


def test_the_same_question_gets_the_same_opinion(judge: Judge) -> None:
    assert judge.ask(QUESTION) == judge.ask(QUESTION)


def test_without_an_opinion_a_judge_is_unavailable_and_says_why(tmp_path: Path) -> None:
    for judge in (Silent(), Scripted.read(script(tmp_path))):
        found = judge.ask(QUESTION)

        assert found.verdict is OpinionVerdict.UNAVAILABLE
        assert found.reason


def test_a_quote_that_is_in_the_evidence_stands(tmp_path: Path) -> None:
    judge = Scripted.read(script(tmp_path, opinion(OpinionVerdict.PASS, "Click Save")))

    assert judge.ask(QUESTION).verdict is OpinionVerdict.PASS


def test_an_opinion_that_quotes_what_is_not_there_is_none(tmp_path: Path) -> None:
    judge = Scripted.read(script(tmp_path, opinion(OpinionVerdict.PASS, "Click Delete")))

    assert judge.ask(QUESTION).verdict is OpinionVerdict.UNAVAILABLE


def test_a_script_with_a_wrong_line_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "opinions.jsonl"
    path.write_text('\n{"question": "q", "verdict": "fine"}\n')

    with pytest.raises(UserError, match=r"opinions\.jsonl:2:1: error: Invalid enum value 'fine'"):
        Scripted.read(path)


def test_a_missing_script_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        JUDGES["scripted"](str(tmp_path / "none.jsonl"))
