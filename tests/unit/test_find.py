"""Which procedure is an answer about, when nobody says?"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from procexec.align.alignment import Documented, documented
from procexec.align.bm25 import Index
from procexec.align.find import Ground, Match, Questions, find
from procexec.model.document import Procedure
from procexec.model.step import Action, Command
from procexec.read.procedures import read_procedures
from procexec.shell.atoms import ShellKnowledge
from tests.golden import DATA

ROOT = Path(__file__).parents[2]


def doc(name: str, question: str, *runs: str) -> Documented:
    raw: dict[str, Any] = {
        "id": f"tool/{name}",
        "title": f"{name} it",
        "product": "tool",
        "doc": {"title": "Manual", "url": "https://example.test/manual"},
        "versions": ["1"],
        "questions": [question],
        "steps": [{"id": f"s{k}", "run": run} for k, run in enumerate(runs)],
    }
    return documented(msgspec.convert(raw, Procedure), "1", ShellKnowledge(options={}))


FOLD = doc("fold", "How do I fold a large widget?", "make fold")
SELL = doc("sell", "How do I sell a large widget?", "make price", "make sale")
SCRAP = doc("scrap", "Where does waste go?", "make waste", "make gone")


def found(question: str, *runs: str, docs: Sequence[Documented] = (SELL, FOLD, SCRAP)) -> Match:
    actions: list[Action] = [Command(text=run) for run in runs]
    known = {d.procedure.id: d for d in docs}
    questions = Questions([d.procedure for d in docs])
    return find(question, questions, lambda name: (actions, known[name]))


def test_a_clear_question_decides_alone() -> None:
    match = found("What must I do to sell them?")

    assert (match.procedure, match.ground) == ("tool/sell", Ground.QUESTION)


def test_a_clear_question_decides_against_the_steps() -> None:
    match = found("How do I sell?", "make fold")

    assert (match.procedure, match.ground) == ("tool/sell", Ground.QUESTION)
    assert match.ranked[1].fitness > match.ranked[0].fitness


def test_the_steps_decide_where_the_question_only_hints() -> None:
    match = found("How does one handle a large widget?", "make price", "make sale")

    assert (match.procedure, match.ground) == ("tool/sell", Ground.STEPS)


def test_without_a_question_the_steps_decide_and_a_warning_is_told() -> None:
    match = found("", "make price", "make sale")

    assert (match.procedure, match.ground) == ("tool/sell", Ground.STEPS_ALONE)
    assert "warning" in match.explanation


def test_steps_alone_are_no_reason_where_the_question_is_about_something_else() -> None:
    match = found("How do I paint the ceiling?", "make price", "make sale")

    assert (match.procedure, match.ground) == (None, Ground.NOTHING_FITS)


def test_between_two_that_fit_nobody_chooses() -> None:
    match = found("How do I fold a large widget and sell a large widget?")

    assert (match.procedure, match.ground) == (None, Ground.SEVERAL_FIT)


def test_a_tie_goes_by_the_id() -> None:
    names = [r.procedure for r in found("zzz").ranked]

    assert names == ["tool/fold", "tool/scrap", "tool/sell"]


def test_the_choice_is_told_with_its_reason_and_the_runners_up() -> None:
    told = found("How do I fold?", "make fold").explanation

    assert told.startswith("procedure tool/fold (question 1.00, steps 1.00): the question alone")
    assert "; behind it: tool/s" in told


def test_no_choice_is_told_with_the_nearest() -> None:
    told = found("How do I fold a large widget and sell a large widget?").explanation

    assert told.startswith("no procedure was chosen, the nearest is tool/fold (question ")


def test_without_procedures_nothing_is_found() -> None:
    match = found("x", docs=())

    assert (match.procedure, match.ranked) == (None, ())
    assert match.explanation == "there is no procedure to choose from"


# --- the shipped procedures -------------------------------------------------------------------


@cache
def shipped() -> dict[str, Procedure]:
    procedures, errors = read_procedures(ROOT / "procedures")
    assert not errors
    return procedures


@cache
def questions() -> Questions:
    return Questions(list(shipped().values()))


def nearest(question: str) -> list[str]:
    return [r.procedure for r in questions().rank(question)]


@pytest.mark.parametrize("name", shipped())
def test_every_documented_question_finds_its_procedure(name: str) -> None:
    assert {q: nearest(q)[0] for q in shipped()[name].questions} == dict.fromkeys(
        shipped()[name].questions, name
    )


PARAPHRASES: dict[str, list[str]] = yaml.safe_load((DATA / "paraphrases.yaml").read_text())


def test_every_procedure_has_paraphrases() -> None:
    assert PARAPHRASES.keys() == shipped().keys()
    assert min(len(texts) for texts in PARAPHRASES.values()) >= 3


@pytest.mark.parametrize(
    ("name", "question"), [(name, q) for name, texts in PARAPHRASES.items() for q in texts]
)
def test_a_question_in_other_words_finds_its_procedure_within_three(
    name: str, question: str
) -> None:
    assert name in nearest(question)[:3]


@pytest.mark.parametrize(
    "question",
    [
        "How do I switch on two-factor login for the web shop?",
        "Wie tanke ich mein Auto?",
        "Can PostgreSQL order a pizza?",
        "How do I make git print a bill for my customers?",
        "What is the airspeed velocity of an unladen swallow?",
    ],
)
def test_a_question_about_something_else_finds_nothing_that_stands_alone(question: str) -> None:
    everything = {name: doc(name.replace("/", "-"), "x", "true") for name in shipped()}

    match = find(question, questions(), lambda name: ([], everything[name]))

    assert match.procedure is None


# --- the index --------------------------------------------------------------------------------


def test_a_text_s_own_words_are_all_of_the_question() -> None:
    assert Index(["fold the widget", "paint a wall"]).shares("Folding a widget?") == [1.0, 0.0]


def test_an_unknown_word_is_missing_from_every_text() -> None:
    (share,) = Index(["fold the widget"]).shares("fold the ceiling")

    assert share == 0.5


@pytest.mark.parametrize("texts", [[], [""], ["the a of"]])
def test_texts_without_words_hold_nothing(texts: list[str]) -> None:
    assert Index(texts).shares("fold the widget") == [0.0] * len(texts)


@pytest.mark.parametrize("question", ["", "the of", "???"])
def test_a_question_without_words_is_nowhere(question: str) -> None:
    assert Index(["fold the widget"]).shares(question) == [0.0]
