"""Stage 7: evidence and opinions in, findings and a verdict out. Pure.

Rules: DESIGN of the verdict table. What was executed decides; text says where to look. The
reference run is the control: where it fails on a version, the documentation is at fault unless the
answer is wrong where the documentation works, too.
"""

from collections.abc import Sequence
from dataclasses import replace

from procexec.model.evidence import Evidence
from procexec.model.question import Opinion
from procexec.model.result import AnswerResult, Code, Control, Finding, Owner, Verdict, overall
from procexec.model.state import Reference
from procexec.verdict.case import Case
from procexec.verdict.labels import step_results
from procexec.verdict.questions import questions
from procexec.verdict.rules import FAILS, UNFAITHFUL
from procexec.verdict.uncovered import uncovered

__all__ = ["decide", "may_be_of_another_version", "of_another_version", "questions"]


def decide(
    evidence: Evidence, opinions: Sequence[Opinion] = (), *, elsewhere: AnswerResult | None = None
) -> AnswerResult:
    """Return the verdict on one answer at one version.

    ``elsewhere`` is its result on a version where the documentation works, or None if there is
    none; it matters only where the reference fails.
    """
    found = uncovered(evidence, opinions) if evidence.procedure is None else ()
    if evidence.procedure is not None:
        found = tuple(Case(evidence, opinions).findings(elsewhere))
    return _result(evidence, found)


def of_another_version(result: AnswerResult, version: str) -> AnswerResult:
    """Return a result whose failed steps of its own are called steps of the version where they work."""
    told = f"the step of another version: it works on {version}"
    failed = _failed_otherwise(result)
    kept = [f for f in result.findings if (f.line, f.column) not in failed or f.code not in _OWN]
    old = [
        replace(f, code=Code.OLD_VERSION_STEP, message=told, evidence="")
        for f in result.findings
        if f.code is Code.STEP_FAILED and (f.line, f.column) in failed
    ]
    steps = tuple(
        replace(s, label="old-version") if (s.line, s.column) in failed else s for s in result.steps
    )
    return replace(result, findings=(*kept, *old), steps=steps)


def may_be_of_another_version(result: AnswerResult) -> bool:
    """Tell whether a step failed that differs from what is documented."""
    blamed = result.verdict is Verdict.FAIL and result.owner is Owner.ASSISTANT
    return blamed and bool(_failed_otherwise(result))


_OWN = frozenset([Code.WRONG_VALUE, Code.INVENTED_STEP])
_AS_DOCUMENTED = frozenset(["matched", "variant", "paraphrase", "displaced"])


def _failed_otherwise(result: AnswerResult) -> set[tuple[int, int]]:
    """Return the places of the failed steps that are not as documented."""
    other = {(s.line, s.column) for s in result.steps if s.label not in _AS_DOCUMENTED}
    return {
        (f.line, f.column)
        for f in result.findings
        if f.code is Code.STEP_FAILED and (f.line, f.column) in other
    }


def _result(evidence: Evidence, found: Sequence[Finding]) -> AnswerResult:
    verdict = overall([Verdict.PASS, *(_verdict_of(f) for f in found)])
    alignment = evidence.alignment
    works = None
    if evidence.end is not None and evidence.results:
        works = evidence.end.goal_reached and not any(
            not check.held for check in evidence.end.forbidden
        )
    return AnswerResult(
        id=evidence.answer.id,
        version=evidence.version,
        product=evidence.procedure.product if evidence.procedure else evidence.answer.product or "",
        procedure=evidence.procedure.id if evidence.procedure else None,
        verdict=verdict,
        owner=_owner(verdict, found),
        line=evidence.line,
        findings=tuple(found),
        steps=tuple(step_results(evidence, found)),
        faithful=_faithful(found) if evidence.procedure else None,
        works=works,
        fitness=alignment.fitness if alignment else None,
        slices=evidence.answer.slices,
        deviations=tuple(map(str, evidence.end.deviations[:40])) if evidence.end else (),
        notes=evidence.notes,
        reference=_control(evidence.reference) if evidence.reference else None,
    )


def _control(reference: Reference) -> Control:
    return Control(
        works=reference.works,
        runs=reference.runs,
        coverage=reference.coverage,
        steps={step.id: step.coverage for step in reference.steps if step.coverage.facts},
    )


def _verdict_of(finding: Finding) -> Verdict:
    if finding.informational:
        return Verdict.PASS
    return Verdict.FAIL if finding.code in FAILS else Verdict.INCONCLUSIVE


_WHO_MUST_ACT = (Owner.ENVIRONMENT, Owner.JUDGE, Owner.ASSISTANT, Owner.DOCUMENTATION)


def _faithful(found: Sequence[Finding]) -> bool:
    return not any(f.code in UNFAITHFUL and f.owner is Owner.ASSISTANT for f in found)


def _owner(verdict: Verdict, found: Sequence[Finding]) -> Owner:
    if verdict is Verdict.PASS:
        return Owner.NONE
    deciding = {f.owner for f in found if not f.informational and _verdict_of(f) is verdict}
    if verdict is Verdict.FAIL:
        return Owner.ASSISTANT if Owner.ASSISTANT in deciding else Owner.DOCUMENTATION
    return next(owner for owner in _WHO_MUST_ACT if owner in deciding)
