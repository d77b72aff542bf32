"""The stages, in order: what an answer goes through on its way to a verdict.

    read -> extract -> align -> execute -> compare -> judge -> verdict -> aggregate -> report

``read`` happens before (procexec.batch hands answers in), extract to compare in procexec.trial,
aggregate and report behind.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from procexec import verdict
from procexec.errors import FixtureError, PassingError, ProcexecError, SandboxError
from procexec.judge import Judge
from procexec.model.document import Answer, Unsafe
from procexec.model.result import AnswerResult, Code, Finding, Owner, Verdict
from procexec.model.run import Event
from procexec.reference import Bench, References
from procexec.sandbox import SandboxProvider
from procexec.trial import Trial, try_out

STAGES = (
    "read", "extract", "align", "execute", "compare", "judge", "verdict", "aggregate", "report",
)  # fmt: skip

RESTARTS = (0.5, 2.0)
"""Seconds before an answer is tried again in a new container, where the test bed failed."""

Attempt = Trial | SandboxError | FixtureError


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A verdict, and the terminal as it was seen.

    ``unsteady``: there is none because the test bed failed in a way that may pass.
    """

    answer: AnswerResult
    events: tuple[Event, ...] = ()
    unsteady: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What an evaluation needs from outside."""

    provider: SandboxProvider
    references: References
    judge: Judge
    unsafe: Sequence[Unsafe] = ()


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """One answer on all versions of its procedure; each is tried at most once.

    ``benches`` makes the bench of a version when it is asked for, oldest version first.
    """

    answer: Answer
    line: int
    benches: dict[str, Callable[[], Bench]]
    tools: Tools
    notes: tuple[str, ...] = ()
    attempts: dict[str, Attempt] = field(default_factory=dict)

    def results(self, versions: Sequence[str]) -> Iterator[Result]:
        """Yield the result on each version.

        Where the documentation fails on a version, the answer is also tried where it works: an
        answer that passes there follows the documentation, and the fault is not the assistant's.
        """
        for version in versions:
            found = self.attempt(version)
            if not isinstance(found, Trial):
                answer = broken(self.answer, self.line, version, found)
                yield Result(answer=answer, unsteady=isinstance(found, PassingError))
                continue
            reference = found.evidence.reference
            elsewhere = None
            if reference is not None and not reference.works:
                elsewhere = self.where_documented()
            answer = judged(found, self.tools.judge, elsewhere=elsewhere)
            if verdict.may_be_of_another_version(answer):
                answer = self._of_its_version(answer)
            yield Result(answer=answer, events=found.events)

    def attempt(self, version: str) -> Attempt:
        """Return the trial on a version, or why there is none."""
        if version not in self.attempts:
            self.attempts[version] = self._attempted(version)
        return self.attempts[version]

    def _attempted(self, version: str) -> Attempt:
        """Try, and try again where the test bed failed in a way that may pass; a note says so."""
        notes: list[str] = []
        for pause in (*RESTARTS, None):
            try:
                return self._tried(version, notes)
            except PassingError as e:
                if pause is None:
                    return e
                notes.append(f"begun again in a new sandbox: {e.message}")
                time.sleep(pause)
            except (SandboxError, FixtureError) as e:
                return e
        raise AssertionError("the last try returns")

    def _tried(self, version: str, notes: Sequence[str]) -> Trial:
        return try_out(
            self.answer,
            self.line,
            self.benches[version](),
            others=[make for v, make in self.benches.items() if v != version],
            provider=self.tools.provider,
            references=self.tools.references,
            unsafe=self.tools.unsafe,
            notes=(*self.notes, *notes),
        )

    def _of_its_version(self, answer: AnswerResult) -> AnswerResult:
        """Return the result with the version named on which the answer's steps work, if any."""
        for version in reversed(self.benches):
            found = self.attempt(version) if version != answer.version else None
            if isinstance(found, Trial) and judged(found, self.tools.judge).verdict is Verdict.PASS:
                return verdict.of_another_version(answer, version)
        return answer

    def where_documented(self) -> AnswerResult | None:
        """Return the result on the newest version where the reference works, if any."""
        for version in reversed(self.benches):
            found = self.attempt(version)
            if not isinstance(found, Trial) or found.evidence.reference is None:
                continue
            if found.evidence.reference.works:
                return judged(found, self.tools.judge)
        return None


def judged(trial: Trial, judge: Judge, *, elsewhere: AnswerResult | None = None) -> AnswerResult:
    """Return the verdict, after the judge has been asked what no sandbox can tell."""
    opinions = [judge.ask(question) for question in verdict.questions(trial.evidence)]
    return verdict.decide(trial.evidence, opinions, elsewhere=elsewhere)


def unmatched(answer: Answer, line: int, version: str, why: str) -> AnswerResult:
    """Return the result of an answer of which nobody can tell what it is to be compared with."""
    finding = Finding(
        code=Code.UNKNOWN_PROCEDURE,
        message=f"what the answer is about cannot be told: {why}",
        owner=Owner.JUDGE,
        fix="say it in the answers file: `procedure`, or `null` where the documentation is silent",
    )
    return AnswerResult(
        id=answer.id,
        version=version,
        product=answer.product or "",
        procedure=None,
        verdict=Verdict.INCONCLUSIVE,
        owner=Owner.JUDGE,
        line=line,
        findings=(finding,),
        slices=answer.slices,
    )


def broken(answer: Answer, line: int, version: str, error: ProcexecError) -> AnswerResult:
    """Return the result where the test bed failed: verdict error, never a fail."""
    finding = Finding(
        code=Code.TEST_BED, message=error.message, owner=Owner.ENVIRONMENT, fix=error.hint
    )
    return AnswerResult(
        id=answer.id,
        version=version,
        product=answer.product or "",
        procedure=answer.procedure if isinstance(answer.procedure, str) else None,
        verdict=Verdict.ERROR,
        owner=Owner.ENVIRONMENT,
        line=line,
        findings=(finding,),
        slices=answer.slices,
    )
