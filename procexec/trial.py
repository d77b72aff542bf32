"""One answer on one version: extract, align, execute, compare; evidence out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from procexec.align.alignment import Documented, align, documented
from procexec.compare.comparison import Comparison, Ground, compare, deviations
from procexec.compare.facts import changes, subjects
from procexec.compare.mask import Normaliser
from procexec.compare.observe import observe
from procexec.errors import PassingError, WreckedError
from procexec.execute.plan import plan
from procexec.execute.replay import Replay, replay
from procexec.execute.values import KnownValues, bound_by_lines
from procexec.extract.extraction import extract
from procexec.extract.hints import Hints
from procexec.model.alignment import Alignment, Label, Move, MoveKind
from procexec.model.document import Answer, Procedure, SandboxSpec, Unsafe
from procexec.model.evidence import DocumentedAtom, EndState, Evidence
from procexec.model.plan import Plan
from procexec.model.run import Ending, Event
from procexec.model.state import Change, ObservedState, Reference, Sign
from procexec.model.step import Action, AnswerStep, AtomKind, FileEdit, FileWrite
from procexec.reference import Bench, References, exported, knowledge_of
from procexec.sandbox import Sandbox, SandboxProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """An answer's evidence on one version, and the terminal as it was seen."""

    evidence: Evidence
    events: tuple[Event, ...] = ()


def hints_of(spec: SandboxSpec) -> Hints:
    """Return what the extractor may know of a product."""
    return Hints(
        programs=frozenset([spec.product, *spec.options, *(s.program for s in spec.sessions)]),
        sessions=spec.sessions,
        prompts=tuple(prompt.pattern for prompt in spec.prompts),
        editors=spec.editors,
        options=spec.options,
    )


def document(procedure: Procedure, version: str, spec: SandboxSpec) -> Documented:
    """Return a procedure ready for alignment on one version."""
    return documented(procedure, version, knowledge_of(procedure, spec))


def try_out(
    answer: Answer,
    line: int,
    bench: Bench,
    *,
    others: Sequence[Callable[[], Bench]] = (),
    provider: SandboxProvider,
    references: References,
    unsafe: Sequence[Unsafe],
    notes: tuple[str, ...] = (),
) -> Trial:
    """Extract, align, execute and compare one answer on one version.

    ``others`` make the procedure's other versions, oldest first: where the documentation fails on this one, they
    tell what it changes when it works.

    Raises:
        SandboxError: the test bed failed; nothing is known about the answer.
    """
    doc = document(bench.procedure, bench.version, bench.spec)
    extraction = extract(answer.answer, hints_of(bench.spec))
    alignment = align([step.action for step in extraction.steps], doc)
    planned = plan(
        extraction.steps,
        alignment,
        _values(answer, bench.procedure, alignment, extraction.steps),
        bench.knowledge,
    )
    reference = in_its_time(bench, others, alignment.branches, references)
    evidence = Evidence(
        answer=answer,
        line=line,
        version=bench.version,
        procedure=bench.procedure,
        extraction=extraction,
        alignment=alignment,
        documented=documented_atoms(doc),
        plan=planned,
        reference=reference,
        elsewhere=_control_elsewhere(others, reference, alignment.branches, references),
        unsafe=(*unsafe, *bench.spec.unsafe),
        limits=bench.spec.limits,
        notes=notes,
    )
    return _executed(evidence, planned, reference, bench, provider)


def in_its_time(
    bench: Bench,
    others: Sequence[Callable[[], Bench]],
    branches: dict[str, str],
    references: References,
) -> Reference:
    """Return a reference; one whose required steps fail here but not on another version is outdated.

    A step that ends with an error on every version is meant to.
    """
    reference = references.get(bench, branches)
    required = {step.id for step in bench.procedure.steps if step.required}
    failed = [step.id for step in reference.failed_steps if step.id in required]
    if not failed or not reference.works:
        return reference
    for other in reversed(others):
        there = {s.id for s in references.get(other(), branches).steps if s.succeeded}
        if there & set(failed):
            return replace(reference, outdated=True)
    return reference


def _control_elsewhere(
    others: Sequence[Callable[[], Bench]],
    reference: Reference,
    branches: dict[str, str],
    references: References,
) -> Reference | None:
    """Return the control of the newest version that works, where this version's does not."""
    if reference.works:
        return None
    controls = (references.get(other(), branches) for other in reversed(others))
    return next((control for control in controls if control.works), None)


def _executed(
    evidence: Evidence,
    planned: Plan,
    reference: Reference,
    bench: Bench,
    provider: SandboxProvider,
) -> Trial:
    procedure = bench.procedure
    texts = [step.text for step in planned.steps if not step.blocked]
    with provider.start(bench.request(evidence.answer.id, texts)) as sandbox:
        done = replay(
            planned,
            sandbox,
            timeout=bench.spec.step_timeout,
            observe=lambda: _seen_on_the_way(sandbox, bench),
            start=reference.fixture,
            user=bench.procedure.user,
        )
        blame_no_one_for_slowness(evidence, done, bench.spec.step_timeout)
        end = ObservedState()
        if not done.died:
            try:
                end = observe(sandbox, bench.look(*procedure.goal, *procedure.must_not))
            except WreckedError as e:
                if not done.ran:
                    raise
                done = done.wrecked(e.message)
    normaliser = _normaliser(evidence, procedure)
    elsewhere = evidence.elsewhere
    allowed = subjects(elsewhere.changes) if elsewhere is not None else None
    return Trial(
        evidence=replace(
            evidence,
            results=done.results,
            effects=_effects(done, bench, normaliser),
            exports={index: exported(watched) for index, watched in done.watched.items()},
            end=None if done.died else _end_state(end, reference, bench, normaliser, allowed),
        ),
        events=done.events,
    )


def blame_no_one_for_slowness(evidence: Evidence, done: Replay, limit: float) -> None:
    """Give up where all is as documented up to a step that takes too long only here.

    Raises:
        PassingError: the step did end in the reference run, so the machine is too busy.
    """
    late = next((k for k, r in enumerate(done.results) if r.ending is Ending.TIMED_OUT), None)
    if late is None or evidence.plan is None or evidence.reference is None:
        return
    moves = _moves_up_to(evidence, evidence.plan.steps[late].index)
    steps = {atom.id: atom.step for atom in evidence.documented}
    name = steps.get(moves[-1].node or "", "") if moves else ""
    control = next((s for s in evidence.reference.steps if s.id == name), None)
    usual = all(
        move.label in _AS_DOCUMENTED and move.kind is not MoveKind.DISPLACED for move in moves
    )
    if control is not None and control.succeeded and usual:
        raise PassingError(
            f"the documented step `{name}` did not end within {limit:.0f} s, "
            "although it did in the reference run",
            hint="the machine is too busy: fewer --jobs, or a longer step_timeout in sandbox.yaml",
        )


def _moves_up_to(evidence: Evidence, index: int) -> list[Move]:
    """Return the moves of the answer up to a step, and what is left out before it."""
    alignment = evidence.alignment
    assert alignment is not None
    done = [
        m for m in alignment.moves if m.atom is not None and alignment.atoms[m.atom].step <= index
    ]
    order = [atom.id for atom in evidence.documented]
    last = max((order.index(m.node) for m in done if m.node is not None), default=0)
    left_out = [
        m
        for m in alignment.moves
        if m.label is Label.MISSING and m.node is not None and order.index(m.node) < last
    ]
    return [*left_out, *done]


_AS_DOCUMENTED = frozenset([Label.MATCHED, Label.VARIANT, Label.CHECK])


def _seen_on_the_way(sandbox: Sandbox, bench: Bench) -> ObservedState:
    """Return the state between steps; nothing of a sandbox that the steps wrecked."""
    try:
        return observe(sandbox, bench.look())
    except WreckedError:
        return ObservedState()


def _values(
    answer: Answer, procedure: Procedure, alignment: Alignment, steps: Sequence[AnswerStep]
) -> KnownValues:
    named = {**procedure.free, **procedure.given, **answer.values}
    names = dict.fromkeys(name for step in steps for name in step.placeholders)
    mine = (line for step in steps for line in _lines(step.action))
    theirs = (
        line
        for step in procedure.steps
        for line in (step.file.content if step.file else str(step.run or "")).split("\n")
    )
    return KnownValues(
        named={name: str(value) for name, value in named.items()},
        bound=bound_by_lines(names, mine, theirs) | alignment.bindings,
        question=answer.question,
    )


def _lines(action: Action) -> list[str]:
    text = action.content if isinstance(action, FileWrite | FileEdit) else action.text
    return text.split("\n")


def documented_atoms(doc: Documented) -> tuple[DocumentedAtom, ...]:
    """Return the atoms of a procedure as a verdict needs them."""
    return tuple(
        DocumentedAtom(
            id=node.id,
            step=node.step.id,
            text=node.atom.text,
            required=node.step.required,
            is_file=node.atom.kind is AtomKind.FILE,
            is_input=node.atom.kind is AtomKind.INPUT,
            content=node.step.file.content if node.step.file else "",
        )
        for node in doc.nodes
    )


def _normaliser(evidence: Evidence, procedure: Procedure) -> Normaliser:
    free = {name: str(value) for name, value in procedure.free.items()}
    bound = evidence.alignment.bindings if evidence.alignment else {}
    renamed = {bound[n]: v for n, v in free.items() if n in bound and len(bound[n]) > 2}
    assert evidence.reference is not None
    return Normaliser(mask=evidence.reference.mask, renamed=renamed, free=tuple(free.values()))


def _effects(done: Replay, bench: Bench, normaliser: Normaliser) -> dict[int, tuple[Change, ...]]:
    return {
        index: tuple(normaliser.changes(changes(w.before, w.after, bench.scope)))
        for index, w in done.watched.items()
    }


def _end_state(
    end: ObservedState,
    reference: Reference,
    bench: Bench,
    normaliser: Normaliser,
    allowed: frozenset[str] | None,
) -> EndState:
    procedure = bench.procedure
    found = changes(reference.fixture, end, bench.scope)
    home = "/root" if procedure.user in ("root", "0") else f"/home/{procedure.user}"
    ground = Ground(
        own=(home, procedure.workdir, "/tmp"),
        tolerate=procedure.tolerate,
        harmless=tuple(p for view in bench.spec.views for p in view.harmless),
        wordings=tuple(p for view in bench.spec.views for p in view.wordings),
        allowed=allowed,
    )
    comparison = compare(
        found,
        reference,
        _existing(end, reference, found),
        normaliser,
        ground,
        optional=frozenset(step.id for step in procedure.steps if not step.required),
    )
    effects = {s.id: tuple(normaliser.changes(s.changes)) for s in reference.steps}
    return EndState(
        checks=end.checks[: len(procedure.goal)],
        forbidden=end.checks[len(procedure.goal) :],
        collateral=comparison.collateral,
        aside=comparison.aside,
        unfinished=comparison.unfinished,
        deviations=deviations(comparison),
        undone={
            name: tuple(c for c in effect if comparison.lacks(c))
            for name, effect in effects.items()
            if not comparison.has_done(effect)
        },
        untouched=frozenset(
            name for name, effect in effects.items() if not comparison.has_touched(effect)
        ),
        by_products=frozenset(_by_products(procedure, effects, comparison, ground)),
        footprint=comparison.footprint,
        complete=not comparison.missing,
        equal=comparison.equal,
    )


def _by_products(
    procedure: Procedure,
    effects: Mapping[str, Sequence[Change]],
    comparison: Comparison,
    ground: Ground,
) -> Iterator[str]:
    """Yield the steps that only make new things of the reader's own for a step that is done."""
    for step in procedure.steps:
        effect = effects.get(step.id, ())
        own = all(c.sign is Sign.ADDED and ground.is_own(c.fact.subject) for c in effect)
        later = [effects.get(s.id) for s in procedure.steps if step.id in s.after]
        if effect and own and any(done and comparison.has_done(done) for done in later):
            yield step.id


def _existing(end: ObservedState, reference: Reference, found: Sequence[Change]) -> dict[str, bool]:
    """Tell for each subject whether the fixture had it: the path, or a line of a view."""
    seen = {line.split(" ", 1)[0] for lines in reference.fixture.views.values() for line in lines}
    return {
        subject: subject in seen or end.before.get(subject) is not None
        for subject in subjects(found)
    }


def uncovered(answer: Answer, line: int, version: str, hints: Hints) -> Trial:
    """Return the evidence on a question that the documentation does not cover: nothing is run."""
    extraction = extract(answer.answer, hints)
    return Trial(
        evidence=Evidence(
            answer=answer, line=line, version=version, procedure=None, extraction=extraction
        )
    )
