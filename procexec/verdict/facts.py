"""What all findings on one answer start from: its steps, what came of them, who does the harm."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from procexec.model.alignment import Label, Move, MoveKind
from procexec.model.evidence import EndState, Evidence
from procexec.model.plan import PlannedStep
from procexec.model.result import (
    Code,
    Finding,
    Owner,
)
from procexec.model.run import CommandResult, Ending
from procexec.model.state import Change, ReferenceStep, Sign
from procexec.model.step import AnswerStep
from procexec.verdict.limits import limit_told

_OPEN_ENDINGS = frozenset([Ending.WAITS_FOR_INPUT, Ending.UNCLEAR])
_NOT_AS_DOCUMENTED = frozenset([Label.EXTRA, Label.SUBSTITUTED, Label.OTHER_VERSION])


@dataclass(frozen=True, slots=True)
class Run:
    """A planned step with what came of it."""

    planned: PlannedStep
    step: AnswerStep
    result: CommandResult


class Facts:
    """One run of an answer beside its procedure."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.end = evidence.end or EndState()
        planned = evidence.plan.steps if evidence.plan else ()
        self.runs = [
            Run(p, evidence.steps[p.index], r)
            for p, r in zip(planned, evidence.results, strict=True)
        ]
        self.moves = evidence.alignment.moves if evidence.alignment else ()
        self.atoms = {atom.id: atom for atom in evidence.documented}
        self.open_from = self.first_open()
        self.failed = [run for run in self.runs if self.has_failed(run)]
        done = self.open_from is None and self.end.goal_reached
        self.harm = (*self.end.collateral, *(self.end.unfinished if done else ()))

    def first_open(self) -> int | None:
        """Return the position of the first step that could not be run to its end, or None."""
        for k, run in enumerate(self.runs):
            if run.planned.blocked or (
                run.result.ending in _OPEN_ENDINGS and not self.is_left_without_a_file(k)
            ):
                return k
            if self.sandbox_stopped(run):
                return k
        return None

    def is_left_without_a_file(self, position: int) -> bool:
        """Tell whether an edit finds no place because a step before it failed to make one."""
        before = self.runs[:position]
        unclear = self.runs[position].result.ending is Ending.UNCLEAR
        return unclear and any(self.has_failed(run) for run in before)

    def sandbox_stopped(self, run: Run) -> str:
        """Return the sandbox's limit that a failed step ran into, or nothing."""
        if run.result.exit_code in (None, 0):
            return ""
        return limit_told(run.result.output, self.evidence.limits)

    def has_failed(self, run: Run) -> bool:
        result = run.result
        if result.ending is Ending.NOT_RUN or result.ending in _OPEN_ENDINGS:
            return False
        if result.succeeded or run.step.expects_failure or self.sandbox_stopped(run):
            return False
        return not self.fails_when_right(run)

    def fails_when_right(self, run: Run) -> bool:
        """Tell whether the documented step ends the same way although the reference works."""
        reference = self.evidence.reference
        if reference is None or not reference.works or run.result.exit_code is None:
            return False
        steps = {s.id: s for s in reference.steps}
        matched = [
            steps.get(self.atoms[m.node].step)
            for m in self.moves_of(run.planned.index)
            if m.node is not None and m.kind is not MoveKind.ANSWER_ONLY
        ]
        return any(
            s is not None
            and s.exit_code == run.result.exit_code
            and bool(s.error) == bool(run.result.error)
            for s in matched
        )

    def moves_of(self, index: int) -> list[Move]:
        alignment = self.evidence.alignment
        if alignment is None:
            return []
        return [
            m for m in self.moves if m.atom is not None and alignment.atoms[m.atom].step == index
        ]

    def documented(self, index: int) -> str:
        nodes = [m.node for m in self.moves_of(index) if m.node is not None]
        return self.atoms[nodes[0]].step if nodes else ""

    def is_shared(self, control: ReferenceStep) -> bool:
        """Tell whether a step's effect is only known together with that of others: it is typed into
        the same program.
        """
        reference = self.evidence.reference
        others = (s for s in reference.steps if s.id != control.id) if reference else ()
        return bool(control.changes) and any(s.changes == control.changes for s in others)

    def does_harm(self, index: int) -> bool:
        """Tell whether a step makes a collateral change, or what must stay is not there after it."""
        effect = set(self.evidence.effects.get(index, ()))
        return bool(effect & set(self.harm)) or index in self.breakers()

    def breakers(self) -> set[int]:
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

    def is_right(self) -> bool:
        return self.end.goal_reached and not self.harm and not self.forbidden()

    def is_traceless(self, control: ReferenceStep) -> bool:
        """Tell whether a required step leaves nothing behind: only its text tells that it is done."""
        required = any(a.step == control.id and a.required for a in self.atoms.values())
        return required and not control.changes and not control.moves_shell

    def forbidden(self) -> list[str]:
        return [f"must stay {c.wanted}; found {c.found}" for c in self.end.forbidden if not c.held]

    def at(self, step: AnswerStep, code: Code, message: str, owner: Owner) -> Finding:
        return Finding(
            code=code,
            message=message,
            owner=owner,
            line=step.line,
            column=step.column,
            command=step.action.text,
        )


def _is_named(path: str, told: str) -> bool:
    """Tell whether a text names a path: as it is, or from its user's home folder."""
    names = [path]
    if m := re.match(r"(?:/root|/home/[^/]+)/(?P<rest>.+)", path):
        names += [f"~/{m['rest']}", f"$HOME/{m['rest']}"]
    return any(re.search(rf"(?<![\w./~-]){re.escape(n)}(?![\w/-])", told) for n in names)


def changes_text(changes: Sequence[Change]) -> str:
    signs = {Sign.ADDED: "+", Sign.REMOVED: "-"}
    return "\n".join(f"{signs[c.sign]} {c.fact.subject}: {c.fact.text}" for c in changes)
