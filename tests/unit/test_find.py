"""Which procedure is an answer about, when nobody says?"""

from typing import Any

import msgspec

from procexec.align.alignment import Documented, documented
from procexec.align.find import rank
from procexec.model.document import Procedure
from procexec.model.step import Command
from procexec.shell.atoms import ShellKnowledge


def doc(name: str, question: str, *runs: str) -> Documented:
    raw: dict[str, Any] = {
        "id": f"tool/{name}",
        "title": name,
        "product": "tool",
        "doc": {"title": "Manual", "url": "https://example.test/manual"},
        "versions": ["1"],
        "questions": [question],
        "steps": [{"id": f"s{k}", "run": run} for k, run in enumerate(runs)],
    }
    return documented(msgspec.convert(raw, Procedure), "1", ShellKnowledge(options={}))


FOLD = doc("fold", "How do I fold a widget?", "make fold")
SELL = doc("sell", "How do I sell a widget?", "make price", "make sale")


def names(question: str, *runs: str) -> list[str]:
    actions = [Command(text=run) for run in runs]
    return [ranked.procedure for ranked in rank(question, actions, [SELL, FOLD])]


def test_the_question_and_the_steps_decide_together() -> None:
    assert names("How can I fold my widget?", "make fold")[0] == "tool/fold"
    assert names("How can I sell my widget?", "make price", "make sale")[0] == "tool/sell"


def test_the_steps_decide_where_the_question_does_not() -> None:
    assert names("What now?", "make price", "make sale")[0] == "tool/sell"


def test_the_question_decides_where_there_are_no_steps() -> None:
    assert names("How do I sell a widget?")[0] == "tool/sell"


def test_a_tie_goes_by_the_id() -> None:
    assert names("zzz") == ["tool/fold", "tool/sell"]


def test_both_reasons_are_told() -> None:
    best = rank("How do I fold a widget?", [Command(text="make fold")], [FOLD])[0]

    assert (best.question, best.fitness, best.score) == (1.0, 1.0, 2.0)


def test_without_procedures_nothing_is_found() -> None:
    assert rank("x", [], []) == ()
