"""A plan in a sandbox: steps one after the other, as a reader would."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from procexec.execute.edit import UnclearEdit
from procexec.execute.files import edit_text, look_at
from procexec.model.plan import Plan, PlannedStep
from procexec.model.run import CommandResult, Ending, Event
from procexec.model.state import ObservedState
from procexec.sandbox import INTERRUPT, Dialog, Sandbox

_ENDS_THE_RUN = frozenset(
    [
        Ending.TIMED_OUT,
        Ending.WAITS_FOR_INPUT,
        Ending.OUTPUT_LIMIT,
        Ending.DISK_LIMIT,
        Ending.SANDBOX_DIED,
    ]
)
_DEAD = frozenset([Ending.SANDBOX_DIED, Ending.DISK_LIMIT])
NOT_RUN = CommandResult(ending=Ending.NOT_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The state before and after a step whose own effect was asked for."""

    before: ObservedState
    after: ObservedState


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came of a plan: a result for each planned step, states around the watched ones."""

    results: tuple[CommandResult, ...]
    watched: dict[int, Watched] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    died: bool = False

    @property
    def ran(self) -> bool:
        """Tell whether any step was run."""
        return any(result.ending is not Ending.NOT_RUN for result in self.results)

    def wrecked(self, note: str) -> "Replay":
        """Return the same with a sandbox that the last step that was run left dead."""
        results = list(self.results)
        last = max(k for k, r in enumerate(results) if r.ending is not Ending.NOT_RUN)
        results[last] = replace(results[last], ending=Ending.SANDBOX_DIED, note=note)
        return Replay(results=tuple(results), events=self.events, died=True)


def replay(
    plan: Plan,
    sandbox: Sandbox,
    *,
    timeout: float,
    observe: Callable[[], ObservedState],
    start: ObservedState,
    user: str,
) -> Replay:
    """Run a plan. A step that fails does not stop it; one that never comes back does.

    ``start`` is the state before the first step, ``user`` who types and edits.

    Raises:
        SandboxError: the engine failed.
    """
    results: list[CommandResult] = []
    watched: dict[int, Watched] = {}
    state: ObservedState | None = start
    stopped = False
    for step in plan.steps:
        if stopped or step.blocked:
            results.append(NOT_RUN)
            continue
        before = (state or observe()) if step.watched else None
        result = _with_error(_done(step, sandbox, timeout, user), step)
        results.append(result)
        stopped = result.ending in _ENDS_THE_RUN
        state = None
        if before is not None and result.ending not in _DEAD:
            state = observe()
            watched[step.index] = Watched(before=before, after=state)
    died = any(result.ending in _DEAD for result in results)
    return Replay(results=tuple(results), watched=watched, events=sandbox.events, died=died)


def _with_error(result: CommandResult, step: PlannedStep) -> CommandResult:
    lines = result.output.split("\n") if step.errors else ()
    told = (line for line in lines if any(re.match(p, line.strip()) for p in step.errors))
    return replace(result, error=next(told, "")[:500])


def _done(step: PlannedStep, sandbox: Sandbox, timeout: float, user: str) -> CommandResult:
    if step.edit is None:
        return _typed(step, sandbox, timeout)
    try:
        text = edit_text(step.edit, look_at(step.edit, sandbox, user))
    except UnclearEdit as e:
        return CommandResult(ending=Ending.UNCLEAR, note=str(e))
    return sandbox.run(text, timeout=timeout, dialog=Dialog())


def _typed(step: PlannedStep, sandbox: Sandbox, timeout: float) -> CommandResult:
    dialog = Dialog(replies=step.replies, at_end=step.at_end, hold=step.hold)
    if step.goes_on:
        return sandbox.go_on(timeout=timeout, dialog=dialog)
    result = sandbox.run(step.text, timeout=timeout, dialog=dialog)
    left = step.replies[len(result.dialogues) :]
    if left and left[-1].keys == (INTERRUPT,) and result.ending is Ending.EXITED:
        sandbox.go_on(timeout=timeout, dialog=Dialog(replies=left[-1:]))  # the server before it
    return result
