"""Answer beside procedure: moves, their labels and cost."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One column of the alignment. ``atom`` indexes the answer's atoms, ``node`` is a step id.

    ``against`` are the values fixed by the question that the answer replaced by others.
    ``reshaped``: not only values differ, the command is another one.
    """

    kind: MoveKind
    label: Label
    cost: int
    atom: int | None = None
    node: str | None = None
    detail: str = ""
    against: tuple[str, ...] = ()
    reshaped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pair that could be matched: what it would cost, why, and the values it binds."""

    cost: int
    label: Label
    detail: str = ""
    bindings: tuple[tuple[str, str], ...] = ()
    against: tuple[str, ...] = ()
    reshaped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """An optimal alignment of an answer's atoms to a documented procedure.

    ``cost`` in thousandths of a missing required step; ``fitness`` 0-1, 1 is the documented
    procedure itself; ``violations`` are pairs (u, v) of step ids where v came before u.
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
