"""The judge that is none: every question stays open and is listed."""

from procexec.model.question import Opinion, OpinionVerdict, Question


class Silent:
    """Leaves all questions open."""

    def ask(self, question: Question) -> Opinion:
        return Opinion(
            question=question.id,
            verdict=OpinionVerdict.UNAVAILABLE,
            reason="no judge is configured",
        )
