"""What is to be run of an answer, and why the rest is not."""

from dataclasses import dataclass, field

from procexec.model.result import Code
from procexec.model.step import FileEdit, Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Why a step cannot be run here."""

    code: Code
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step in the order of running. ``index`` is its place among the answer's steps.

    ``replies`` are typed at the prompts it shows, ``reply_steps`` are the places they come from;
    ``at_end`` is typed when a program session has no line left. ``watched``: its own effect is
    asked for. ``hold``: the program stays open, for a later step that ``goes_on`` with it.
    ``edit`` is carried out on the file as it is when its turn comes.
    ``errors`` are patterns of lines in which its program tells that a statement failed.
    """

    index: int
    text: str
    replies: tuple[Input, ...] = ()
    reply_steps: tuple[int, ...] = ()
    at_end: str = ""
    blocked: tuple[Blocked, ...] = ()
    watched: bool = False
    hold: bool = False
    goes_on: bool = False
    edit: FileEdit | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps of one run, and the values that their placeholders got."""

    steps: tuple[PlannedStep, ...]
    values: dict[str, str] = field(default_factory=dict)
