"""Answer beside procedure: moves, their labels and cost."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from procexec.model.step import Atom


class MoveKind(StrEnum):
    """The moves of process mining, and one of ours: a match at the wrong place."""

    SYNCHRONOUS = "synchronous"
    ANSWER_ONLY = "answer-only"
    PROCEDURE_ONLY = "procedure-only"
    DISPLACED = "displaced"
    REPEAT = "repeat"


class Label(StrEnum):
    """How well the two sides of a move agree, by text."""

    MATCHED = "matched"
    VARIANT = "variant"
    PARAPHRASE = "paraphrase"
    OTHER_VERSION = "other-version"
    SUBSTITUTED = "substituted"
    EXTRA = "extra"
    CHECK = "check"
    MISSING = "missing"
    SKIPPED = "skipped"

    @property
    def meaning(self) -> str:
        """The rule that gives the label, in words."""
        return _MEANINGS[self]


_MEANINGS: dict[Label, str] = {
    Label.MATCHED: "the same command, values and placeholders set aside",
    Label.VARIANT: "the same but for options that change nothing",
    Label.PARAPHRASE: "the same in other words",
    Label.OTHER_VERSION: "as documented for another version",
    Label.SUBSTITUTED: "the same command with something that matters different",
    Label.EXTRA: "nothing is documented for it",
    Label.CHECK: "nothing is documented for it, and it only looks",
    Label.MISSING: "required, and nothing stands for it",
    Label.SKIPPED: "not required, and nothing stands for it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One column of the alignment. ``atom`` indexes the answer's atoms, ``node`` is a step id.

    ``against`` are the values fixed by the question that the answer replaced by others.
    ``reshaped``: not only values differ, the command is another one; ``added``: it has options that
    the documented one does not have, and all that it has; ``foreign``: it writes another kind of text to the file.
    """

    kind: MoveKind
    label: Label
    cost: int
    atom: int | None = None
    node: str | None = None
    detail: str = ""
    against: tuple[str, ...] = ()
    reshaped: bool = False
    added: bool = False
    foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pair that could be matched: what it would cost, why, and the values it binds."""

    cost: int
    label: Label
    detail: str = ""
    bindings: tuple[tuple[str, str], ...] = ()
    against: tuple[str, ...] = ()
    reshaped: bool = False
    added: bool = False
    foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """A documented atom that an answer's atom could stand for.

    ``dearer`` is what the whole alignment would cost more with it; None: chosen, or impossible.
    """

    atom: int
    node: str
    candidate: Candidate
    chosen: bool
    dearer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """An optimal alignment of an answer's atoms to a documented procedure.

    ``cost`` in thousandths of a missing required step; ``fitness`` 0-1, 1 is the documented
    procedure itself; ``violations`` are pairs (u, v) of step ids where v came before u.
    ``bounds`` are the documented steps that only open or leave a program, by the answer's step
    that does it: they are no atoms, since what is typed between them counts.
    """

    atoms: tuple[Atom, ...]
    moves: tuple[Move, ...]
    cost: int
    fitness: float
    branches: dict[str, str] = field(default_factory=dict)
    bindings: dict[str, str] = field(default_factory=dict)
    violations: tuple[tuple[str, str], ...] = ()
    optimal: bool = True
    gap: int = 0
    bounds: dict[int, tuple[str, ...]] = field(default_factory=dict)


def contradictions(items: Sequence[Considered]) -> dict[str, tuple[str, ...]]:
    """Return the free values that the chosen candidates bind to more than one text."""
    bound: dict[str, list[str]] = {}
    for item in items:
        for name, value in item.candidate.bindings if item.chosen else ():
            bound.setdefault(name, []).append(value)
    several = {name: tuple(dict.fromkeys(values)) for name, values in bound.items()}
    return {name: values for name, values in several.items() if len(values) > 1}
