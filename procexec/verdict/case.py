"""The findings on one answer with a documented procedure, kind by kind."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from procexec.model.alignment import Label, MoveKind
from procexec.model.evidence import Evidence
from procexec.model.question import Opinion
from procexec.model.result import (
    AnswerResult,
    Code,
    Finding,
    Owner,
    Verdict,
)
from procexec.model.run import Ending
from procexec.model.state import GoalFault
from procexec.model.step import AnswerStep
from procexec.verdict.facts import Facts, Run
from procexec.verdict.limits import is_stopped
from procexec.verdict.not_done import NotDone
from procexec.verdict.of_its_own import OfItsOwn
from procexec.verdict.questions import questions
from procexec.verdict.rules import BY_TEXT, FAILS
from procexec.verdict.uncovered import of_opinion
from procexec.verdict.unsafe_steps import UnsafeSteps

_ALWAYS_COUNT = frozenset([Code.WRONG_ORDER, Code.UNSAFE_STEP, Code.NOT_DECLINED])


class Case:
    """The findings on one run, kind by kind."""

    def __init__(self, evidence: Evidence, opinions: Sequence[Opinion]) -> None:
        self.facts = Facts(evidence)
        self.opinions = {opinion.question: opinion for opinion in opinions}
        self.unsafe = UnsafeSteps(self.facts)
        self.not_done = NotDone(self.facts, self.unsafe)
        self.of_its_own = OfItsOwn(self.facts, self.unsafe)

    def findings(self, elsewhere: AnswerResult | None) -> Iterator[Finding]:
        """Yield all findings; where the reference fails, owners are set by who is to blame."""
        own = [*self._counted([*self._own()], [*self._judged()])]
        reference = self.facts.evidence.reference
        if reference is None or reference.works:
            yield from own
            return
        stale = self._stale()
        wrong = [f for f in own if f.code in FAILS and not f.informational]
        if reference.goal_fault is not None:
            yield stale
            yield from self._without_goal(own, reference.goal_fault)
        elif self._works() and not self._breaks_rules(own):
            yield replace(stale, informational=True)
            yield from (f for f in own if f.code not in FAILS)
        elif not wrong:
            yield from own
            if not is_stopped(reference, self.facts.evidence.limits):
                yield replace(stale, informational=True)
        elif self._follows(elsewhere):
            yield stale
            told = [f for f in wrong if f.code not in BY_TEXT]
            yield from (replace(f, owner=Owner.DOCUMENTATION) for f in told)
            yield from (f for f in own if f not in wrong)
        else:
            yield from own
            yield from _told_only_there(elsewhere, own)
            yield replace(stale, informational=True)

    def _without_goal(self, own: list[Finding], fault: GoalFault) -> Iterator[Finding]:
        """Leave out a missed goal where the documentation itself cannot be sure to reach it."""
        kept = fault is GoalFault.HELD_BEFORE
        return (f for f in own if kept or f.code is not Code.GOAL_NOT_REACHED)

    def _own(self) -> Iterator[Finding]:
        yield from self._nothing_to_run()
        yield from self._blocked()
        yield from self._failures()
        yield from self.not_done.order()
        yield from self.not_done.missing()
        yield from self.not_done.values()
        yield from self.of_its_own.invented()
        yield from self.unsafe.findings()
        yield from self._goal()
        yield from self.of_its_own.collateral()

    def _counted(self, found: list[Finding], judged: list[Finding]) -> Iterator[Finding]:
        """Leave out what is only a consequence of a step that could not be run.

        Where nothing else is left, the answer stays open: nobody knows what it comes to.
        """
        if self.facts.open_from is None:
            yield from (*found, *judged)
            return
        place = self.facts.runs[self.facts.open_from].step
        kept = [f for f in found if not self._is_consequence(f, place)]
        yield from (*kept, *judged)
        if len(kept) < len(found) and all(f.informational for f in (*kept, *judged)):
            message = "nobody can tell what comes of it here: the sandbox cannot do it"
            yield self.facts.at(place, Code.NOT_RUNNABLE, message, Owner.ENVIRONMENT)

    def _is_consequence(self, finding: Finding, place: AnswerStep) -> bool:
        earlier = finding.line and (finding.line, finding.column) < (place.line, place.column)
        if finding.code is Code.WRONG_VALUE and finding.line:
            earlier = earlier or (finding.line, finding.column) in self._refused_replies()
        return finding.code in FAILS and finding.code not in _ALWAYS_COUNT and not earlier

    def _refused_replies(self) -> set[tuple[int, int]]:
        """Return the places of replies after which a program asks on, although none is left out."""
        if self.facts.open_from is None:
            return set()
        run = self.facts.runs[self.facts.open_from]
        steps = {
            self.facts.atoms[m.node].step for m in self.facts.moves_of(run.planned.index) if m.node
        }
        left_out = [
            m
            for m in self.facts.moves
            if m.kind is MoveKind.PROCEDURE_ONLY
            and m.label is Label.MISSING
            and m.node is not None
            and self.facts.atoms[m.node].is_input
        ]
        if run.result.ending is not Ending.WAITS_FOR_INPUT or left_out or not steps:
            return set()
        replies = (self.facts.evidence.steps[k] for k in run.planned.reply_steps)
        return {(reply.line, reply.column) for reply in replies}

    def _nothing_to_run(self) -> Iterator[Finding]:
        if self.facts.runs:
            return
        if self.facts.evidence.extraction.declines:
            yield Finding(
                code=Code.MISSING_STEP,
                message="the answer declines although the documentation covers the question",
                owner=Owner.ASSISTANT,
            )
        else:
            yield Finding(
                code=Code.NO_STEPS,
                message="no step was found in the answer",
                owner=Owner.JUDGE,
                fix="look at it with `procexec steps`",
            )

    def _blocked(self) -> Iterator[Finding]:
        for k, run in enumerate(self.facts.runs):
            for blocked in run.planned.blocked:
                if blocked.code is Code.OPEN_QUESTION:
                    continue
                owner = Owner.ENVIRONMENT if blocked.code is Code.NOT_RUNNABLE else Owner.ASSISTANT
                yield self.facts.at(run.step, blocked.code, f"not run: {blocked.reason}", owner)
            if run.result.ending is Ending.WAITS_FOR_INPUT:
                yield self._waits(run)
            elif run.result.ending is Ending.UNCLEAR and not self.facts.is_left_without_a_file(k):
                message = f"where the edit belongs cannot be told: {run.result.note}"
                yield self.facts.at(run.step, Code.AMBIGUOUS_EDIT, message, Owner.ASSISTANT)
            elif words := self.facts.sandbox_stopped(run):
                message = f"the sandbox cannot do it: {words}"
                yield self.facts.at(run.step, Code.NOT_RUNNABLE, message, Owner.ENVIRONMENT)

    def _waits(self, run: Run) -> Finding:
        question = run.result.prompt or "no question was printed"
        message = f"the step waits for input and the answer does not say what to type: {question}"
        finding = self.facts.at(run.step, Code.NEEDS_INPUT, message, Owner.JUDGE)
        return replace(finding, evidence=run.result.output[-1500:])

    def _failures(self) -> Iterator[Finding]:
        for run in self.facts.failed:
            result = run.result
            how = {
                Ending.TIMED_OUT: f"was stopped after {result.duration:.0f} s",
                Ending.OUTPUT_LIMIT: f"printed {result.size_bytes} bytes and was stopped",
                Ending.DISK_LIMIT: "wrote more than the sandbox may hold and was stopped",
                Ending.OUT_OF_MEMORY: "used more memory than the sandbox has and was killed",
                Ending.SANDBOX_DIED: "killed the sandbox",
            }.get(result.ending, f"ended with exit code {result.exit_code}")
            if result.error:
                how = f"told an error: {result.error}"
            finding = self.facts.at(run.step, Code.STEP_FAILED, f"the step {how}", Owner.ASSISTANT)
            yield replace(
                finding,
                evidence=result.output[-1500:],
                step=self.facts.documented(run.planned.index),
                fix=_MORE_MEMORY if result.ending is Ending.OUT_OF_MEMORY else finding.fix,
            )

    def _works(self) -> bool:
        return self.facts.is_right() and not self.facts.failed and self.facts.open_from is None

    def _goal(self) -> Iterator[Finding]:
        if not self.facts.evidence.results or self.facts.end.goal_reached:
            return
        missed = [c for c in self.facts.end.checks if not c.held]
        shown = "\n".join(f"wanted {c.wanted}\nfound {c.found}" for c in missed)
        names = ", ".join(c.id for c in missed) or "the reference's end state"
        yield Finding(
            code=Code.GOAL_NOT_REACHED,
            message=f"the goal is not reached ({names})",
            owner=Owner.ASSISTANT,
            evidence=shown or "\n".join(map(str, self.facts.end.deviations[:8])),
        )

    def _judged(self) -> Iterator[Finding]:
        for question in questions(self.facts.evidence):
            said = self.opinions.get(question.id)
            opinions = [said] if said is not None else []
            about = "whether a manual step is the documented one"
            for finding in of_opinion(opinions, about, Code.INVENTED_STEP):
                line, _, column = question.subject.partition(":")
                yield replace(finding, line=int(line), column=int(column))

    def _stale(self) -> Finding:
        reference = self.facts.evidence.reference
        assert reference is not None
        if reference.goal_fault is not None:
            return Finding(
                code=Code.VACUOUS_GOAL,
                message=reference.goal_told,
                owner=Owner.DOCUMENTATION,
                fix=reference.goal_hint,
            )
        failed = reference.failed_steps
        step = failed[0] if failed else None
        missed = ", ".join(c.id for c in reference.checks if not c.held)
        what = f"its step `{step.text}` fails" if step else f"it misses the goal ({missed})"
        return Finding(
            code=Code.STALE_DOCS,
            message=f"the documented procedure does not work on this version: {what}",
            owner=Owner.DOCUMENTATION,
            step=step.id if step else "",
            command=step.text if step else "",
            evidence=step.output[-1500:] if step else "",
        )

    def _breaks_rules(self, own: list[Finding]) -> bool:
        return any(f.code in (Code.UNSAFE_STEP, Code.COLLATERAL_CHANGE) for f in own)

    def _follows(self, elsewhere: AnswerResult | None) -> bool:
        """Tell whether the answer does what the documentation says."""
        if elsewhere is not None:
            return elsewhere.verdict is Verdict.PASS
        required = [m for m in self.facts.moves if m.label is Label.MISSING]
        other = [m for m in self.facts.moves if m.label in (Label.EXTRA, Label.SUBSTITUTED)]
        return bool(self.facts.moves) and not required and not other


_MORE_MEMORY = "give the sandbox more with `memory:` in sandbox.yaml, if people have more"


def _told_only_there(elsewhere: AnswerResult | None, own: Sequence[Finding]) -> Iterator[Finding]:
    """Yield what an answer does otherwise than documented, as seen where the documentation works."""
    known = {(f.code, f.step) for f in own}
    for finding in elsewhere.findings if elsewhere is not None else ():
        if finding.code in BY_TEXT and (finding.code, finding.step) not in known:
            yield finding
