"""What an answer does that nothing documents: made-up steps, collateral changes."""

import re
from collections.abc import Iterator
from dataclasses import replace

from procexec.model.alignment import Label, MoveKind
from procexec.model.result import (
    Code,
    Finding,
    Owner,
)
from procexec.model.state import Change
from procexec.model.step import AnswerStep, Input
from procexec.verdict.facts import Facts, Run, changes_text
from procexec.verdict.unsafe_steps import UnsafeSteps


class OfItsOwn:
    """The steps and changes of an answer that are none of the documentation's."""

    def __init__(self, facts: Facts, unsafe: UnsafeSteps) -> None:
        self.facts = facts
        self.unsafe = unsafe

    def invented(self) -> Iterator[Finding]:
        alignment = self.facts.evidence.alignment
        first_failed = self.facts.failed[0].planned.index if self.facts.failed else None
        led_away, spoilt = self._led_away(), self._spoilt()
        unsafe = {(f.line, f.column) for f in self.unsafe.findings() if not f.informational}
        seen: set[int] = set()
        for move in self.facts.moves:
            if move.kind is not MoveKind.ANSWER_ONLY or move.atom is None:
                continue
            assert alignment is not None
            index = alignment.atoms[move.atom].step
            step = self.facts.evidence.steps[index]
            effect = set(self.facts.evidence.effects.get(index, ()))
            bad = (
                self.facts.does_harm(index)
                or {change.fact.subject for change in effect} & spoilt
                or (index == first_failed and move.label is not Label.CHECK)
                or index in led_away
            )
            known = index in seen or (step.line, step.column) in unsafe
            if known or isinstance(step.action, Input) or not bad:
                continue
            seen.add(index)
            message = "the documentation has no such step"
            yield self.facts.at(step, Code.INVENTED_STEP, message, Owner.ASSISTANT)

    def _spoilt(self) -> set[str]:
        """Return what ends otherwise than documented steps leave it, where the goal is missed."""
        if self.facts.end.goal_reached:
            return set()
        left_out = {
            self.facts.atoms[m.node].step for m in self.facts.moves if m.node and m.atom is None
        }
        undone = {c.fact.subject for name in left_out for c in self.facts.end.undone.get(name, ())}
        return undone | {d.subject for d in self.facts.end.deviations if d.kind == "wrong"}

    def _led_away(self) -> set[int]:
        """Return the undocumented steps that lead to a directory where documented ones do not work."""
        found = set()
        last = None
        cwd = self.facts.evidence.procedure.workdir if self.facts.evidence.procedure else ""
        for run in self.facts.runs:
            if last is not None and self._is_lost(run, cwd):
                found.add(last)
            moves = self.facts.moves_of(run.planned.index)
            extra = all(m.kind is MoveKind.ANSWER_ONLY for m in moves)
            if any(m.label is Label.SUBSTITUTED for m in moves):
                last = None  # what fails behind it may be its doing
            if run.result.cwd and run.result.cwd != cwd:
                last = run.planned.index if extra else None
                cwd = run.result.cwd
        return found

    def _is_lost(self, run: Run, cwd: str) -> bool:
        """Tell whether a documented step is not done because it is run in another directory."""
        reference = self.facts.evidence.reference
        nodes = [m.node for m in self.facts.moves_of(run.planned.index) if m.node is not None]
        names = {self.facts.atoms[node].step for node in nodes}
        controls = reference.steps if reference is not None else ()
        elsewhere = [s for s in controls if s.id in names and s.cwd != cwd]
        if any(m.label is Label.SUBSTITUTED for m in self.facts.moves_of(run.planned.index)):
            return False  # its own words are enough to explain it
        undone = run in self.facts.failed or any(self.facts.end.undone.get(name) for name in names)
        traceless = any(
            self.facts.is_traceless(s) and _names_a_path_from_here(s.text) for s in elsewhere
        )
        return bool(elsewhere) and (undone or traceless)

    def collateral(self) -> Iterator[Finding]:
        harm = [*self.facts.forbidden(), *changes_text(self._collateral_changes()).split("\n")]
        harm = [line for line in harm if line]
        if harm and self.facts.evidence.results:
            message = "the answer changes what the documented procedure leaves alone"
            finding = Finding(code=Code.COLLATERAL_CHANGE, message=message, owner=Owner.ASSISTANT)
            if (step := self._who_does_harm()) is not None:
                finding = self.facts.at(step, Code.COLLATERAL_CHANGE, message, Owner.ASSISTANT)
            yield replace(finding, evidence="\n".join(harm[:12]))

    def _collateral_changes(self) -> tuple[Change, ...]:
        """Return the collateral changes that another finding does not tell already.

        Where the goal is missed, things that the documentation changes, too, are found otherwise
        than it leaves them; and what a documented step that failed leaves behind is half done.
        """
        if self.facts.end.goal_reached:
            return self.facts.harm
        half_done = any(self.facts.documented(run.planned.index) for run in self.facts.failed)
        done = {change for effect in self.facts.evidence.effects.values() for change in effect}
        return tuple(
            change
            for change in self.facts.harm
            if change.fact.subject not in self.facts.end.footprint
            and not (half_done and change not in done)
        )

    def _who_does_harm(self) -> AnswerStep | None:
        """Return the first step that makes one of the collateral changes, as far as is known."""
        harm = set(self.facts.harm)
        effects = sorted(self.facts.evidence.effects.items())
        return next(
            (self.facts.evidence.steps[k] for k, effect in effects if harm & set(effect)), None
        )


def _names_a_path_from_here(text: str) -> bool:
    """Tell whether a command's text means another thing in another directory."""
    words = re.findall(r"""[^\s'"=:;]+""", text)[1:]
    return any(re.fullmatch(r"\.{0,2}[\w-][\w./-]*(?:/[\w.-]*|\.\w{1,4})", word) for word in words)
