"""Alignment to what to run, in which order, with which replies. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from procexec.execute.files import file_text
from procexec.execute.runnable import needs_network
from procexec.execute.values import KnownValues, resolve
from procexec.model.alignment import Alignment, Label, MoveKind
from procexec.model.plan import Blocked, Plan, PlannedStep
from procexec.model.result import Code
from procexec.model.step import (
    Action,
    AnswerStep,
    Command,
    FileEdit,
    FileWrite,
    Input,
    Manual,
    Session,
)
from procexec.shell.atoms import ShellKnowledge
from procexec.shell.canonical import canonical
from procexec.shell.parse import parse
from procexec.shell.sessions import opened, program_of

_UNCLEAR = frozenset([Label.EXTRA, Label.SUBSTITUTED])
END_OF_INPUT = "\x04"


def plan(
    steps: Sequence[AnswerStep],
    alignment: Alignment,
    known: KnownValues,
    knowledge: ShellKnowledge,
) -> Plan:
    """Return the plan of an answer: replies go to the command before them, looks by hand are left out.

    A program that takes statements is left when all that the answer types is typed.
    """
    watched = _watched(alignment)
    planned: list[PlannedStep] = []
    values: dict[str, str] = {}
    for k, step in enumerate(steps):
        if isinstance(step.action, Input):
            _add_reply(planned, k, step.action)
            continue
        if isinstance(step.action, Manual) and step.action.looks:
            continue
        names = step.placeholders
        values |= {n: v for n in names if (v := known.of(n)) is not None}
        planned.append(_planned(k, step.action, names, known, watched=k in watched))
    return Plan(steps=_with_programs(planned, knowledge), values=values)


def _with_programs(
    planned: list[PlannedStep], knowledge: ShellKnowledge
) -> tuple[PlannedStep, ...]:
    """Add what the programs that read statements need: how to leave them, how they tell errors."""
    done: list[PlannedStep] = []
    errors: tuple[str, ...] = ()
    for step in _held(planned):
        errors = errors if step.goes_on else _errors(step, knowledge)
        done.append(replace(_left_at_end(step, knowledge), errors=errors))
    return tuple(done)


def _errors(step: PlannedStep, knowledge: ShellKnowledge) -> tuple[str, ...]:
    forms = (canonical(c, knowledge.options) for c in parse(step.text).commands)
    specs = (program_of(form, knowledge.sessions) for form in forms)
    return tuple(p for spec in specs if spec for p in spec.errors)


def _held(planned: list[PlannedStep]) -> list[PlannedStep]:
    """Mark the step before a step that goes on with its program, in another terminal meanwhile."""
    held = list(planned)
    for k, step in enumerate(planned):
        before = [j for j in range(k) if held[j].at_end or held[j].goes_on]
        if step.goes_on and before:
            held[before[-1]] = replace(held[before[-1]], hold=True, at_end="")
    return held


def _left_at_end(step: PlannedStep, knowledge: ShellKnowledge) -> PlannedStep:
    commands = parse(step.text).commands
    opens = len(commands) == 1 and opened(
        canonical(commands[0], knowledge.options), knowledge.sessions
    )
    return replace(step, at_end=END_OF_INPUT) if opens and step.replies else step


def documented_plan(actions: Sequence[Action], knowledge: ShellKnowledge) -> Plan:
    """Return the plan of documented steps, every effect watched."""
    planned: list[PlannedStep] = []
    for k, action in enumerate(actions):
        if isinstance(action, Input):
            _add_reply(planned, k, action)
        else:
            planned.append(_planned(k, action, (), KnownValues(), watched=True))
    return Plan(steps=_with_programs(planned, knowledge))


def _watched(alignment: Alignment) -> set[int]:
    """Return the steps whose effect text cannot tell: extra, substituted and displaced ones."""
    return {
        alignment.atoms[move.atom].step
        for move in alignment.moves
        if move.atom is not None
        and (move.label in _UNCLEAR or move.kind is MoveKind.DISPLACED)
        and not alignment.atoms[move.atom].read_only
    }


def _add_reply(planned: list[PlannedStep], index: int, action: Input) -> None:
    if not planned:
        return
    last = planned[-1]
    planned[-1] = replace(
        last, replies=(*last.replies, action), reply_steps=(*last.reply_steps, index)
    )


def _planned(
    index: int, action: Action, names: Sequence[str], known: KnownValues, *, watched: bool
) -> PlannedStep:
    text, unresolved = resolve(_shell_text(action), names, known)
    replies: tuple[Input, ...] = ()
    if isinstance(action, Session):
        lines = (resolve(line, names, known)[0] for line in action.lines)
        replies = tuple(Input(keys=(line + "\r",)) for line in lines)
    return PlannedStep(
        index=index,
        text=text,
        replies=replies,
        edit=_resolved_edit(action, names, known) if isinstance(action, FileEdit) else None,
        goes_on=isinstance(action, Session) and not action.program,
        at_end=END_OF_INPUT if isinstance(action, Session) else "",
        blocked=_blocked(action, text, unresolved),
        watched=watched,
    )


def _resolved_edit(action: FileEdit, names: Sequence[str], known: KnownValues) -> FileEdit:
    path, content, anchor = (
        resolve(text, names, known)[0] for text in (action.path, action.content, action.anchor)
    )
    return replace(action, path=path, content=content, anchor=anchor)


def _shell_text(action: Action) -> str:
    match action:
        case Command() | Input() | Manual() | FileEdit():
            return action.text
        case Session():
            return action.program
        case FileWrite():
            return file_text(action)


def _blocked(action: Action, text: str, unresolved: tuple[str, ...]) -> tuple[Blocked, ...]:
    found = []
    if isinstance(action, Manual):
        found.append(Blocked(code=Code.OPEN_QUESTION, reason="only a person can do it"))
    if unresolved:
        names = ", ".join(f"`{name}`" for name in unresolved)
        found.append(
            Blocked(code=Code.UNRESOLVED_PLACEHOLDER, reason=f"nothing tells the value of {names}")
        )
    if isinstance(action, Command) and (host := needs_network(text)):
        found.append(
            Blocked(code=Code.NOT_RUNNABLE, reason=f"it needs the network (host `{host}`)")
        )
    return tuple(found)
