"""Which documented procedure is an answer about, when nobody says?"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from procexec.align.alignment import Documented, align
from procexec.align.bm25 import Index
from procexec.model.document import Procedure
from procexec.model.step import Action

CLEAR = 0.4
"""Share of the question's words, by weight, from which they alone decide."""

LEAD = 2.0
"""How many times as well as any other the best must fit the question for that."""

HINT = 0.15
"""Share of the question's words without which no steps decide."""

FITS = 0.3
"""Fitness from which the steps decide where the question does not."""

AHEAD = 0.15
"""How much better than any other they must fit for that."""

FITS_ALONE = 0.5
"""Fitness from which the steps decide where nobody asked anything."""

LOOKED_AT = 5
"""Procedures, the best by question, whose steps are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A procedure with how well it fits: question 0-1, alignment fitness 0-1."""

    procedure: str
    question: float
    fitness: float = 0.0

    @property
    def score(self) -> float:
        return self.question + self.fitness


class Ground(StrEnum):
    """Why the best is taken for the right one, or why it is not."""

    QUESTION = "the question alone tells"
    STEPS = "the question hints at it and the steps fit no other as well"
    STEPS_ALONE = "there is no question, and only the steps tell; warning: say which one is meant"
    NOTHING_FITS = "nothing fits the question well enough"
    SEVERAL_FIT = "another one fits nearly as well"
    NONE_KNOWN = "there is no procedure to choose from"

    @property
    def trusted(self) -> bool:
        return self in (Ground.QUESTION, Ground.STEPS, Ground.STEPS_ALONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The procedures that were considered, the best first, and what that is worth."""

    ranked: tuple[Ranked, ...]
    ground: Ground

    @property
    def procedure(self) -> str | None:
        """The procedure that is meant, or None where that cannot be told."""
        return self.ranked[0].procedure if self.ground.trusted else None

    @property
    def explanation(self) -> str:
        """Which one was chosen or not, why, and the runners-up."""
        if not self.ranked:
            return f"{self.ground}"
        best, *others = (
            f"{r.procedure} (question {r.question:.2f}, steps {r.fitness:.2f})"
            for r in self.ranked[:3]
        )
        chosen = "procedure" if self.ground.trusted else "no procedure was chosen, the nearest is"
        behind = f"; behind it: {', '.join(others)}" if others else ""
        return f"{chosen} {best}: {self.ground}{behind}"


class Questions:
    """The questions and titles of procedures, ready to be searched."""

    def __init__(self, procedures: Sequence[Procedure]) -> None:
        texts = [
            (p.id, f"{p.product} {text}") for p in procedures for text in (*p.questions, p.title)
        ]
        self._owners = [owner for owner, _ in texts]
        self._index = Index([text for _, text in texts])

    def rank(self, question: str) -> tuple[Ranked, ...]:
        """Return the procedures, the best first; ties by id."""
        best: dict[str, float] = {}
        for owner, share in zip(self._owners, self._index.shares(question), strict=True):
            best[owner] = max(share, best.get(owner, 0.0))
        found = (Ranked(procedure=name, question=share) for name, share in best.items())
        return _ordered(found)


def find(
    question: str,
    questions: Questions,
    compare: Callable[[str], tuple[Sequence[Action], Documented]],
) -> Match:
    """Return what an answer is about, by its question and its steps.

    ``compare`` returns the answer's steps as its product reads them and a procedure, by its id.
    """
    ranked = questions.rank(question)
    asked = bool(question.strip())
    near = ranked[:LOOKED_AT] if asked and ranked and ranked[0].question else ranked
    fitness = {r.procedure: align(*compare(r.procedure)).fitness for r in near}
    ordered = _with_fitness(ranked, fitness)
    return Match(ranked=ordered, ground=_ground(ordered, asked=asked))


def _with_fitness(ranked: Sequence[Ranked], fitness: Mapping[str, float]) -> tuple[Ranked, ...]:
    return _ordered(
        Ranked(procedure=r.procedure, question=r.question, fitness=fitness.get(r.procedure, 0.0))
        for r in ranked
    )


def _ordered(ranked: Iterable[Ranked]) -> tuple[Ranked, ...]:
    return tuple(sorted(ranked, key=lambda r: (-r.score, r.procedure)))


def _ground(ranked: Sequence[Ranked], *, asked: bool) -> Ground:
    if not ranked:
        return Ground.NONE_KNOWN
    best, others = ranked[0], ranked[1:]
    next_question = max((r.question for r in others), default=0.0)
    next_fitness = max((r.fitness for r in others), default=0.0)
    if best.question >= CLEAR and best.question >= LEAD * next_question:
        return Ground.QUESTION
    fits = best.fitness >= (FITS if asked else FITS_ALONE)
    fits = fits and (best.question >= HINT or not asked)
    if fits and best.fitness >= next_fitness + AHEAD:
        return Ground.STEPS if asked else Ground.STEPS_ALONE
    near = fits or best.question >= CLEAR
    return Ground.SEVERAL_FIT if near and others else Ground.NOTHING_FITS
