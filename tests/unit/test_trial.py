"""A machine that is too busy is told from an answer that never comes to an end."""

from dataclasses import replace

import pytest

from procexec.errors import PassingError
from procexec.execute.replay import Replay
from procexec.model.alignment import Alignment, Label, Move, MoveKind
from procexec.model.document import Answer
from procexec.model.evidence import DocumentedAtom, Evidence
from procexec.model.plan import Plan, PlannedStep
from procexec.model.run import CommandResult, Ending
from procexec.model.state import Mask, ObservedState, Reference, ReferenceStep
from procexec.model.step import Atom, AtomKind, Extraction
from procexec.trial import blame_no_one_for_slowness

LATE = CommandResult(ending=Ending.TIMED_OUT)
DONE = CommandResult(ending=Ending.EXITED, exit_code=0)


def move(node: str, label: Label, atom: int | None) -> Move:
    kind = MoveKind.PROCEDURE_ONLY if atom is None else MoveKind.SYNCHRONOUS
    return Move(kind=kind, label=label, cost=0, atom=atom, node=node)


def evidence(*moves: Move, exit_code: int = 0) -> Evidence:
    count = sum(m.atom is not None for m in moves)
    steps = tuple(
        ReferenceStep(id=name, text=name, ending="exited", exit_code=exit_code, output="")
        for name in ("a", "b")
    )
    return Evidence(
        answer=Answer(id="x", answer="text"),
        line=1,
        version="1",
        procedure=None,
        extraction=Extraction(steps=()),
        alignment=Alignment(
            atoms=tuple(Atom(kind=AtomKind.COMMAND, text="x", step=k) for k in range(count)),
            moves=moves,
            cost=0,
            fitness=1.0,
        ),
        documented=tuple(
            DocumentedAtom(id=name, step=name, text=name, required=True) for name in ("a", "b")
        ),
        plan=Plan(steps=tuple(PlannedStep(index=k, text="x") for k in range(count))),
        reference=Reference(
            procedure="p/q",
            version="1",
            steps=steps,
            changes=(),
            checks=(),
            goal_held_before=False,
            mask=Mask(),
            fixture=ObservedState(),
        ),
    )


def done(*results: CommandResult) -> Replay:
    return Replay(results=results, watched={}, events=(), died=False)


def test_a_documented_step_that_takes_too_long_only_here_is_the_test_bed_s() -> None:
    case = evidence(move("a", Label.MATCHED, 0), move("b", Label.MATCHED, 1))

    with pytest.raises(PassingError, match="`b` did not end within 30 s"):
        blame_no_one_for_slowness(case, done(DONE, LATE), 30)


@pytest.mark.parametrize(
    "case",
    [
        evidence(move("a", Label.MATCHED, 0), move("b", Label.SUBSTITUTED, 1)),
        evidence(move("a", Label.SUBSTITUTED, 0), move("b", Label.MATCHED, 1)),
        evidence(move("a", Label.MATCHED, 0), move("b", Label.MATCHED, 1), exit_code=1),
        evidence(
            move("a", Label.MATCHED, 0),
            replace(move("b", Label.MATCHED, 1), kind=MoveKind.DISPLACED),
        ),
    ],
)
def test_a_step_of_its_own_or_behind_one_is_the_answer_s(case: Evidence) -> None:
    blame_no_one_for_slowness(case, done(DONE, LATE), 30)


def test_a_step_behind_one_that_is_left_out_is_the_answer_s() -> None:
    case = evidence(move("b", Label.MATCHED, 0), move("a", Label.MISSING, None))

    blame_no_one_for_slowness(case, done(LATE), 30)
