"""Runs variants through the whole pipeline and tells what came of them."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.mutation.script import Base, Line, Variant, script, ways
from procexec.cli.engine import image_maker, workshop
from procexec.judge.silent import Silent
from procexec.model.document import Answer, Procedure, version_key
from procexec.model.result import AnswerResult, Finding, Verdict
from procexec.model.state import Reference
from procexec.pipeline import Evaluation, Tools
from procexec.read.unsafe import shipped_unsafe
from procexec.reference import References
from procexec.trial import in_its_time
from procexec.workload import Benches, Library


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a variant."""

    variant: Variant
    found: AnswerResult

    @property
    def findings(self) -> list[Finding]:
        return [f for f in self.found.findings if not f.informational]

    @property
    def right(self) -> bool:
        """The verdict is the wanted one: a mutant is killed, a harmless change kept."""
        return self._waits or self.found.verdict.value == self.variant.wanted.verdict

    @property
    def _waits(self) -> bool:
        """The answer leaves a question open, which is as good as a failure here."""
        return self.variant.wanted.or_waits and {f.slug for f in self.findings} == {"needs-input"}

    @property
    def right_owner(self) -> bool:
        return self._waits or self.found.owner.value == self.variant.wanted.owner

    @property
    def right_code(self) -> bool:
        codes = self.variant.wanted.codes
        return self._waits or not codes or any(f.slug in codes for f in self.findings)

    @property
    def right_step(self) -> bool:
        """A finding stands at the fault: it names the step, or lies within its lines."""
        wanted = self.variant.wanted
        if not wanted.steps and not self.variant.spans:
            return True
        return any(self._is_there(f) for f in self.findings)

    def _is_there(self, finding: Finding) -> bool:
        inside = any(first <= finding.line <= last for first, last in self.variant.spans)
        return inside or finding.step in self.variant.wanted.steps


@dataclass(slots=True, kw_only=True)
class Runner:
    """The engine and what is made on it once."""

    library: Library
    benches: Benches
    tools: Tools
    workers: int

    def bases_of(self, procedure: Procedure, *, every: bool) -> list[Base]:
        """Return a procedure's bases: all versions, or the newest that works and one that fails."""
        found = [
            Base(
                procedure=procedure,
                version=version,
                spec=self.library.sandboxes[procedure.product, version].spec,
                reference=self._reference(procedure, version, way),
                way=way,
                lines=script(procedure, version, way),
                others=_others(procedure, version, way),
            )
            for version in sorted(procedure.versions, key=version_key, reverse=True)
            for way in ways(procedure)
        ]
        if every:
            return found
        working = next((b.version for b in found if b.works), None)
        failing = next((b.version for b in found if not b.works), None)
        return [b for b in found if b.version in (working, failing)]

    def _reference(self, procedure: Procedure, version: str, way: dict[str, str]) -> Reference:
        benches = self.benches.of(procedure)
        others = [make for v, make in benches.items() if v != version]
        return in_its_time(benches[version](), others, way, self.tools.references)

    def run(self, variants: Sequence[Variant]) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the variants."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(self._outcome, variants)

    def verdicts(self, base: Base, answers: Sequence[Answer]) -> list[Verdict]:
        """Return the verdict on each answer on the version of a base."""
        with ThreadPoolExecutor(self.workers) as pool:
            return [r.verdict for r in pool.map(lambda a: self._result(a, base), answers)]

    def _outcome(self, variant: Variant) -> Outcome:
        base = variant.base
        answer = Answer(
            id=variant.id.replace("/", "-"),
            answer=variant.text,
            question=next(iter(base.procedure.questions), ""),
            product=base.procedure.product,
            procedure=base.procedure.id,
        )
        return Outcome(variant=variant, found=self._result(answer, base))

    def _result(self, answer: Answer, base: Base) -> AnswerResult:
        evaluation = Evaluation(
            answer=answer, line=1, benches=self.benches.of(base.procedure), tools=self.tools
        )
        return next(iter(evaluation.results([base.version]))).answer


def _others(procedure: Procedure, version: str, way: dict[str, str]) -> tuple[Line, ...]:
    """Return the lines of the branches that are not taken."""
    mine = {line.step for line in script(procedure, version, way)}
    every = {line: None for w in ways(procedure) for line in script(procedure, version, w)}
    return tuple(line for line in every if line.step not in mine)


@contextmanager
def runner(library: Library, workers: int) -> Iterator[Runner]:
    """Give a runner on the engine that is there; nothing is left behind."""
    with workshop(workers=workers) as shop:
        tools = Tools(
            provider=shop.provider,
            references=References(provider=shop.provider),
            judge=Silent(),
            unsafe=shipped_unsafe(),
        )
        benches = Benches(
            library=library,
            provider=shop.provider,
            image=image_maker(shop.client, lambda _line: None),
        )
        yield Runner(library=library, benches=benches, tools=tools, workers=workers)


def procedures_of(library: Library, wanted: Iterable[str]) -> list[Procedure]:
    """Return the procedures of the products, in the order of their ids."""
    chosen = set(wanted)
    return [
        procedure
        for _, procedure in sorted(library.procedures.items())
        if not chosen or procedure.product in chosen or procedure.id in chosen
    ]
