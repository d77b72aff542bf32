"""Why is an alignment as it is? What else each step could have stood for is told."""

from typing import Any

import msgspec
import pytest

from procexec.align.alignment import Documented, align, documented
from procexec.align.why import considered
from procexec.model.alignment import Considered, Label, contradictions
from procexec.model.document import Procedure
from procexec.model.step import Command, Manual
from procexec.report.plan import alignment_text
from procexec.shell.atoms import ShellKnowledge


def doc(*runs: str, free: dict[str, str] | None = None) -> Documented:
    steps: list[dict[str, Any]] = [
        {"id": f"s{k}", "run": run, **({"after": [f"s{k - 1}"]} if k else {})}
        for k, run in enumerate(runs)
    ]
    raw = {
        "id": "tool/x",
        "title": "x",
        "product": "tool",
        "doc": {"title": "Manual", "url": "https://example.test/manual"},
        "versions": ["1"],
        "questions": ["x?"],
        "free": free or {},
        "steps": steps,
    }
    return documented(msgspec.convert(raw, Procedure), "1", ShellKnowledge(options={}))


def explained(document: Documented, *runs: str) -> tuple[Considered, ...]:
    return considered(align([Command(text=run) for run in runs], document), document)


def told(document: Documented, *runs: str) -> str:
    alignment = align([Command(text=run) for run in runs], document)
    texts = {node.id: node.atom.text for node in document.nodes}
    return alignment_text("a", "1", alignment, texts, considered(alignment, document))


def test_the_chosen_one_comes_first_and_the_others_with_what_they_would_cost() -> None:
    chosen, other = explained(doc("make a", "make b"), "make a")

    assert (chosen.node, chosen.chosen, chosen.candidate.label) == ("s0", True, Label.MATCHED)
    assert (other.node, other.chosen) == ("s1", False)
    assert other.dearer == other.candidate.cost > 0


def test_no_other_choice_makes_the_whole_cheaper() -> None:
    document = doc("make a", "make b", "make c")
    runs = ["make a", "make b", "make c"]

    others = [item for item in explained(document, *runs) if not item.chosen]

    assert len(others) == 6
    assert min(item.dearer or 0 for item in others) > 0


def test_an_atom_that_is_like_nothing_has_no_candidates() -> None:
    assert explained(doc("make a"), "rm x") == ()
    assert "+ extra           500  rm x\n" in told(doc("make a"), "rm x")
    assert "no documented step is comparable" in told(doc("make a"), "rm x")


def test_a_step_that_another_atom_stands_for_is_told() -> None:
    text = told(doc("make a"), "make a", "make b")

    assert "not s0, substituted for" in text
    assert "as atom 1 stands for it" in text


def test_out_of_order_is_told() -> None:
    assert "(out of order" in told(doc("make a", "rm b"), "rm b", "make a")


def test_a_free_value_with_two_texts_is_a_contradiction() -> None:
    document = doc("make demo", "rm demo", free={"name": "demo"})
    items = explained(document, "make shop", "rm store")

    assert contradictions(items) == {"name": ("shop", "store")}
    assert "name is not the same everywhere: shop, then store" in told(
        document, "make shop", "rm store"
    )


def test_equal_values_are_no_contradiction() -> None:
    document = doc("make demo", "rm demo", free={"name": "demo"})

    assert contradictions(explained(document, "make shop", "rm shop")) == {}


@pytest.mark.parametrize("label", Label)
def test_every_label_says_what_its_rule_is(label: Label) -> None:
    assert label.meaning


def test_prose_is_compared_with_prose_only() -> None:
    document = doc("make a")
    alignment = align([Manual(text="make a")], document)

    assert considered(alignment, document) == ()
