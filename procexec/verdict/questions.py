"""What a judge must be asked about an answer."""

from procexec.model.evidence import Evidence
from procexec.model.question import Question
from procexec.model.step import Manual
from procexec.verdict.uncovered import unclear_declining


def questions(evidence: Evidence) -> tuple[Question, ...]:
    """Return what a judge must be asked about the answer: manual steps, an unclear declining."""
    if evidence.procedure is None and unclear_declining(evidence):
        return (_question(evidence, "declines", "Does the answer say that the docs are silent?"),)
    if evidence.procedure is None:
        return ()
    manual = [s for s in evidence.steps if isinstance(s.action, Manual) and not s.action.looks]
    return tuple(
        _question(evidence, f"{s.line}:{s.column}", f"Is this step documented: {s.action.text}")
        for s in manual
    )


def _question(evidence: Evidence, subject: str, text: str) -> Question:
    return Question(
        id=f"{evidence.answer.id}@{evidence.version}#{subject}",
        answer=evidence.answer.id,
        subject=subject,
        text=text,
        evidence=evidence.answer.answer,
    )
