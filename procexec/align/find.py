"""Which documented procedure is an answer about, when nobody says?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from procexec.align.alignment import Documented, align
from procexec.align.similarity import text_similarity
from procexec.model.step import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A procedure with how well it fits: question 0-1, alignment fitness 0-1."""

    procedure: str
    question: float
    fitness: float

    @property
    def score(self) -> float:
        return self.question + self.fitness


def rank(
    question: str, actions: Sequence[Action], documents: Iterable[Documented]
) -> tuple[Ranked, ...]:
    """Return the procedures, the best first; ties by id."""
    ranked = [
        Ranked(
            procedure=doc.procedure.id,
            question=max(
                (
                    text_similarity(question, q)
                    for q in (*doc.procedure.questions, doc.procedure.title)
                ),
                default=0.0,
            ),
            fitness=align(actions, doc).fitness,
        )
        for doc in documents
    ]
    return tuple(sorted(ranked, key=lambda r: (-r.score, r.procedure)))
