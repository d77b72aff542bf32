"""An answer beside its procedure: labels, values, branches, order."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.align.alignment import Documented, align, documented
from procexec.align.graph import actions
from procexec.model.alignment import Alignment, Label, MoveKind
from procexec.model.document import Procedure
from procexec.model.step import Action, Command, Input, Manual
from procexec.read.procedures import read_procedures
from procexec.read.sandboxes import read_sandboxes
from procexec.shell.atoms import ShellKnowledge
from procexec.trial import document

ROOT = Path(__file__).parents[2]


def doc(*steps: dict[str, Any], version: str = "2", **more: Any) -> Documented:
    raw = {
        "id": "tool/make",
        "title": "Make a thing",
        "product": "tool",
        "doc": {"title": "Manual", "url": "https://example.test/manual"},
        "versions": ["1", "2"],
        "steps": steps,
        **more,
    }
    return documented(msgspec.convert(raw, Procedure), version, ShellKnowledge(options={}))


def chain(*texts: str, **more: Any) -> Documented:
    names = "abcdefgh"
    return doc(
        *(
            {"id": names[k], "run": text, "after": [names[k - 1]] if k else []}
            for k, text in enumerate(texts)
        ),
        **more,
    )


def aligned(to: Documented, *answer: Action | str) -> Alignment:
    return align([Command(text=a) if isinstance(a, str) else a for a in answer], to)


def labels(found: Alignment) -> list[tuple[str, Label]]:
    """What became of each atom of the answer, then of the steps that nothing stands for."""
    return [
        (found.atoms[move.atom].text if move.atom is not None else move.node or "", move.label)
        for move in found.moves
    ]


ABC = chain("make one", "make two", "make three")


def test_the_documented_procedure_costs_nothing() -> None:
    found = aligned(ABC, "make one", "make two", "make three")

    assert (found.cost, found.fitness, found.optimal) == (0, 1.0, True)
    assert {move.kind for move in found.moves} == {MoveKind.SYNCHRONOUS}


def test_one_line_may_do_several_steps() -> None:
    assert aligned(ABC, "make one && make two; make three").cost == 0


def test_a_required_step_is_missed() -> None:
    found = aligned(ABC, "make one", "make three")

    assert found.cost == 1000
    assert labels(found)[-1] == ("b", Label.MISSING)


def test_an_optional_step_may_be_skipped() -> None:
    found = aligned(
        doc({"id": "a", "run": "make one"}, {"id": "b", "run": "make two", "required": False}),
        "make one",
    )

    assert found.cost == 0
    assert labels(found)[-1] == ("b", Label.SKIPPED)


def test_a_look_costs_little_and_another_step_more() -> None:
    assert aligned(ABC, "make one", "ls -l", "make two", "make three").cost == 50
    assert aligned(ABC, "make one", "rm x", "make two", "make three").cost == 500


def test_a_look_is_a_check_another_step_is_extra() -> None:
    found = aligned(ABC, "make one", "ls", "rm x", "make two", "make three")

    assert [label for _, label in labels(found)[1:3]] == [Label.CHECK, Label.EXTRA]


def test_a_step_at_the_wrong_place_is_displaced_and_its_edge_told() -> None:
    found = aligned(ABC, "make two", "make one", "make three")

    displaced = [move for move in found.moves if move.kind is MoveKind.DISPLACED]
    assert (found.cost, len(displaced), found.violations) == (400, 1, (("a", "b"),))


def test_steps_that_do_not_depend_on_each_other_may_change_places() -> None:
    free = doc({"id": "a", "run": "make one"}, {"id": "b", "run": "make two"})

    assert aligned(free, "make two", "make one").cost == 0


def test_a_wrong_value_is_a_substitute() -> None:
    found = aligned(ABC, "make one", "make zwei", "make three")

    assert labels(found)[1] == ("make zwei", Label.SUBSTITUTED)
    assert 600 <= found.cost < 900


def test_a_repeatable_step_may_be_repeated() -> None:
    again = doc({"id": "a", "run": "make one", "repeatable": True})

    assert aligned(again, "make one", "make one").cost == 0
    assert aligned(chain("make one"), "make one", "make one").cost == 500


def test_the_step_of_another_version_is_known_as_such() -> None:
    versioned = doc(
        {
            "id": "a",
            "run": [{"run": "make --old", "versions": "<2"}, {"run": "new x", "versions": ">=2"}],
        }
    )

    found = aligned(versioned, "make --old")

    assert labels(found) == [("make --old", Label.OTHER_VERSION)]


# --- branches ---------------------------------------------------------------------------------

WAYS = doc(
    {"id": "start", "run": "make start"},
    {"id": "a1", "run": "make left", "any_of": "way", "branch": "a", "after": ["start"]},
    {"id": "a2", "run": "make lefter", "any_of": "way", "branch": "a", "after": ["a1"]},
    {"id": "b1", "run": "cp right x", "any_of": "way", "branch": "b", "after": ["start"]},
    {"id": "end", "run": "make end", "after": ["a2", "b1"]},
)


@pytest.mark.parametrize(
    ("answer", "branch"),
    [(("make left", "make lefter"), "a"), (("cp right x",), "b")],
)
def test_each_branch_is_as_good_as_the_other(answer: tuple[str, ...], branch: str) -> None:
    found = aligned(WAYS, "make start", *answer, "make end")

    assert (found.cost, found.branches) == (0, {"way": branch})


def test_the_steps_of_the_other_branch_are_not_missing() -> None:
    found = aligned(WAYS, "make start", "cp right x", "make end")

    assert ("a1", Label.SKIPPED) in labels(found)


def test_both_branches_together_are_one_too_many() -> None:
    found = aligned(WAYS, "make start", "make left", "make lefter", "cp right x", "make end")

    assert found.branches == {"way": "a"}
    assert ("cp right x", Label.EXTRA) in labels(found)


# --- values -----------------------------------------------------------------------------------


def test_free_values_and_placeholders_are_bound() -> None:
    free = chain("git switch topic", "git commit -m Done", free={"message": "Done"})

    found = aligned(free, "git switch <branch>", "git commit -m Finished")

    assert found.cost == 0
    assert found.bindings == {"<branch>": "topic", "message": "Finished"}


def test_the_first_binding_in_the_answer_counts() -> None:
    free = chain("make x", "touch x", free={"name": "x"})

    assert aligned(free, "make y", "touch z").bindings == {"name": "y"}


# --- replies and manual steps -----------------------------------------------------------------


def test_replies_are_aligned_in_order() -> None:
    asked = doc(
        {"id": "run", "run": "git add -p"},
        {"id": "first", "input": {"prompt": "First", "reply": "y"}, "after": ["run"]},
        {"id": "second", "input": {"prompt": "Second", "reply": "n"}, "after": ["first"]},
    )

    right = aligned(asked, "git add -p", Input(keys=("y\r",)), Input(keys=("n\r",)))
    wrong = aligned(asked, "git add -p", Input(keys=("n\r",)), Input(keys=("y\r",)))

    assert right.cost == 0
    assert wrong.cost > 0


def test_a_reply_too_many_costs_no_more_than_a_look() -> None:
    assert aligned(ABC, "make one", Input(keys=("y\r",)), "make two", "make three").cost == 50


def test_a_manual_step_is_aligned_in_other_words() -> None:
    manual = doc({"id": "a", "manual": "Open the Settings page and click Save"})

    found = aligned(manual, Manual(text="Open the settings page, then click on Save"))

    assert [label for _, label in labels(found)] == [Label.PARAPHRASE]


# --- the empty ones ---------------------------------------------------------------------------


def test_an_empty_answer_has_no_fitness() -> None:
    found = aligned(ABC)

    assert (found.cost, found.fitness) == (3000, 0.0)


def test_an_answer_of_something_else_has_no_fitness() -> None:
    assert aligned(ABC, "rm x", "cp a b").fitness == 0.0


# --- laws -------------------------------------------------------------------------------------


@cache
def shipped() -> tuple[tuple[Procedure, str], ...]:
    procedures, _ = read_procedures(ROOT / "procedures")
    return tuple((p, version) for p in procedures.values() for version in p.versions)


def itself(procedure: Procedure, version: str) -> tuple[Documented, list[Action]]:
    sandboxes, _ = read_sandboxes(ROOT / "sandboxes")
    spec = sandboxes[procedure.product, version].spec
    chosen: dict[str, str] = {}
    told: list[Action] = []
    for step in procedure.steps:
        if step.any_of and chosen.setdefault(step.any_of, step.branch or "") != step.branch:
            continue
        told += actions(step, version)
    return document(procedure, version, spec), told


@pytest.mark.parametrize(
    ("procedure", "version"), shipped(), ids=[f"{p.id}@{v}" for p, v in shipped()]
)
def test_a_shipped_procedure_aligned_with_itself_costs_nothing(
    procedure: Procedure, version: str
) -> None:
    to, told = itself(procedure, version)

    found = align(told, to)

    assert (found.cost, found.fitness) == (0, 1.0)


STEPS = st.lists(
    st.sampled_from(["make one", "make two", "make three", "ls", "rm x", "make <x>", "cd d"]),
    max_size=7,
)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_every_atom_and_every_step_has_one_move(answer: list[str]) -> None:
    found = aligned(ABC, *answer)

    atoms = [move.atom for move in found.moves if move.atom is not None]
    nodes = [move.node for move in found.moves if move.node is not None]
    assert sorted(atoms) == list(range(len(answer)))
    assert sorted(nodes) == ["a", "b", "c"]
    assert 0 <= found.fitness <= 1


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 7))
def test_a_look_more_never_costs_more_than_a_look(answer: list[str], at: int) -> None:
    more = [*answer[:at], "ls -l /", *answer[at:]]

    assert aligned(ABC, *more).cost <= aligned(ABC, *answer).cost + 50


def _several() -> str:
    answers = (["make two", "make one", "make <x>", "ls"], ["rm x"], ["cp right x", "make left"])
    return "\n".join(str(aligned(to, *answer)) for answer in answers for to in (ABC, WAYS))


def test_the_alignment_is_the_same_on_any_hash_seed() -> None:
    script = "from tests.unit import test_alignment as t; print(t._several())"

    assert _printed(script, "1") == _several() + "\n"


def _printed(script: str, seed: str) -> str:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
