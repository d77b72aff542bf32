"""The option tables: what the options of a program are called, loaded when they are asked for."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec

from procexec.model.document import CommandSpec, OptionSpec

_FOLDER = files("procexec.shell") / "tables"

PROGRAM_ALIASES = {
    ".": ("source",),
    "k": ("kubectl",),
    "docker-compose": ("docker", "compose"),
    "pip3": ("pip",),
    "python3": ("python",),
}


@cache
def shipped_table(program: str) -> CommandSpec | None:
    """Return the table of a program, or None if none is shipped."""
    if "/" in program or program.startswith("."):
        return None
    path = _FOLDER / f"{program}.json"
    if path.is_file():
        return msgspec.json.decode(path.read_bytes(), type=CommandSpec)
    return CommandSpec(read_only=True) if program in read_only_programs() else None


@cache
def read_only_programs() -> frozenset[str]:
    """Return the programs that only look."""
    return frozenset((_FOLDER / "read-only.txt").read_text().split())


@cache
def known_programs() -> frozenset[str]:
    """Return the names of all programs with a table, and of the usual shell commands."""
    shipped = {path.name.removesuffix(".json") for path in _FOLDER.iterdir()}
    usual = (_FOLDER / "usual.txt").read_text().split()
    return frozenset([*shipped, *usual]) | read_only_programs() | frozenset(PROGRAM_ALIASES)


def option(table: CommandSpec, name: str) -> OptionSpec | None:
    """Return the option that is spelt so, or None."""
    return next((o for o in table.options if name in o.names), None)


def longest_name(spec: OptionSpec) -> str:
    """Return the name that an option goes by in canonical form."""
    return max(spec.names, key=lambda name: (len(name), name))


def merged(program: str, overrides: Mapping[str, CommandSpec]) -> CommandSpec | None:
    """Return a program's table: the sandbox's own, where it has one, before the shipped one."""
    own = overrides.get(program)
    shipped = shipped_table(program)
    if own is None or shipped is None:
        return own or shipped
    return _merge(shipped, own)


def _merge(shipped: CommandSpec, own: CommandSpec) -> CommandSpec:
    commands = dict(shipped.commands)
    for name, command in own.commands.items():
        commands[name] = _merge(commands[name], command) if name in commands else command
    return CommandSpec(
        options=(*own.options, *shipped.options),
        commands=commands,
        aliases=own.aliases or shipped.aliases,
        read_only=own.read_only or shipped.read_only,
        commutative=own.commutative or shipped.commutative,
        long_single_dash=own.long_single_dash or shipped.long_single_dash,
        same_as=own.same_as or shipped.same_as,
        default=own.default or shipped.default,
        words={**shipped.words, **own.words},
        operands_end_options=own.operands_end_options or shipped.operands_end_options,
        bundled=own.bundled or shipped.bundled,
    )
