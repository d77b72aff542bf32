"""An answer as a list of lines, before it is written down."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from procexec.align.graph import actions
from procexec.model.document import Procedure, SandboxSpec, Step
from procexec.model.state import Reference
from procexec.model.step import Action, Command, FileWrite, Input, Manual

Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that an answer tells to do; ``step`` is the documented step's id, or empty."""

    action: Action
    step: str = ""
    required: bool = True
    after: tuple[str, ...] = ()

    @property
    def is_reply(self) -> bool:
        return isinstance(self.action, Input)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A documented procedure along one way, on one version, with its reference run.

    ``way`` names the branches taken. ``works``: the reference reaches the goal on this version.
    """

    procedure: Procedure
    version: str
    spec: SandboxSpec
    reference: Reference
    way: dict[str, str]
    lines: tuple[Line, ...]
    others: tuple[Line, ...] = ()

    @property
    def works(self) -> bool:
        return self.reference.works

    @property
    def id(self) -> str:
        way = "".join(f"+{branch}" for branch in self.way.values())
        return f"{self.procedure.id}{way}@{self.version}"

    @property
    def fixed(self) -> dict[str, str]:
        """The values that the question fixes, as text; only those that can stand in a command."""
        return {name: str(value) for name, value in self.procedure.given.items()}


def ways(procedure: Procedure) -> list[dict[str, str]]:
    """Return each way through the alternatives: every branch is taken by one of them."""
    groups: dict[str, list[str]] = {}
    for step in procedure.steps:
        if step.any_of is not None and step.branch is not None:
            branches = groups.setdefault(step.any_of, [])
            if step.branch not in branches:
                branches.append(step.branch)
    longest = max((len(branches) for branches in groups.values()), default=1)
    return [{g: b[min(k, len(b) - 1)] for g, b in groups.items()} for k in range(longest)]


def script(procedure: Procedure, version: str, way: dict[str, str]) -> tuple[Line, ...]:
    """Return what the documentation tells to do along a way, without what only people can do."""
    return tuple(_lines(_taken(procedure.steps, way), version))


def _taken(steps: Sequence[Step], way: dict[str, str]) -> Iterator[Step]:
    yield from (s for s in steps if s.any_of is None or way[s.any_of] == s.branch)


def _lines(steps: Iterator[Step], version: str) -> Iterator[Line]:
    for step in steps:
        for action in actions(step, version):
            if not isinstance(action, Manual):
                yield Line(action=action, step=step.id, required=step.required, after=step.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines that are written as one: a command with the replies to what it asks."""

    lines: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.lines[0]


def blocks(lines: Sequence[Line]) -> list[Block]:
    """Return the lines by block, as positions."""
    found: list[list[int]] = []
    for k, line in enumerate(lines):
        if line.is_reply and found:
            found[-1].append(k)
        else:
            found.append([k])
    return [Block(lines=tuple(block)) for block in found]


def text_of(action: Action) -> str:
    """Return what of an action can be rewritten: a command's text, a file's content."""
    match action:
        case Command() | Input():
            return action.text
        case FileWrite():
            return action.content
        case _:
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What must come of a variant: a verdict, its owner, and where the fault is found.

    ``or_waits``: it may as well wait for input that the answer does not tell.
    One of ``codes`` must be among the findings, and one of them name one of ``steps`` or stand on
    one of the lines at ``places`` (positions in the script); neither given: any place is right.
    """

    verdict: str
    owner: str
    codes: frozenset[str] = frozenset()
    steps: frozenset[str] = frozenset()
    places: frozenset[int] = frozenset()
    or_waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """An answer with what must come of it; ``spans`` are the lines of the places wanted.

    ``source`` is the id of the answer that it was made from, or empty.
    """

    operator: str
    base: Base
    number: int
    text: str
    wanted: Wanted
    change: str
    spans: tuple[tuple[int, int], ...] = ()
    source: str = ""

    @property
    def id(self) -> str:
        source = f"{self.source}@{self.base.version}" if self.source else self.base.id
        return f"{self.operator}/{source}/{self.number}"
