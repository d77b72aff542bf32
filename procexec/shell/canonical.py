"""Simple commands in canonical form: the same whatever the spelling.

Rules: wrappers (sudo, env, nohup ...) are taken off and kept as attributes; an absolute program
is called by its base name; sub-commands are walked with the option tables; options go by their
longest name, clusters are split, order does not count; operands keep their order unless the
table says that it does not matter.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from procexec.model.document import CommandSpec, OptionSpec
from procexec.model.step import Canonical
from procexec.shell.options import PROGRAM_ALIASES, longest_name, merged, option
from procexec.shell.parse import SimpleCommand

_WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset(["-u", "-g", "-h", "-p", "-C", "--user", "--group"]),
    "doas": frozenset(["-u"]),
    "env": frozenset(["-u", "-C"]),
    "nohup": frozenset(),
    "command": frozenset(),
    "exec": frozenset(["-a"]),
    "nice": frozenset(["-n"]),
    "runuser": frozenset(["-u", "-g"]),
    "winpty": frozenset(),
}
_HARMLESS_TARGETS = frozenset(["/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty"])
_MANY = 10  # sub-commands, from which a program does nothing without one
_COMMAND_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def canonical(command: SimpleCommand, overrides: Mapping[str, CommandSpec]) -> Canonical:
    """Return the canonical form of a command; ``overrides`` are the sandbox's own tables."""
    argv, wrappers = _unwrapped(list(command.argv))
    program = _program(argv)
    table = merged(program[0], overrides) if program else None
    walk = _Walk(path=program, tables=[table] if table else [])
    walk.read(argv[1:])
    return Canonical(
        path=tuple(walk.path),
        options=tuple(sorted(walk.final_options().items())),
        operands=walk.final_operands(),
        benign=frozenset(walk.benign),
        unknown=walk.unknown,
        read_only=walk.read_only,
        stdin=_stdin(command),
        writes=_writes(command),
        reads=tuple(target for operator, target in command.redirects if operator == "<"),
        wrappers=wrappers,
    )


def _unwrapped(argv: list[str]) -> tuple[list[str], tuple[str, ...]]:
    wrappers: list[str] = []
    while argv:
        if argv[0] in _WRAPPERS and len(argv) > 1:
            wrappers.append(argv[0])
            argv = _without_options(argv[1:], _WRAPPERS[argv[0]])
        elif wrappers and _ASSIGNMENT.match(argv[0]):
            argv = argv[1:]
        else:
            break
    return argv, tuple(wrappers)


def _without_options(argv: list[str], with_value: frozenset[str]) -> list[str]:
    while argv and argv[0].startswith("-"):
        if argv[0] == "--":
            return argv[1:]
        argv = argv[2:] if argv[0] in with_value else argv[1:]
    return argv


def _program(argv: list[str]) -> list[str]:
    if not argv:
        return []
    name = argv[0].rsplit("/", 1)[-1] if argv[0].startswith("/") else argv[0]
    if name in ("python", "python3") and argv[1:3] == ["-m", "pip"]:
        del argv[1:3]
        return ["pip"]
    return list(PROGRAM_ALIASES.get(name, (name,)))


def _stdin(command: SimpleCommand) -> str:
    strings = (target + "\n" for operator, target in command.redirects if operator == "<<<")
    return "".join((*(heredoc.body for heredoc in command.heredocs), *strings))


def _writes(command: SimpleCommand) -> tuple[str, ...]:
    return tuple(
        target
        for operator, target in command.redirects
        if ">" in operator and not operator.endswith(">&") and target not in _HARMLESS_TARGETS
    )


@dataclass(slots=True)
class _Walk:
    """Reads arguments from left to right, with the tables of the commands met so far."""

    path: list[str]
    tables: list[CommandSpec]
    options: dict[str, list[str]] = field(default_factory=dict)
    operands: list[str] = field(default_factory=list)
    benign: set[str] = field(default_factory=set)
    lookers: list[OptionSpec] = field(default_factory=list)

    @property
    def read_only(self) -> bool:
        only_looks = any(not set(spec.unless) & self.options.keys() for spec in self.lookers)
        return only_looks or (bool(self.tables) and self.tables[-1].read_only)

    def read(self, argv: list[str]) -> None:
        self._enter_alias_path()
        rest = iter(self._unbundled(argv))
        only_operands = False
        for token in rest:
            only_operands = only_operands or self._past_options
            if only_operands or token == "-" or not token.startswith("-"):
                self._operand(token, may_be_command=not only_operands)
            elif token == "--":
                only_operands = True
            else:
                self._option(token, rest)
        self._enter_default()

    @property
    def _past_options(self) -> bool:
        ends = bool(self.tables) and self.tables[-1].operands_end_options
        return ends and bool(self.operands)

    def _unbundled(self, argv: list[str]) -> list[str]:
        """Put the dash before options that go without one; their values follow in their order."""
        bundled = bool(self.tables) and self.tables[-1].bundled and bool(argv)
        if not bundled or not argv[0].isalpha() or not all(self._find("-" + c) for c in argv[0]):
            return argv
        rest = iter(argv[1:])
        spelt: list[str] = []
        for letter in argv[0]:
            spec = self._find("-" + letter)
            spelt += ["-" + letter, *([next(rest, "")] if spec and spec.value else [])]
        return [*spelt, *rest]

    def _enter_default(self) -> None:
        if self.tables and self.tables[-1].default and not self.operands:
            self._enter(self.tables[-1].default, extend=True)

    def _enter_alias_path(self) -> None:
        for name in self.path[1:]:
            self._enter(name)

    def _operand(self, token: str, *, may_be_command: bool) -> None:
        if may_be_command and not self.operands and self._enter(token, extend=True):
            return
        if may_be_command and self._names_unknown_command(token):
            self.path.append(token)
            self.tables.append(CommandSpec())
            return
        self.operands.append(token)

    def _names_unknown_command(self, token: str) -> bool:
        """Tell whether a word stands where programs of many sub-commands have one."""
        many = len(self.tables) == 1 and len(self.tables[0].commands) >= _MANY
        return many and not self.operands and bool(_COMMAND_NAME.fullmatch(token))

    def _enter(self, token: str, *, extend: bool = False) -> bool:
        if not self.tables:
            return False
        for name, command in self.tables[-1].commands.items():
            if token == name or token in command.aliases:
                self.tables.append(command)
                if extend:
                    self.path.append(name)
                if command.same_as:
                    self._enter_same(command.same_as)
                return True
        return False

    def _enter_same(self, names: tuple[str, ...]) -> None:
        del self.path[1:], self.tables[1:]
        for name in names:
            self._enter(name, extend=True)

    def _find(self, name: str) -> OptionSpec | None:
        return next((o for t in reversed(self.tables) if (o := option(t, name))), None)

    def _option(self, token: str, rest: Iterator[str]) -> None:
        name, equals, value = token.partition("=")
        spec = self._find(name)
        if spec is None and self._single_dash and self._find(name[1:]):
            name, spec = name[1:], self._find(name[1:])
        if spec is None and token[1:].isdigit() and (lines := self._find("-n")) and lines.value:
            self._add(lines, "-n", token[1:])
            return
        if spec is None and self._is_cluster(token):
            self._cluster(token, rest)
            return
        if equals:
            self._add(spec, name, value if (spec and spec.value) or value != "true" else None)
        elif spec and spec.value:
            self._add(spec, name, next(rest, ""))
        else:
            self._add(spec, name, None)

    def _is_cluster(self, token: str) -> bool:
        short = not token.startswith("--") and len(token) > 2
        return short and bool(self.tables) and not self._single_dash

    @property
    def _single_dash(self) -> bool:
        return any(table.long_single_dash for table in self.tables)

    def _cluster(self, token: str, rest: Iterator[str]) -> None:
        for k, letter in enumerate(token[1:], 1):
            spec = self._find("-" + letter)
            if spec and spec.value:
                attached = token[k + 1 :].removeprefix("=")
                self._add(spec, "-" + letter, attached or next(rest, ""))
                return
            self._add(spec, "-" + letter, None)

    def _add(self, spec: OptionSpec | None, name: str, value: str | None) -> None:
        for meant in spec.means if spec else ():
            self._add(self._find(meant), meant, value)
        if spec and spec.means:
            return
        name = longest_name(spec) if spec else name
        self.options.setdefault(name, [])
        if value is not None:
            self.options[name].append(_same_path(value))
        if spec and spec.benign:
            self.benign.add(name)
        if spec and spec.read_only:
            self.lookers.append(spec)

    @property
    def unknown(self) -> frozenset[str]:
        """The options that no table has, where there is one."""
        return frozenset(name for name in self.options if self.tables and not self._find(name))

    def final_options(self) -> dict[str, tuple[str, ...]]:
        """Return the options by their longest names, as the tables of all sub-commands tell them."""
        named: dict[str, tuple[str, ...]] = {}
        for name, values in self.options.items():
            spec = self._find(name)
            longest = longest_name(spec) if spec and not spec.means else name
            named[longest] = (*named.get(longest, ()), *values)
        return named

    def final_operands(self) -> tuple[str, ...]:
        words = [_same_path(word) for word in self.operands]
        if words:
            names = {short: name for table in self.tables for short, name in table.words.items()}
            words[0] = names.get(words[0], words[0])
        if self.tables and self.tables[-1].commutative:
            words.sort()
        return tuple(words)


def _same_path(word: str) -> str:
    """Return the word without ``./``, which says nothing in a path that is no program."""
    return word.removeprefix("./") if len(word) > 2 else word
