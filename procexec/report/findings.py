"""Which finding to tell first, and in which words: the same in every report."""

from collections.abc import Sequence
from typing import assert_never

from procexec.model.result import AnswerResult, Code, Finding, Owner, Verdict

# A cause before its consequences: a wrong step before its failure, a failure before the missed goal.
_TELLING = (
    Code.TEST_BED,
    Code.UNSAFE_STEP,
    Code.STALE_DOCS,
    Code.VACUOUS_GOAL,
    Code.OLD_VERSION_STEP,
    Code.WRONG_VALUE,
    Code.WRONG_ORDER,
    Code.NOT_DECLINED,
    Code.MISSING_STEP,
    Code.INVENTED_STEP,
    Code.STEP_FAILED,
    Code.COLLATERAL_CHANGE,
    Code.GOAL_NOT_REACHED,
    Code.UNRESOLVED_PLACEHOLDER,
    Code.AMBIGUOUS_EDIT,
    Code.NEEDS_INPUT,
    Code.NOT_RUNNABLE,
    Code.OPEN_QUESTION,
    Code.NO_STEPS,
    Code.RISKY_STEP,
    Code.UNKNOWN_PROCEDURE,
)


def ranked(result: AnswerResult) -> Sequence[Finding]:
    """Return what counts against the answer: the owner's findings first, causes before effects."""
    counting = (finding for finding in result.findings if not finding.informational)
    return sorted(counting, key=lambda f: (f.owner is not result.owner, _TELLING.index(f.code)))


def informational(result: AnswerResult) -> Sequence[Finding]:
    return [finding for finding in result.findings if finding.informational]


def suite_name(result: AnswerResult) -> str:
    """Return product and version as people say them: ``git 2.39``."""
    return f"{result.product} {result.version}".strip()


def place(result: AnswerResult, finding: Finding | None, source: str) -> str:
    """Return where to look: the line of the answers' file, then line and column in the Markdown."""
    file = f"{source}:{result.line}" if result.line else source
    within = f":{finding.line}:{finding.column}" if finding is not None and finding.line else ""
    return f"{file}#{result.id}{within}"


def must_do(owner: Owner, verdict: Verdict) -> str:
    """Return who must act, and how."""
    match owner:
        case Owner.ASSISTANT:
            return "assistant: correct the answer"
        case Owner.DOCUMENTATION:
            return "documentation: correct the procedure for this version"
        case Owner.JUDGE:
            return "judge: a person or a judge must decide what no sandbox can"
        case Owner.ENVIRONMENT if verdict is Verdict.ERROR:
            return (
                "environment: repair the test bed, then run again; it says nothing about the answer"
            )
        case Owner.ENVIRONMENT:
            return "environment: let the sandbox run this step, or have it judged"
        case Owner.NONE:
            return "nobody"
        case _:
            assert_never(owner)
