"""A question that the documentation does not cover: does the answer say so?"""

from collections.abc import Iterator, Sequence

from procexec.model.evidence import Evidence
from procexec.model.question import Opinion, OpinionVerdict
from procexec.model.result import (
    Code,
    Finding,
    Owner,
)
from procexec.model.step import AnswerStep, Input


def unclear_declining(evidence: Evidence) -> bool:
    return not evidence.extraction.declines and not _changing(evidence)


def _changing(evidence: Evidence) -> list[AnswerStep]:
    return [s for s in evidence.steps if not isinstance(s.action, Input)]


def uncovered(evidence: Evidence, opinions: Sequence[Opinion]) -> tuple[Finding, ...]:
    invented = _changing(evidence)
    if invented:
        first = invented[0]
        return (
            Finding(
                code=Code.INVENTED_STEP,
                message="the documentation does not cover the question, the answer gives a procedure",
                owner=Owner.ASSISTANT,
                line=first.line,
                column=first.column,
                command=first.action.text,
                fix="say that the documentation does not cover this",
            ),
        )
    if evidence.extraction.declines:
        return ()
    return tuple(of_opinion(opinions, "whether the answer declines", Code.NOT_DECLINED))


def of_opinion(opinions: Sequence[Opinion], about: str, code: Code) -> Iterator[Finding]:
    said = next(iter(opinions), None)
    if said is not None and said.verdict is OpinionVerdict.PASS:
        return
    if said is not None and said.verdict is OpinionVerdict.FAIL:
        yield Finding(code=code, message=f"the judge: {said.reason}", owner=Owner.ASSISTANT)
        return
    reason = f": {said.reason}" if said is not None and said.reason else ""
    yield Finding(
        code=Code.OPEN_QUESTION,
        message=f"a judge must say {about}{reason}",
        owner=Owner.JUDGE,
    )
