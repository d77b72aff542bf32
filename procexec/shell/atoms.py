"""Actions to atoms, the units of alignment."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from procexec.model.document import CommandSpec, SessionProgram
from procexec.model.step import (
    Action,
    Atom,
    AtomKind,
    Canonical,
    Command,
    FileWrite,
    Input,
    Manual,
    Session,
)
from procexec.shell.canonical import canonical
from procexec.shell.parse import SimpleCommand, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellKnowledge:
    """What a sandbox's data say about shell text: option tables, session programs, the user."""

    options: Mapping[str, CommandSpec]
    sessions: Sequence[SessionProgram] = ()
    home: str = "/root"
    workdir: str = "/root"


def atoms(actions: Sequence[Action], knowledge: ShellKnowledge) -> tuple[Atom, ...]:
    """Return the atoms of actions in order; ``Atom.step`` is the action's index."""
    atomiser = _Atomiser(knowledge, cwd=knowledge.workdir)
    return tuple(atom for k, action in enumerate(actions) for atom in atomiser.of(action, k))


@dataclass(slots=True)
class _Atomiser:
    knowledge: ShellKnowledge
    cwd: str

    def of(self, action: Action, step: int) -> Iterator[Atom]:
        match action:
            case Command():
                yield from self.of_text(action.text, step)
            case Session():
                yield from self.of_session(action, step)
            case FileWrite():
                written = self.absolute(action.path)
                kind = Canonical(
                    path=("write", action.mode), operands=(written,), stdin=action.content
                )
                yield Atom(kind=AtomKind.FILE, text=action.text, step=step, stages=(kind,))
            case Input():
                values = (action.prompt,)
                yield Atom(kind=AtomKind.INPUT, text=action.text, step=step, values=values)
            case Manual():
                yield Atom(kind=AtomKind.MANUAL, text=action.text, step=step)

    def of_text(self, text: str, step: int) -> Iterator[Atom]:
        for stages in _pipelines(parse(text).commands):
            forms = [canonical(stage, self.knowledge.options) for stage in stages]
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
            yield from self.statements(atom) if len(stages) == 1 else (atom,)

    def of_session(self, session: Session, step: int) -> Iterator[Atom]:
        first = next(iter(self.of_text(session.program, step)), None)
        spec = self.session_of(first) if first else None
        if first is None or spec is None:
            yield Atom(kind=AtomKind.MANUAL, text=session.text, step=step)
            return
        target = first.stages[0].operands[:1]
        yield from self.split("\n".join(session.lines), spec, replace(first, text=""), target)

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

    def session_of(self, atom: Atom) -> SessionProgram | None:
        name = atom.stages[0].path[:1]
        return next((s for s in self.knowledge.sessions if (s.program,) == name), None)

    def statements(self, atom: Atom) -> Iterator[Atom]:
        """Split a command that hands statements to a session program into one atom for each."""
        spec = self.session_of(atom)
        form = atom.stages[0]
        texts = [*form.operands[1:], *([form.stdin] if form.stdin else [])]
        if spec is None or not texts or atom.stages[0].writes:
            yield atom
            return
        yield from self.split("\n".join(texts), spec, atom, form.operands[:1])

    def split(
        self, text: str, spec: SessionProgram, atom: Atom, target: tuple[str, ...]
    ) -> Iterator[Atom]:
        for statement in _statements(text, spec):
            moved = next((m for p in spec.retarget if (m := re.match(p, statement))), None)
            if moved:
                target = (moved[1],)
                continue
            if any(re.fullmatch(p, statement, re.IGNORECASE) for p in spec.quit):
                continue
            looks = any(re.match(p, statement, re.IGNORECASE) for p in spec.read_only)
            form = Canonical(
                path=(spec.program, "statement"),
                operands=(*target, _normal_statement(statement)),
                read_only=looks,
            )
            yield replace(atom, text=atom.text or statement, stages=(form,))


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


def _statements(text: str, spec: SessionProgram) -> Iterator[str]:
    pending = ""
    for line in text.split("\n"):
        line = _without_comment(line, spec.comment)
        if spec.commands and not pending.strip() and line.lstrip().startswith(spec.commands):
            yield line.strip()
            continue
        *ended, pending_rest = _split_outside_quotes(pending + line + "\n", spec.separator)
        yield from (s.strip() for s in ended if s.strip())
        pending = pending_rest
    if pending.strip():
        yield pending.strip()


def _without_comment(line: str, mark: str) -> str:
    return _split_outside_quotes(line, mark)[0] if mark else line


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    if not separator:
        return [*text.split("\n")]
    parts, quote, start, k = [], "", 0, 0
    while k < len(text):
        c = text[k]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif text.startswith(separator, k):
            parts.append(text[start:k])
            start = k = k + len(separator)
            continue
        k += 1
    return [*parts, text[start:]]


def _normal_statement(statement: str) -> str:
    pieces = re.split(r"('[^']*'|\"[^\"]*\")", statement)
    folded = [p if k % 2 else re.sub(r"\s+", " ", p).lower() for k, p in enumerate(pieces)]
    return re.sub(r"\s*([(),=])\s*", r"\1", "".join(folded)).strip(" ;")
