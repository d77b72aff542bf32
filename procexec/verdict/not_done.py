"""What the documentation tells and the answer does not do, or does otherwise."""

import re
from collections.abc import Iterator
from dataclasses import replace

from procexec.model.alignment import Label, Move, MoveKind
from procexec.model.evidence import DocumentedAtom
from procexec.model.result import (
    Code,
    Finding,
    Owner,
)
from procexec.model.state import ReferenceStep
from procexec.model.step import AnswerStep
from procexec.model.words import text_similarity
from procexec.verdict.facts import Facts, changes_text
from procexec.verdict.unsafe_steps import UnsafeSteps

_SAME_COMMAND = 0.6
_OTHERWISE = frozenset([Label.SUBSTITUTED, Label.VARIANT])


class NotDone:
    """The documented steps that are missing, at the wrong place or done otherwise."""

    def __init__(self, facts: Facts, unsafe: UnsafeSteps) -> None:
        self.facts = facts
        self.unsafe = unsafe

    def order(self) -> Iterator[Finding]:
        alignment = self.facts.evidence.alignment
        for move in self.facts.moves:
            if move.kind is not MoveKind.DISPLACED or move.atom is None or move.node is None:
                continue
            assert alignment is not None
            pairs = [pair for pair in alignment.violations if move.node in pair]
            if (
                self.facts.end.equal
                and not self.facts.failed
                and all(map(self._is_doubtful, pairs))
            ):
                continue
            step = self.facts.evidence.steps[alignment.atoms[move.atom].step]
            others = [self.facts.atoms[u if v == move.node else v].text for u, v in pairs]
            against = f" relative to `{others[0]}`" if others else ""
            message = f"the step stands at the wrong place{against}"
            finding = self.facts.at(step, Code.WRONG_ORDER, message, Owner.ASSISTANT)
            yield replace(finding, step=self.facts.atoms[move.node].step)

    def _is_doubtful(self, pair: tuple[str, str]) -> bool:
        """Tell whether only text of another command, which may do more, says what it stands for.

        A step without an effect of its own must be where it is documented all the same.
        """
        reference = self.facts.evidence.reference
        steps = reference.steps if reference is not None and reference.works else ()
        effective = {step.id for step in steps if step.changes}
        return any(
            move.node in pair
            and move.label is Label.SUBSTITUTED
            and self.facts.atoms[move.node].step in effective
            for move in self.facts.moves
            if move.node is not None
        )

    def _unsatisfied(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a documented step is not done: neither by its text nor by its effect.

        Where the procedure as a whole leaves nothing behind, only text tells.
        """
        reference = self.facts.evidence.reference
        if reference is None or not reference.works:
            return move.kind is MoveKind.PROCEDURE_ONLY
        control = next((s for s in reference.steps if s.id == atom.step), None)
        if control is None:
            return move.kind is MoveKind.PROCEDURE_ONLY
        if self.facts.is_shared(control) and not self.facts.end.goal_reached:
            return move.kind is MoveKind.PROCEDURE_ONLY
        if control.changes and reference.changes:
            return self._effect_missing(control)
        if control.moves_shell:
            return not self.facts.end.goal_reached
        if (
            atom.is_file
            and self.facts.end.checks
            and self.facts.end.goal_reached
            and self.facts.end.complete
        ):
            return False  # what the file is for is there, only later steps make it show
        return move.kind is MoveKind.PROCEDURE_ONLY

    def _effect_missing(self, control: ReferenceStep) -> bool:
        if not self.facts.end.undone.get(control.id):
            return False
        touched = control.id not in self.facts.end.untouched
        return not (self.facts.end.checks and self.facts.end.goal_reached and touched)

    def missing(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for move in self.facts.moves if self.facts.runs else ():
            if move.kind is not MoveKind.PROCEDURE_ONLY or move.label is not Label.MISSING:
                continue
            atom = self.facts.atoms[move.node or ""]
            if atom.step in seen or not self._unsatisfied(atom, move):
                continue
            if self._is_set(atom) or self._is_not_asked(atom) or self._is_typed_elsewhere(atom):
                continue
            seen.add(atom.step)
            yield self._left_out(atom)

    def _is_set(self, atom: DocumentedAtom) -> bool:
        """Tell whether a step of the answer sets the variables that a documented one is there for."""
        controls = [
            c
            for c in (self.facts.evidence.reference, self.facts.evidence.elsewhere)
            if c is not None
        ]
        mine = [s for c in controls for s in c.steps if s.id == atom.step]
        return any(
            self.facts.evidence.sets_the_same(k, s)
            for s in mine
            for k in self.facts.evidence.exports
        )

    def _is_typed_elsewhere(self, atom: DocumentedAtom) -> bool:
        """Tell whether the command is there, only not typed into the program that is documented.

        Of what is typed into one program the effect of each command is not known: text tells.
        """
        reference = self.facts.evidence.reference
        controls = reference.steps if reference is not None else ()
        control = next((s for s in controls if s.id == atom.step and self.facts.is_shared(s)), None)
        effect = {change.fact.subject for change in control.changes} if control else set()
        return any(
            run.result.succeeded
            and text_similarity(atom.text, run.planned.text) >= _SAME_COMMAND
            and effect
            & {c.fact.subject for c in self.facts.evidence.effects.get(run.planned.index, ())}
            for run in self.facts.runs
            if all(m.kind is MoveKind.ANSWER_ONLY for m in self.facts.moves_of(run.planned.index))
        )

    def _is_not_asked(self, atom: DocumentedAtom) -> bool:
        """Tell whether a reply is left out because the answer's command does not ask for it.

        Its command ran to its end without a question, in another way than documented.
        """
        order = list(self.facts.atoms.values())
        before = [a for a in order[: order.index(atom)] if not a.is_input]
        if not atom.is_input or not before:
            return False
        mine = [
            run
            for run in self.facts.runs
            for m in self.facts.moves_of(run.planned.index)
            if m.node == before[-1].id and m.label in _OTHERWISE
        ]
        return bool(mine) and all(run.result.succeeded and not run.result.dialogues for run in mine)

    def values(self) -> Iterator[Finding]:
        alignment = self.facts.evidence.alignment
        seen: set[str] = set()
        for move in self.facts.moves:
            if move.label not in (Label.SUBSTITUTED, Label.OTHER_VERSION) or move.atom is None:
                continue
            assert alignment is not None
            atom = self.facts.atoms[move.node or ""]
            if self.facts.is_right() and self._is_equivalent(atom, move):
                continue
            index = alignment.atoms[move.atom].step
            to_blame = self._is_to_blame(atom, index) or self._does_harm_besides(move, index)
            if atom.step in seen or not (to_blame or self._misses_its_object(atom, move)):
                continue
            seen.add(atom.step)
            step = self.facts.evidence.steps[index]
            if self.unsafe.has(step):
                continue
            if self._is_made_up(move, index):
                failed = any(run.planned.index == index for run in self.facts.failed)
                yield from self._made_up(step, atom, does_more=move.added and not failed)
                continue
            old = move.label is Label.OTHER_VERSION
            code = Code.OLD_VERSION_STEP if old else Code.WRONG_VALUE
            told = "the step of another version" if old else f"not as documented: {move.detail}"
            finding = self.facts.at(step, code, told, Owner.ASSISTANT)
            yield replace(finding, step=atom.step, fix=f"documented: {atom.text}")

    def _is_made_up(self, move: Move, index: int) -> bool:
        """Tell whether a substituted step is no wrong version of the documented one but another step.

        It is of another build and fails; or it writes other things to the file; or it does harm by
        options that the documented step does not have.
        """
        failed = any(run.planned.index == index for run in self.facts.failed)
        return (move.reshaped and failed) or move.foreign or self._does_harm_besides(move, index)

    def _does_harm_besides(self, move: Move, index: int) -> bool:
        """Tell whether a step is the documented one with more options, and does harm."""
        return move.added and self.facts.does_harm(index)

    def _made_up(
        self, step: AnswerStep, atom: DocumentedAtom, *, does_more: bool
    ) -> Iterator[Finding]:
        """Yield that a step is none of the program's; and that the documented one is missing.

        But for one that does the documented one's work, and more than that.
        """
        message = f"the documentation has no such step; it has `{atom.text}`"
        yield self.facts.at(step, Code.INVENTED_STEP, message, Owner.ASSISTANT)
        if not does_more:
            yield self._left_out(atom)

    def _left_out(self, atom: DocumentedAtom) -> Finding:
        return Finding(
            code=Code.MISSING_STEP,
            message=f"the documented step `{atom.step}` is not done",
            owner=Owner.ASSISTANT,
            step=atom.step,
            command=atom.text,
            evidence=changes_text(self.facts.end.undone.get(atom.step, ())),
            fix=f"add: {atom.text}",
        )

    def _is_equivalent(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a substituted step does what the documented one is for."""
        if self._contradicts(atom, move) or self._misses_its_object(atom, move):
            return False
        if atom.step in self.facts.end.by_products and self.facts.end.checks:
            return True
        return self._does_its_part(atom) or not self._unsatisfied(atom, move)

    def _does_its_part(self, atom: DocumentedAtom) -> bool:
        """Tell whether part of a step's effect is there: by-products may be missing if a goal tells."""
        reference = self.facts.evidence.reference
        steps = reference.steps if reference is not None and reference.works else ()
        effect = next((s.changes for s in steps if s.id == atom.step), ())
        return bool(self.facts.end.checks) and len(self.facts.end.undone.get(atom.step, ())) < len(
            effect
        )

    def _contradicts(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a value that the question fixes was replaced, and its effect is not there."""
        undone = "\n".join(c.fact.text for c in self.facts.end.undone.get(atom.step, ()))
        words = (rf"(?<![\w.-]){re.escape(value)}(?![\w-])" for value in move.against)
        return any(re.search(word, undone) for word in words)

    def _is_to_blame(self, atom: DocumentedAtom, index: int) -> bool:
        """Tell whether a substituted step failed where the documented one works, or does not do."""
        reference = self.facts.evidence.reference
        controls = reference.steps if reference is not None else ()
        fails_anyway = any(s.id == atom.step and not s.succeeded for s in controls)
        failed = any(run.planned.index == index for run in self.facts.failed)
        undone = self.facts.end.undone.get(atom.step) or self._undone_later(atom)
        missed = bool(self.facts.end.checks) and not self.facts.end.goal_reached
        mine = next((s for s in controls if s.id == atom.step and self.facts.is_shared(s)), None)
        shared = missed and mine is not None and not self._left_out_beside(mine)
        return (failed and not fails_anyway) or bool(undone) or shared

    def _left_out_beside(self, control: ReferenceStep) -> bool:
        """Tell whether another statement with the same effect is left out: that explains enough."""
        reference = self.facts.evidence.reference
        controls = reference.steps if reference is not None else ()
        beside = {s.id for s in controls if s.changes == control.changes}
        return any(
            m.label is Label.MISSING
            and m.node is not None
            and self.facts.atoms[m.node].step in beside
            for m in self.facts.moves
        )

    def _undone_later(self, atom: DocumentedAtom) -> bool:
        """Tell whether what a step is for shows only later, and is not there: the goal is missed."""
        reference = self.facts.evidence.reference
        controls = reference.steps if reference is not None and reference.works else ()
        traceless = any(s.id == atom.step and not s.changes for s in controls)
        names = [s.id for s in controls]
        later = names[names.index(atom.step) + 1 :] if atom.step in names else []
        missed = bool(self.facts.end.checks) and not self.facts.end.goal_reached
        return traceless and missed and any(self.facts.end.undone.get(name) for name in later)

    def _misses_its_object(self, atom: DocumentedAtom, move: Move) -> bool:
        """Tell whether a step that leaves nothing behind is done to something else than asked."""
        reference = self.facts.evidence.reference
        controls = reference.steps if reference is not None and reference.works else ()
        return bool(move.against) and any(
            s.id == atom.step and self.facts.is_traceless(s) and not self._prints_the_same(s, move)
            for s in controls
        )

    def _prints_the_same(self, control: ReferenceStep, move: Move) -> bool:
        """Tell whether a step tells what the documented one tells: then it is about the same object."""
        alignment = self.facts.evidence.alignment
        if alignment is None or move.atom is None:
            return False
        index = alignment.atoms[move.atom].step
        told = [run.result.output.strip() for run in self.facts.runs if run.planned.index == index]
        return bool(control.output.strip()) and told == [control.output.strip()]
