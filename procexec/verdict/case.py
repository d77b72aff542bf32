"""The findings on one answer with a documented procedure, kind by kind."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from procexec.model.alignment import Label, Move, MoveKind
from procexec.model.document import Severity
from procexec.model.evidence import DocumentedAtom, EndState, Evidence
from procexec.model.plan import PlannedStep
from procexec.model.question import Opinion
from procexec.model.result import (
    AnswerResult,
    Code,
    Finding,
    Owner,
    Verdict,
)
from procexec.model.run import CommandResult, Ending
from procexec.model.state import Change, GoalFault, ReferenceStep, Sign
from procexec.model.step import AnswerStep, Input
from procexec.shell.unsafe import Hit, documented_hits, hits
from procexec.verdict.limits import is_stopped, limit_told
from procexec.verdict.questions import questions
from procexec.verdict.rules import BY_TEXT, FAILS
from procexec.verdict.uncovered import of_opinion

_OPEN_ENDINGS = frozenset([Ending.WAITS_FOR_INPUT, Ending.UNCLEAR])
_NOT_AS_DOCUMENTED = frozenset([Label.EXTRA, Label.SUBSTITUTED, Label.OTHER_VERSION])
_OTHERWISE = frozenset([Label.SUBSTITUTED, Label.VARIANT])
_ALWAYS_COUNT = frozenset([Code.WRONG_ORDER, Code.UNSAFE_STEP, Code.NOT_DECLINED])


@dataclass(frozen=True, slots=True)
class Run:
    """A planned step with what came of it."""

    planned: PlannedStep
    step: AnswerStep
    result: CommandResult


class Case:
    """The findings on one run, kind by kind."""

    def __init__(self, evidence: Evidence, opinions: Sequence[Opinion]) -> None:
        self.evidence = evidence
        self.opinions = {opinion.question: opinion for opinion in opinions}
        self.end = evidence.end or EndState()
        planned = evidence.plan.steps if evidence.plan else ()
        self.runs = [
            Run(p, evidence.steps[p.index], r)
            for p, r in zip(planned, evidence.results, strict=True)
        ]
        self.moves = evidence.alignment.moves if evidence.alignment else ()
        self.atoms = {atom.id: atom for atom in evidence.documented}
        self.open_from = self._first_open()
        self.failed = [run for run in self.runs if self._has_failed(run)]
        done = self.open_from is None and self.end.goal_reached
        self.harm = (*self.end.collateral, *(self.end.unfinished if done else ()))

    def findings(self, elsewhere: AnswerResult | None) -> Iterator[Finding]:
        """Yield all findings; where the reference fails, owners are set by who is to blame."""
        own = [*self._counted([*self._own()], [*self._judged()])]
        reference = self.evidence.reference
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
            if not is_stopped(reference, self.evidence.limits):
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
        yield from self._order()
        yield from self._missing()
        yield from self._values()
        yield from self._invented()
        yield from self._unsafe()
        yield from self._goal()
        yield from self._collateral()

    # what is open

    def _first_open(self) -> int | None:
        """Return the position of the first step that could not be run to its end, or None."""
        for k, run in enumerate(self.runs):
            if run.planned.blocked or (
                run.result.ending in _OPEN_ENDINGS and not self._is_left_without_a_file(k)
            ):
                return k
            if self._sandbox_stopped(run):
                return k
        return None

    def _is_left_without_a_file(self, position: int) -> bool:
        """Tell whether an edit finds no place because a step before it failed to make one."""
        before = self.runs[:position]
        unclear = self.runs[position].result.ending is Ending.UNCLEAR
        return unclear and any(self._has_failed(run) for run in before)

    def _sandbox_stopped(self, run: Run) -> str:
        """Return the sandbox's limit that a failed step ran into, or nothing."""
        if run.result.exit_code in (None, 0):
            return ""
        return limit_told(run.result.output, self.evidence.limits)

    def _counted(self, found: list[Finding], judged: list[Finding]) -> Iterator[Finding]:
        """Leave out what is only a consequence of a step that could not be run.

        Where nothing else is left, the answer stays open: nobody knows what it comes to.
        """
        if self.open_from is None:
            yield from (*found, *judged)
            return
        place = self.runs[self.open_from].step
        kept = [f for f in found if not self._is_consequence(f, place)]
        yield from (*kept, *judged)
        if len(kept) < len(found) and all(f.informational for f in (*kept, *judged)):
            message = "nobody can tell what comes of it here: the sandbox cannot do it"
            yield self._at(place, Code.NOT_RUNNABLE, message, Owner.ENVIRONMENT)

    def _is_consequence(self, finding: Finding, place: AnswerStep) -> bool:
        earlier = finding.line and (finding.line, finding.column) < (place.line, place.column)
        if finding.code is Code.WRONG_VALUE and finding.line:
            earlier = earlier or (finding.line, finding.column) in self._refused_replies()
        return finding.code in FAILS and finding.code not in _ALWAYS_COUNT and not earlier

    def _refused_replies(self) -> set[tuple[int, int]]:
        """Return the places of replies after which a program asks on, although none is left out."""
        if self.open_from is None:
            return set()
        run = self.runs[self.open_from]
        steps = {self.atoms[m.node].step for m in self._moves_of(run.planned.index) if m.node}
        left_out = [
            m
            for m in self.moves
            if m.kind is MoveKind.PROCEDURE_ONLY
            and m.label is Label.MISSING
            and m.node is not None
            and self.atoms[m.node].is_input
        ]
        if run.result.ending is not Ending.WAITS_FOR_INPUT or left_out or not steps:
            return set()
        replies = (self.evidence.steps[k] for k in run.planned.reply_steps)
        return {(reply.line, reply.column) for reply in replies}

    def _nothing_to_run(self) -> Iterator[Finding]:
        if self.runs:
            return
        if self.evidence.extraction.declines:
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
        for k, run in enumerate(self.runs):
            for blocked in run.planned.blocked:
                if blocked.code is Code.OPEN_QUESTION:
                    continue
                owner = Owner.ENVIRONMENT if blocked.code is Code.NOT_RUNNABLE else Owner.ASSISTANT
                yield self._at(run.step, blocked.code, f"not run: {blocked.reason}", owner)
            if run.result.ending is Ending.WAITS_FOR_INPUT:
                yield self._waits(run)
            elif run.result.ending is Ending.UNCLEAR and not self._is_left_without_a_file(k):
                message = f"where the edit belongs cannot be told: {run.result.note}"
                yield self._at(run.step, Code.AMBIGUOUS_EDIT, message, Owner.ASSISTANT)
            elif words := self._sandbox_stopped(run):
                message = f"the sandbox cannot do it: {words}"
                yield self._at(run.step, Code.NOT_RUNNABLE, message, Owner.ENVIRONMENT)

    def _waits(self, run: Run) -> Finding:
        question = run.result.prompt or "no question was printed"
        message = f"the step waits for input and the answer does not say what to type: {question}"
        finding = self._at(run.step, Code.NEEDS_INPUT, message, Owner.JUDGE)
        return replace(finding, evidence=run.result.output[-1500:])

    # what failed

    def _has_failed(self, run: Run) -> bool:
        result = run.result
        if result.ending is Ending.NOT_RUN or result.ending in _OPEN_ENDINGS:
            return False
        if result.succeeded or run.step.expects_failure or self._sandbox_stopped(run):
            return False
        return not self._fails_when_right(run)

    def _fails_when_right(self, run: Run) -> bool:
        """Tell whether the documented step ends the same way although the reference works."""
        reference = self.evidence.reference
        if reference is None or not reference.works or run.result.exit_code is None:
            return False
        steps = {s.id: s for s in reference.steps}
        matched = [
            steps.get(self.atoms[m.node].step)
            for m in self._moves_of(run.planned.index)
            if m.node is not None and m.kind is not MoveKind.ANSWER_ONLY
        ]
        return any(
            s is not None
            and s.exit_code == run.result.exit_code
            and bool(s.error) == bool(run.result.error)
            for s in matched
        )

    def _moves_of(self, index: int) -> list[Move]:
        alignment = self.evidence.alignment
        if alignment is None:
            return []
        return [
            m for m in self.moves if m.atom is not None and alignment.atoms[m.atom].step == index
        ]

    def _failures(self) -> Iterator[Finding]:
        for run in self.failed:
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
            finding = self._at(run.step, Code.STEP_FAILED, f"the step {how}", Owner.ASSISTANT)
            yield replace(
                finding,
                evidence=result.output[-1500:],
                step=self._documented(run.planned.index),
                fix=_MORE_MEMORY if result.ending is Ending.OUT_OF_MEMORY else finding.fix,
            )

    def _documented(self, index: int) -> str:
        nodes = [m.node for m in self._moves_of(index) if m.node is not None]
        return self.atoms[nodes[0]].step if nodes else ""

    # what is not as documented

    def _order(self) -> Iterator[Finding]:
        alignment = self.evidence.alignment
        for move in self.moves:
            if move.kind is not MoveKind.DISPLACED or move.atom is None or move.node is None:
                continue
            assert alignment is not None
            pairs = [pair for pair in alignment.violations if move.node in pair]
            if self.end.equal and not self.failed and all(map(self._is_doubtful, pairs)):
                continue
            step = self.evidence.steps[alignment.atoms[move.atom].step]
            others = [self.atoms[u if v == move.node else v].text for u, v in pairs]
            against = f" relative to `{others[0]}`" if others else ""
            message = f"the step stands at the wrong place{against}"
            finding = self._at(step, Code.WRONG_ORDER, message, Owner.ASSISTANT)
            yield replace(finding, step=self.atoms[move.node].step)

    def _is_doubtful(self, pair: tuple[str, str]) -> bool:
        """Tell whether only text of another command, which may do more, says what it stands for.

        A step without an effect of its own must be where it is documented all the same.
        """
        reference = self.evidence.reference
        steps = reference.steps if reference is not None and reference.works else ()
        effective = {step.id for step in steps if step.changes}
        return any(
            move.node in pair
            and move.label is Label.SUBSTITUTED
            and self.atoms[move.node].step in effective
            for move in self.moves
            if move.node is not None
        )

    def _unsatisfied(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a documented step is not done: neither by its text nor by its effect.

        Where the procedure as a whole leaves nothing behind, only text tells.
        """
        reference = self.evidence.reference
        if reference is None or not reference.works:
            return move.kind is MoveKind.PROCEDURE_ONLY
        control = next((s for s in reference.steps if s.id == atom.step), None)
        if control is None:
            return move.kind is MoveKind.PROCEDURE_ONLY
        if self._is_shared(control) and not self.end.goal_reached:
            return move.kind is MoveKind.PROCEDURE_ONLY
        if control.changes and reference.changes:
            return self._effect_missing(control)
        if control.moves_shell:
            return not self.end.goal_reached
        if atom.is_file and self.end.checks and self.end.goal_reached and self.end.complete:
            return False  # what the file is for is there, only later steps make it show
        return move.kind is MoveKind.PROCEDURE_ONLY

    def _is_shared(self, control: ReferenceStep) -> bool:
        """Tell whether a step's effect is only known together with that of others: it is typed into
        the same program.
        """
        reference = self.evidence.reference
        others = (s for s in reference.steps if s.id != control.id) if reference else ()
        return bool(control.changes) and any(s.changes == control.changes for s in others)

    def _effect_missing(self, control: ReferenceStep) -> bool:
        if not self.end.undone.get(control.id):
            return False
        touched = control.id not in self.end.untouched
        return not (self.end.checks and self.end.goal_reached and touched)

    def _missing(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for move in self.moves if self.runs else ():
            if move.kind is not MoveKind.PROCEDURE_ONLY or move.label is not Label.MISSING:
                continue
            atom = self.atoms[move.node or ""]
            if atom.step in seen or not self._unsatisfied(atom, move):
                continue
            if self._is_set(atom) or self._is_not_asked(atom):
                continue
            seen.add(atom.step)
            yield self._left_out(atom)

    def _is_set(self, atom: DocumentedAtom) -> bool:
        """Tell whether a step of the answer sets the variables that a documented one is there for."""
        controls = [c for c in (self.evidence.reference, self.evidence.elsewhere) if c is not None]
        mine = [s for c in controls for s in c.steps if s.id == atom.step]
        return any(self.evidence.sets_the_same(k, s) for s in mine for k in self.evidence.exports)

    def _is_not_asked(self, atom: DocumentedAtom) -> bool:
        """Tell whether a reply is left out because the answer's command does not ask for it.

        Its command ran to its end without a question, in another way than documented.
        """
        order = list(self.atoms.values())
        before = [a for a in order[: order.index(atom)] if not a.is_input]
        if not atom.is_input or not before:
            return False
        mine = [
            run
            for run in self.runs
            for m in self._moves_of(run.planned.index)
            if m.node == before[-1].id and m.label in _OTHERWISE
        ]
        return bool(mine) and all(run.result.succeeded and not run.result.dialogues for run in mine)

    def _values(self) -> Iterator[Finding]:
        alignment = self.evidence.alignment
        seen: set[str] = set()
        for move in self.moves:
            if move.label not in (Label.SUBSTITUTED, Label.OTHER_VERSION) or move.atom is None:
                continue
            assert alignment is not None
            atom = self.atoms[move.node or ""]
            if self._is_right() and self._is_equivalent(atom, move):
                continue
            to_blame = self._is_to_blame(atom, alignment.atoms[move.atom].step)
            if atom.step in seen or not (to_blame or self._misses_its_object(atom, move)):
                continue
            seen.add(atom.step)
            index = alignment.atoms[move.atom].step
            step = self.evidence.steps[index]
            if self._is_unsafe(step):
                continue
            if self._is_made_up(move, index):
                yield from self._made_up(step, atom)
                continue
            old = move.label is Label.OTHER_VERSION
            code = Code.OLD_VERSION_STEP if old else Code.WRONG_VALUE
            told = "the step of another version" if old else f"not as documented: {move.detail}"
            finding = self._at(step, code, told, Owner.ASSISTANT)
            yield replace(finding, step=atom.step, fix=f"documented: {atom.text}")

    def _is_made_up(self, move: Move, index: int) -> bool:
        """Tell whether a substituted step is no wrong version of the documented one but another step.

        It is of another build and fails; or it writes other things to the file; or it does harm by
        options that the documented step does not have.
        """
        failed = any(run.planned.index == index for run in self.failed)
        harmful = bool(move.added) and self._does_harm(index)
        return (move.reshaped and failed) or move.foreign or harmful

    def _does_harm(self, index: int) -> bool:
        """Tell whether a step makes a collateral change, or what must stay is not there after it."""
        effect = set(self.evidence.effects.get(index, ()))
        return bool(effect & set(self.harm)) or index in self._breakers()

    def _breakers(self) -> set[int]:
        """Return the steps that break what must stay: those that change a path which a check names.

        Where no step does, it is the only one that is not as documented, if there is only one.
        """
        broken = [c.wanted for c in self.end.forbidden if not c.held]
        named = {
            index
            for index, effect in self.evidence.effects.items()
            if any(_is_named(c.fact.subject, told) for told in broken for c in effect)
        }
        alignment = self.evidence.alignment
        other = {
            alignment.atoms[m.atom].step
            for m in self.moves
            if alignment is not None and m.atom is not None and m.label in _NOT_AS_DOCUMENTED
        }
        return named or (other if broken and len(other) == 1 else set())

    def _is_unsafe(self, step: AnswerStep) -> bool:
        told = (f for f in self._unsafe() if not f.informational)
        return any((f.line, f.column) == (step.line, step.column) for f in told)

    def _made_up(self, step: AnswerStep, atom: DocumentedAtom) -> Iterator[Finding]:
        """Yield that a step is none of the program's, and that the documented one is missing."""
        message = f"the documentation has no such step; it has `{atom.text}`"
        yield self._at(step, Code.INVENTED_STEP, message, Owner.ASSISTANT)
        yield self._left_out(atom)

    def _left_out(self, atom: DocumentedAtom) -> Finding:
        return Finding(
            code=Code.MISSING_STEP,
            message=f"the documented step `{atom.step}` is not done",
            owner=Owner.ASSISTANT,
            step=atom.step,
            command=atom.text,
            evidence=_changes_text(self.end.undone.get(atom.step, ())),
            fix=f"add: {atom.text}",
        )

    def _is_equivalent(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a substituted step does what the documented one is for."""
        if self._contradicts(atom, move) or self._misses_its_object(atom, move):
            return False
        if atom.step in self.end.by_products and self.end.checks:
            return True
        return self._does_its_part(atom) or not self._unsatisfied(atom, move)

    def _does_its_part(self, atom: DocumentedAtom) -> bool:
        """Tell whether part of a step's effect is there: by-products may be missing if a goal tells."""
        reference = self.evidence.reference
        steps = reference.steps if reference is not None and reference.works else ()
        effect = next((s.changes for s in steps if s.id == atom.step), ())
        return bool(self.end.checks) and len(self.end.undone.get(atom.step, ())) < len(effect)

    def _contradicts(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a value that the question fixes was replaced, and its effect is not there."""
        undone = "\n".join(c.fact.text for c in self.end.undone.get(atom.step, ()))
        words = (rf"(?<![\w.-]){re.escape(value)}(?![\w-])" for value in move.against)
        return any(re.search(word, undone) for word in words)

    def _is_right(self) -> bool:
        return self.end.goal_reached and not self.harm and not self._forbidden()

    def _is_to_blame(self, atom: DocumentedAtom, index: int) -> bool:
        """Tell whether a substituted step failed where the documented one works, or does not do."""
        reference = self.evidence.reference
        controls = reference.steps if reference is not None else ()
        fails_anyway = any(s.id == atom.step and not s.succeeded for s in controls)
        failed = any(run.planned.index == index for run in self.failed)
        undone = self.end.undone.get(atom.step) or self._undone_later(atom)
        missed = bool(self.end.checks) and not self.end.goal_reached
        mine = next((s for s in controls if s.id == atom.step and self._is_shared(s)), None)
        shared = missed and mine is not None and not self._left_out_beside(mine)
        return (failed and not fails_anyway) or bool(undone) or shared or self._does_harm(index)

    def _left_out_beside(self, control: ReferenceStep) -> bool:
        """Tell whether another statement with the same effect is left out: that explains enough."""
        reference = self.evidence.reference
        controls = reference.steps if reference is not None else ()
        beside = {s.id for s in controls if s.changes == control.changes}
        return any(
            m.label is Label.MISSING and m.node is not None and self.atoms[m.node].step in beside
            for m in self.moves
        )

    def _undone_later(self, atom: DocumentedAtom) -> bool:
        """Tell whether what a step is for shows only later, and is not there: the goal is missed."""
        reference = self.evidence.reference
        controls = reference.steps if reference is not None and reference.works else ()
        traceless = any(s.id == atom.step and not s.changes for s in controls)
        names = [s.id for s in controls]
        later = names[names.index(atom.step) + 1 :] if atom.step in names else []
        missed = bool(self.end.checks) and not self.end.goal_reached
        return traceless and missed and any(self.end.undone.get(name) for name in later)

    def _invented(self) -> Iterator[Finding]:
        alignment = self.evidence.alignment
        first_failed = self.failed[0].planned.index if self.failed else None
        led_away, spoilt = self._led_away(), self._spoilt()
        unsafe = {(f.line, f.column) for f in self._unsafe() if not f.informational}
        seen: set[int] = set()
        for move in self.moves:
            if move.kind is not MoveKind.ANSWER_ONLY or move.atom is None:
                continue
            assert alignment is not None
            index = alignment.atoms[move.atom].step
            step = self.evidence.steps[index]
            effect = set(self.evidence.effects.get(index, ()))
            bad = (
                self._does_harm(index)
                or {change.fact.subject for change in effect} & spoilt
                or (index == first_failed and move.label is not Label.CHECK)
                or index in led_away
            )
            known = index in seen or (step.line, step.column) in unsafe
            if known or isinstance(step.action, Input) or not bad:
                continue
            seen.add(index)
            message = "the documentation has no such step"
            yield self._at(step, Code.INVENTED_STEP, message, Owner.ASSISTANT)

    def _spoilt(self) -> set[str]:
        """Return what ends otherwise than documented steps leave it, where the goal is missed."""
        if self.end.goal_reached:
            return set()
        left_out = {self.atoms[m.node].step for m in self.moves if m.node and m.atom is None}
        undone = {c.fact.subject for name in left_out for c in self.end.undone.get(name, ())}
        return undone | {d.subject for d in self.end.deviations if d.kind == "wrong"}

    def _led_away(self) -> set[int]:
        """Return the undocumented steps that lead to a directory where documented ones do not work."""
        found = set()
        last = None
        cwd = self.evidence.procedure.workdir if self.evidence.procedure else ""
        for run in self.runs:
            if last is not None and self._is_lost(run, cwd):
                found.add(last)
            moves = self._moves_of(run.planned.index)
            extra = all(m.kind is MoveKind.ANSWER_ONLY for m in moves)
            if run.result.cwd and run.result.cwd != cwd:
                last = run.planned.index if extra else None
                cwd = run.result.cwd
        return found

    def _is_lost(self, run: Run, cwd: str) -> bool:
        """Tell whether a documented step is not done because it is run in another directory."""
        reference = self.evidence.reference
        nodes = [m.node for m in self._moves_of(run.planned.index) if m.node is not None]
        names = {self.atoms[node].step for node in nodes}
        controls = reference.steps if reference is not None else ()
        elsewhere = [s for s in controls if s.id in names and s.cwd != cwd]
        if any(m.label is Label.SUBSTITUTED for m in self._moves_of(run.planned.index)):
            return False  # its own words are enough to explain it
        undone = run in self.failed or any(self.end.undone.get(name) for name in names)
        traceless = any(
            self._is_traceless(s) and _names_a_path_from_here(s.text) for s in elsewhere
        )
        return bool(elsewhere) and (undone or traceless)

    def _is_traceless(self, control: ReferenceStep) -> bool:
        """Tell whether a required step leaves nothing behind: only its text tells that it is done."""
        required = any(a.step == control.id and a.required for a in self.atoms.values())
        return required and not control.changes and not control.moves_shell

    def _misses_its_object(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a step that leaves nothing behind is done to something else than asked."""
        reference = self.evidence.reference
        controls = reference.steps if reference is not None and reference.works else ()
        return bool(move.against) and any(
            s.id == atom.step and self._is_traceless(s) and not self._prints_the_same(s, move)
            for s in controls
        )

    def _prints_the_same(self, control: ReferenceStep, move: Move) -> bool:
        """Tell whether a step tells what the documented one tells: then it is about the same object."""
        alignment = self.evidence.alignment
        if alignment is None or move.atom is None:
            return False
        index = alignment.atoms[move.atom].step
        told = [run.result.output.strip() for run in self.runs if run.planned.index == index]
        return bool(control.output.strip()) and told == [control.output.strip()]

    def _unsafe(self) -> Iterator[Finding]:
        """Yield a finding for each step and kind: what is documented so, or no more than a risk,
        is told only.
        """
        for index, step in enumerate(self.evidence.steps):
            told: dict[str, Finding] = {}
            for hit in hits(step.action, self.evidence.unsafe):
                finding = self._of_hit(step, hit, self._documented_so(index, hit))
                if hit.kind.name not in told or not finding.informational:
                    told[hit.kind.name] = finding
            yield from told.values()

    def _of_hit(self, step: AnswerStep, hit: Hit, atom: DocumentedAtom | None) -> Finding:
        kind = hit.kind
        risk = kind.severity is Severity.WARN
        told = f"{'a risk' if risk else 'unsafe'} ({kind.name})"
        if atom is not None:
            message = f"{told}, but documented so: {kind.reason}"
            finding = self._at(step, Code.RISKY_STEP, message, Owner.DOCUMENTATION)
            return replace(finding, step=atom.step, evidence=kind.source, informational=True)
        code = Code.RISKY_STEP if risk else Code.UNSAFE_STEP
        finding = self._at(step, code, f"{told}: {kind.reason}", Owner.ASSISTANT)
        return replace(finding, evidence=kind.source, informational=risk)

    def _documented_so(self, index: int, hit: Hit) -> DocumentedAtom | None:
        """Return what is documented in an unsafe step's place, or in the same words, if it is as unsafe."""
        nodes = {m.node for m in self._moves_of(index)}
        for atom in self.evidence.documented:
            for known in documented_hits(atom, [hit.kind]):
                if atom.id in nodes or known.words == hit.words:
                    return atom
        return None

    # what is left behind

    def _forbidden(self) -> list[str]:
        return [f"must stay {c.wanted}; found {c.found}" for c in self.end.forbidden if not c.held]

    def _works(self) -> bool:
        return self._is_right() and not self.failed and self.open_from is None

    def _goal(self) -> Iterator[Finding]:
        if not self.evidence.results or self.end.goal_reached:
            return
        missed = [c for c in self.end.checks if not c.held]
        shown = "\n".join(f"wanted {c.wanted}\nfound {c.found}" for c in missed)
        names = ", ".join(c.id for c in missed) or "the reference's end state"
        yield Finding(
            code=Code.GOAL_NOT_REACHED,
            message=f"the goal is not reached ({names})",
            owner=Owner.ASSISTANT,
            evidence=shown or "\n".join(map(str, self.end.deviations[:8])),
        )

    def _collateral(self) -> Iterator[Finding]:
        harm = [*self._forbidden(), *_changes_text(self._collateral_changes()).split("\n")]
        harm = [line for line in harm if line]
        if harm and self.evidence.results:
            message = "the answer changes what the documented procedure leaves alone"
            finding = Finding(code=Code.COLLATERAL_CHANGE, message=message, owner=Owner.ASSISTANT)
            if (step := self._who_does_harm()) is not None:
                finding = self._at(step, Code.COLLATERAL_CHANGE, message, Owner.ASSISTANT)
            yield replace(finding, evidence="\n".join(harm[:12]))

    def _collateral_changes(self) -> tuple[Change, ...]:
        """Return the collateral changes that another finding does not tell already.

        Where the goal is missed, things that the documentation changes, too, are found otherwise
        than it leaves them; and what a documented step that failed leaves behind is half done.
        """
        if self.end.goal_reached:
            return self.harm
        half_done = any(self._documented(run.planned.index) for run in self.failed)
        done = {change for effect in self.evidence.effects.values() for change in effect}
        return tuple(
            change
            for change in self.harm
            if change.fact.subject not in self.end.footprint
            and not (half_done and change not in done)
        )

    def _who_does_harm(self) -> AnswerStep | None:
        """Return the first step that makes one of the collateral changes, as far as is known."""
        harm = set(self.harm)
        effects = sorted(self.evidence.effects.items())
        return next((self.evidence.steps[k] for k, effect in effects if harm & set(effect)), None)

    def _judged(self) -> Iterator[Finding]:
        for question in questions(self.evidence):
            said = self.opinions.get(question.id)
            opinions = [said] if said is not None else []
            about = "whether a manual step is the documented one"
            for finding in of_opinion(opinions, about, Code.INVENTED_STEP):
                line, _, column = question.subject.partition(":")
                yield replace(finding, line=int(line), column=int(column))

    # the documentation

    def _stale(self) -> Finding:
        reference = self.evidence.reference
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
        required = [m for m in self.moves if m.label is Label.MISSING]
        other = [m for m in self.moves if m.label in (Label.EXTRA, Label.SUBSTITUTED)]
        return bool(self.moves) and not required and not other

    def _at(self, step: AnswerStep, code: Code, message: str, owner: Owner) -> Finding:
        return Finding(
            code=code,
            message=message,
            owner=owner,
            line=step.line,
            column=step.column,
            command=step.action.text,
        )


_MORE_MEMORY = "give the sandbox more with `memory:` in sandbox.yaml, if people have more"


def _told_only_there(elsewhere: AnswerResult | None, own: Sequence[Finding]) -> Iterator[Finding]:
    """Yield what an answer does otherwise than documented, as seen where the documentation works."""
    known = {(f.code, f.step) for f in own}
    for finding in elsewhere.findings if elsewhere is not None else ():
        if finding.code in BY_TEXT and (finding.code, finding.step) not in known:
            yield finding


def _names_a_path_from_here(text: str) -> bool:
    """Tell whether a command's text means another thing in another directory."""
    words = re.findall(r"""[^\s'"=:;]+""", text)[1:]
    return any(re.fullmatch(r"\.{0,2}[\w-][\w./-]*(?:/[\w.-]*|\.\w{1,4})", word) for word in words)


def _is_named(path: str, told: str) -> bool:
    """Tell whether a text names a path: as it is, or from its user's home folder."""
    names = [path]
    if m := re.match(r"(?:/root|/home/[^/]+)/(?P<rest>.+)", path):
        names += [f"~/{m['rest']}", f"$HOME/{m['rest']}"]
    return any(re.search(rf"(?<![\w./~-]){re.escape(n)}(?![\w/-])", told) for n in names)


def _changes_text(changes: Sequence[Change]) -> str:
    signs = {Sign.ADDED: "+", Sign.REMOVED: "-"}
    return "\n".join(f"{signs[c.sign]} {c.fact.subject}: {c.fact.text}" for c in changes)
