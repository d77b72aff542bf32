"""Actions to atoms, the units of alignment."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from procexec.model.document import CommandSpec, SessionProgram
from procexec.model.step import (
    Action,
    Atom,
    AtomKind,
    Canonical,
    Command,
    FileEdit,
    FileWrite,
    Input,
    Manual,
    Session,
)
from procexec.shell.canonical import canonical
from procexec.shell.files import WRITE, file_written, said_by
from procexec.shell.parse import SimpleCommand, parse
from procexec.shell.sessions import (
    STATEMENT,
    handed_over,
    normal,
    opened,
    program_of,
    statements,
    target_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellKnowledge:
    """What a sandbox's data say about shell text: option tables, session programs, the user."""

    options: Mapping[str, CommandSpec]
    sessions: Sequence[SessionProgram] = ()
    home: str = "/root"
    workdir: str = "/root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Where a program that takes statements is opened or left; ``step`` is the action's index."""

    step: int
    program: str
    opens: bool


def atoms(actions: Sequence[Action], knowledge: ShellKnowledge) -> tuple[Atom, ...]:
    """Return the atoms of actions in order; ``Atom.step`` is the action's index."""
    return atoms_and_bounds(actions, knowledge)[0]


def atoms_and_bounds(
    actions: Sequence[Action], knowledge: ShellKnowledge
) -> tuple[tuple[Atom, ...], tuple[Bound, ...]]:
    """Return the atoms of actions in order, and where programs are opened and left."""
    atomiser = _Atomiser(knowledge, cwd=knowledge.workdir)
    found = tuple(atom for k, action in enumerate(actions) for atom in atomiser.of(action, k))
    return found, tuple(atomiser.bounds)


@dataclass(slots=True)
class _Open:
    """A program that takes statements, and what they are about."""

    spec: SessionProgram
    target: tuple[str, ...]


@dataclass(slots=True)
class _Atomiser:
    knowledge: ShellKnowledge
    cwd: str
    open: _Open | None = None
    left: _Open | None = None
    bounds: list[Bound] = field(default_factory=list)

    def of(self, action: Action, step: int) -> Iterator[Atom]:
        if not isinstance(action, Input):
            self.open = None
        match action:
            case Command():
                yield from self.of_text(action.text, step)
            case Session():
                yield from self.of_session(action, step)
            case FileWrite():
                yield Atom(
                    kind=AtomKind.FILE, text=action.text, step=step, stages=(self.file(action),)
                )
            case Input():
                yield from self.of_input(action, step)
            case FileEdit():
                written = self.absolute(action.path)
                kind = Canonical(
                    path=(WRITE, action.place), operands=(written,), stdin=action.content
                )
                yield Atom(kind=AtomKind.FILE, text=action.text, step=step, stages=(kind,))
            case Manual():
                yield Atom(kind=AtomKind.MANUAL, text=action.text, step=step, looks=action.looks)

    def of_text(self, text: str, step: int) -> Iterator[Atom]:
        for stages in _pipelines(parse(text).commands):
            forms = [canonical(stage, self.knowledge.options) for stage in stages]
            told = file_written(stages, forms)
            forms = [self.file(told)] if told else self.fed(forms)
            whole = text[stages[0].start : stages[-1].end]
            atom = Atom(
                kind=AtomKind.COMMAND,
                text=whole,
                step=step,
                stages=tuple(self.placed(form) for form in forms),
                start=stages[0].start,
                end=stages[-1].end,
                conditional=any(stage.conditional for stage in stages),
                background=stages[-1].operator == "&",
            )
            yield from self.statements(atom) if len(forms) == 1 else (atom,)

    def of_session(self, session: Session, step: int) -> Iterator[Atom]:
        commands = list(self.of_text(session.program, step))
        if not session.program:
            self.open = self.left
        if self.open is None:
            yield Atom(kind=AtomKind.MANUAL, text=session.text, step=step)
            return
        yield from commands
        self.left = self.open
        yield from self.typed("\n".join(session.lines), step)

    def of_input(self, action: Input, step: int) -> Iterator[Atom]:
        if self.open is None:
            yield Atom(kind=AtomKind.INPUT, text=action.text, step=step, values=(action.prompt,))
            return
        yield from self.typed(action.text, step)

    def typed(self, text: str, step: int) -> Iterator[Atom]:
        """Yield the statements that are typed into the open program."""
        assert self.open is not None
        spec = self.open.spec
        if _leaves(text.strip(), spec):
            self.bound(step, spec, opens=False)
            self.open = None
            return
        yield from self.split(text, self.open, Atom(kind=AtomKind.COMMAND, text="", step=step))

    def bound(self, step: int, spec: SessionProgram, *, opens: bool) -> None:
        self.bounds.append(Bound(step=step, program=spec.program, opens=opens))

    def file(self, action: FileWrite) -> Canonical:
        path = self.absolute(action.path)
        return Canonical(path=(WRITE, action.mode), operands=(path,), stdin=action.content)

    def placed(self, form: Canonical) -> Canonical:
        """Resolve the directory of ``cd`` and remember it; spell paths below home one way."""
        if form.path == ("cd",):
            self.cwd = self.absolute(form.operands[0]) if form.operands else self.knowledge.home
            return replace(form, operands=(self.cwd,), read_only=False)
        return replace(form, operands=tuple(map(self.at_home, form.operands)))

    def absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.cwd, self.at_home(path)))

    def at_home(self, path: str) -> str:
        return re.sub(r"^(~|\$HOME|\$\{HOME\})(?=/|$)", lambda _: self.knowledge.home, path)

    def fed(self, stages: list[Canonical]) -> list[Canonical]:
        """Return a pipeline from literal text into a program that takes statements as that program."""
        if len(stages) < 2 or program_of(stages[1], self.knowledge.sessions) is None:
            return stages
        said = None if stages[0].writes else said_by(stages[0])
        return stages if said is None else [replace(stages[1], stdin=said), *stages[2:]]

    def statements(self, atom: Atom) -> Iterator[Atom]:
        """Cut a command that hands statements to a session program into one atom for each.

        A command that only opens the program is none: what is typed into it counts.
        """
        form = atom.stages[0]
        spec = program_of(form, self.knowledge.sessions)
        if spec is None or form.writes:
            yield atom
            return
        session = _Open(spec=spec, target=target_of(form, spec))
        if opened(form, self.knowledge.sessions):
            self.bound(atom.step, spec, opens=True)
            self.open = session
        elif texts := handed_over(form, spec):
            yield from self.split("\n".join(texts), session, atom)
        else:
            yield atom

    def split(self, text: str, session: _Open, atom: Atom) -> Iterator[Atom]:
        spec = session.spec
        for statement in statements(text, spec):
            moved = next((m for p in spec.retarget if (m := re.match(p, statement))), None)
            if moved:
                session.target = (moved[1],)
                continue
            if _leaves(statement, spec):
                self.bound(atom.step, spec, opens=False)
                continue
            looks = any(re.match(p, statement, re.IGNORECASE) for p in spec.read_only)
            form = Canonical(
                path=(spec.program, STATEMENT),
                operands=(*session.target, normal(statement)),
                read_only=looks,
            )
            yield replace(atom, text=atom.text or statement, stages=(form,))


def _leaves(statement: str, spec: SessionProgram) -> bool:
    return any(re.fullmatch(p, statement, re.IGNORECASE) for p in spec.quit)


def _pipelines(commands: Sequence[SimpleCommand]) -> Iterator[list[SimpleCommand]]:
    group: list[SimpleCommand] = []
    for command in commands:
        if not (command.argv or command.redirects or command.assignments):
            continue
        if group and (group[-1].operator not in ("|", "|&")):
            yield group
            group = []
        group.append(command)
    if group:
        yield group
