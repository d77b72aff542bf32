"""What is unsafe in an answer, and what of it the documentation tells, too."""

from collections.abc import Iterator
from dataclasses import replace

from procexec.model.document import Severity
from procexec.model.evidence import DocumentedAtom
from procexec.model.result import (
    Code,
    Finding,
    Owner,
)
from procexec.model.step import AnswerStep
from procexec.shell.unsafe import Hit, documented_hits, hits
from procexec.verdict.facts import Facts


class UnsafeSteps:
    """The unsafe steps of one answer."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def has(self, step: AnswerStep) -> bool:
        told = (f for f in self.findings() if not f.informational)
        return any((f.line, f.column) == (step.line, step.column) for f in told)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each step and kind: what is documented so, or no more than a risk,
        is told only.
        """
        for index, step in enumerate(self.facts.evidence.steps):
            told: dict[str, Finding] = {}
            for hit in hits(step.action, self.facts.evidence.unsafe):
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
            finding = self.facts.at(step, Code.RISKY_STEP, message, Owner.DOCUMENTATION)
            return replace(finding, step=atom.step, evidence=kind.source, informational=True)
        code = Code.RISKY_STEP if risk else Code.UNSAFE_STEP
        finding = self.facts.at(step, code, f"{told}: {kind.reason}", Owner.ASSISTANT)
        return replace(finding, evidence=kind.source, informational=risk)

    def _documented_so(self, index: int, hit: Hit) -> DocumentedAtom | None:
        """Return what is documented in an unsafe step's place, or in the same words, if it is as unsafe."""
        nodes = {m.node for m in self.facts.moves_of(index)}
        for atom in self.facts.evidence.documented:
            for known in documented_hits(atom, [hit.kind]):
                if atom.id in nodes or known.words == hit.words:
                    return atom
        return None
