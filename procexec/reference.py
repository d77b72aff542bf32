"""The control: the documented procedure itself, run again and again on one version, kept by its inputs."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from procexec.align.graph import actions
from procexec.compare.facts import Scope, changes
from procexec.compare.mask import coverage, learn
from procexec.compare.observe import Look, observe
from procexec.execute.plan import documented_plan
from procexec.execute.replay import Replay, Watched, replay
from procexec.model.document import Check, Procedure, SandboxSpec, Step
from procexec.model.plan import Plan
from procexec.model.run import CommandResult, Ending
from procexec.model.state import CheckResult, Mask, ObservedState, Reference, ReferenceStep
from procexec.sandbox import SandboxProvider, SandboxRequest
from procexec.shell.atoms import ShellKnowledge

ENGINE_VERSION = "7"
FEWEST_RUNS = 2
OTHER_HOSTS = ("workbench", "garage", "attic")
OTHER_ZONES = ("EAST-11", "WEST9", "EAST-3")  # POSIX: hours behind UTC; needs no zone files


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A procedure on one version, with the image in which its fixture has been run.

    ``running`` names the services that run from the start.
    """

    procedure: Procedure
    version: str
    spec: SandboxSpec
    image: str
    running: tuple[str, ...] = ()

    @property
    def knowledge(self) -> ShellKnowledge:
        return knowledge_of(self.procedure, self.spec)

    @property
    def scope(self) -> Scope:
        return Scope(views=self.spec.views, ignore=self.spec.ignore)

    @property
    def prompts(self) -> tuple[str, ...]:
        sessions = (f"^(?:{p}) ?$" for s in self.spec.sessions for p in s.prompts)
        return (*(f"(?:{p.pattern})\\s*$" for p in self.spec.prompts), *sessions)

    def look(self, *checks: Check) -> Look:
        return Look(
            user=self.procedure.user,
            workdir=self.procedure.workdir,
            views=self.spec.views,
            checks=checks,
        )

    def request(self, label: str, scripts: Sequence[str]) -> SandboxRequest:
        return SandboxRequest(
            image=self.image,
            user=self.procedure.user,
            workdir=self.procedure.workdir,
            label=label,
            env=self.spec.env,
            memory=self.spec.memory,
            grants=self.spec.grants,
            prompts=self.prompts,
            scripts=tuple(scripts),
            hidden=(*self.spec.ignore, *(g for view in self.spec.views for g in view.hides)),
            services=tuple(s for s in self.spec.services if s.name in self.running),
        )


def knowledge_of(procedure: Procedure, spec: SandboxSpec) -> ShellKnowledge:
    """Return what is known of the shell text of a procedure's answers."""
    root = procedure.user in ("root", "0")
    return ShellKnowledge(
        options=spec.options,
        sessions=spec.sessions,
        home="/root" if root else f"/home/{procedure.user}",
        workdir=procedure.workdir,
    )


@dataclass(slots=True)
class References:
    """Makes reference runs, each once for its inputs, also across runs if there is a folder."""

    provider: SandboxProvider
    folder: Path | None = None
    runs: int = FEWEST_RUNS
    lock: threading.Lock = field(default_factory=threading.Lock)
    locks: dict[str, threading.Lock] = field(default_factory=dict)
    known: dict[str, Reference] = field(default_factory=dict)

    def get(self, bench: Bench, branches: dict[str, str]) -> Reference:
        """Return the reference of a procedure along the given branches.

        Raises:
            SandboxError: the engine failed.
        """
        key = _key(bench, branches, self.runs)
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.known:
                self.known[key] = self._stored(key) or self._made(bench, branches, key)
            return self.known[key]

    def _stored(self, key: str) -> Reference | None:
        path = self.folder / f"{key}.json" if self.folder else None
        if path is None or not path.is_file():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=Reference)
        except msgspec.DecodeError:
            return None

    def _made(self, bench: Bench, branches: dict[str, str], key: str) -> Reference:
        reference = make(bench, branches, self.provider, self.runs)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f".{key}.{threading.get_ident()}"
            temporary.write_bytes(msgspec.json.encode(reference))
            temporary.replace(self.folder / f"{key}.json")
        return reference


def _key(bench: Bench, branches: dict[str, str], runs: int) -> str:
    parts = (
        ENGINE_VERSION,
        str(runs),
        bench.image,
        bench.version,
        msgspec.json.encode(bench.procedure).decode(),
        msgspec.json.encode(bench.spec).decode(),
        msgspec.json.encode(sorted(branches.items())).decode(),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def chosen_steps(procedure: Procedure, branches: dict[str, str]) -> tuple[Step, ...]:
    """Return the steps along the branches; of a choice that is not made, the first branch."""
    first: dict[str, str] = {}
    for step in procedure.steps:
        if step.any_of is not None and step.branch is not None:
            first.setdefault(step.any_of, step.branch)
    chosen = first | branches
    return tuple(s for s in procedure.steps if s.any_of is None or chosen[s.any_of] == s.branch)


def make(
    bench: Bench, branches: dict[str, str], provider: SandboxProvider, runs: int = FEWEST_RUNS
) -> Reference:
    """Run the documented procedure so many times, each with another host name and time zone."""
    steps = chosen_steps(bench.procedure, branches)
    each = [(s.id, a) for s in steps for a in actions(s, bench.version)]
    plan = documented_plan([action for _, action in each], bench.knowledge)
    owners = [name for name, _ in each]
    fixture = _fixture(bench, provider)
    first, end = _run(bench, plan, fixture.state, provider, 0)
    others = [_run(bench, plan, fixture.state, provider, k)[1] for k in range(1, runs)]
    found, *found_again = (changes(fixture.state, e, bench.scope) for e in (end, *others))
    mask = learn(found, *found_again)
    return Reference(
        procedure=bench.procedure.id,
        version=bench.version,
        steps=tuple(_covered(_steps(bench, plan, owners, first, steps), mask)),
        changes=found,
        checks=end.checks,
        goal_held_before=fixture.goal_held,
        mask=mask,
        fixture=ObservedState(views=fixture.state.views),
        manual=any(step.manual is not None and step.required for step in steps),
        runs=runs,
        unstable=_unstable(first, [end.checks, *(other.checks for other in others)]),
        coverage=coverage(found, mask),
    )


def _covered(steps: Sequence[ReferenceStep], mask: Mask) -> Iterator[ReferenceStep]:
    return (replace(step, coverage=coverage(step.changes, mask)) for step in steps)


def _unstable(done: Replay, runs: Sequence[Sequence[CheckResult]]) -> tuple[str, ...]:
    """Return the checks that hold in some runs only, or find something else in each.

    Where the documentation fails, what a missed check found is that failure's.
    """
    fails = any(not result.succeeded for result in done.results)
    return tuple(
        results[0].id
        for results in zip(*runs, strict=True)
        if len({r.held for r in results}) > 1
        or (not results[0].held and not fails and len({r.found for r in results}) > 1)
    )


@dataclass(frozen=True, slots=True)
class _Fixture:
    state: ObservedState
    goal_held: bool


def _fixture(bench: Bench, provider: SandboxProvider) -> _Fixture:
    with provider.start(bench.request("fixture-look", ())) as sandbox:
        state = observe(sandbox, bench.look(*bench.procedure.goal))
    held = bool(state.checks) and all(check.held for check in state.checks)
    return _Fixture(replace(state, files={}, before={}), held)


def _run(
    bench: Bench, plan: Plan, start: ObservedState, provider: SandboxProvider, number: int
) -> tuple[Replay, ObservedState]:
    """Run the plan; steps are watched in run 0 only, the others have a host and a zone of their own."""
    texts = [step.text for step in plan.steps]
    request = bench.request("reference", texts)
    if number:
        other = (number - 1) % len(OTHER_HOSTS)
        request = replace(request, hostname=OTHER_HOSTS[other], timezone=OTHER_ZONES[other])
        plan = Plan(steps=tuple(replace(step, watched=False) for step in plan.steps))
    with provider.start(request) as sandbox:
        done = replay(
            plan,
            sandbox,
            timeout=bench.spec.step_timeout,
            observe=lambda: observe(sandbox, bench.look()),
            start=start,
            user=bench.procedure.user,
        )
        return done, observe(sandbox, bench.look(*bench.procedure.goal))


def _moves_shell(result: CommandResult, cwd: str, watched: Watched | None) -> bool:
    """Tell whether a step changed the shell itself: its directory, its variables, which one it is."""
    if result.ending is Ending.ENTERED or (bool(result.cwd) and result.cwd != cwd):
        return True
    return bool(exported(watched))


def exported(watched: Watched | None) -> frozenset[str]:
    """Return the names of the variables that a step sets, changes or takes from the shell's programs."""
    if watched is None or not watched.before.exported or not watched.after.exported:
        return frozenset()
    changed = set(watched.before.exported) ^ set(watched.after.exported)
    return frozenset(line.split()[-1] if "=" not in line else _name(line) for line in changed)


def _name(line: str) -> str:
    return line.split("=", 1)[0].split()[-1]


def _steps(
    bench: Bench, plan: Plan, owners: list[str], done: Replay, steps: Sequence[Step]
) -> list[ReferenceStep]:
    """Return what each documented step did; a reply shares what its command did."""
    texts = {s.id: s for s in steps}
    found: dict[str, ReferenceStep] = {}
    cwd = bench.procedure.workdir
    for planned, result in zip(plan.steps, done.results, strict=True):
        watched = done.watched.get(planned.index)
        effect = changes(watched.before, watched.after, bench.scope) if watched else ()
        moved = _moves_shell(result, cwd, watched)
        begun, cwd = cwd, result.cwd or cwd
        for index in (planned.index, *planned.reply_steps):
            name = owners[index]
            before = found.get(name)
            exit_code = 0 if texts[name].may_fail and result.exit_code else result.exit_code
            found[name] = ReferenceStep(
                id=name,
                text=planned.text,
                ending=result.ending,
                exit_code=exit_code
                if before is None or before.exit_code == 0
                else before.exit_code,
                output=result.output[-4000:],
                error="" if texts[name].may_fail else result.error,
                changes=(*(before.changes if before else ()), *effect),
                moves_shell=moved or (before.moves_shell if before else False),
                exports=exported(watched) | (before.exports if before else frozenset()),
                cwd=before.cwd if before else begun,
            )
    return list(found.values())
