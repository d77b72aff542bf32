"""What was run and printed."""

from dataclasses import dataclass, field
from enum import StrEnum


class Ending(StrEnum):
    """How a step ended; one that stays holds its terminal: a server, or a program left open.

    One that entered opened a shell inside the session's, in which the next steps run.
    An edit is unclear whose place nobody could tell; its result's ``note`` says why.
    """

    EXITED = "exited"
    TIMED_OUT = "timed-out"
    WAITS_FOR_INPUT = "waits-for-input"
    SHELL_ENDED = "shell-ended"
    OUTPUT_LIMIT = "output-limit"
    DISK_LIMIT = "disk-limit"
    OUT_OF_MEMORY = "out-of-memory"
    SANDBOX_DIED = "sandbox-died"
    STAYS = "stays"
    ENTERED = "entered"
    UNCLEAR = "unclear"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A prompt and the reply that it got."""

    prompt: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What one step did. ``exit_code`` is None unless the step's shell told one.

    ``output`` is terminal text, head and tail of at most the session's limit; ``size_bytes`` is
    all that was printed; ``duration`` is seconds. ``error`` is the line in which a program told that
    a statement failed, whatever it exits with.
    """

    ending: Ending
    exit_code: int | None = None
    output: str = ""
    size_bytes: int = 0
    truncated: bool = False
    cwd: str = ""
    duration: float = 0.0
    dialogues: tuple[Dialogue, ...] = ()
    prompt: str = ""
    late_output: str = ""
    error: str = ""
    note: str = ""

    @property
    def succeeded(self) -> bool:
        if self.error:
            return False
        if self.ending in (Ending.STAYS, Ending.ENTERED):
            return True
        return self.exit_code == 0 and self.ending in (Ending.EXITED, Ending.SHELL_ENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Terminal bytes at a moment: ``at`` seconds since the transcript began; ``kind`` o or i."""

    at: float
    kind: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The results of all steps of a plan, in order, and the terminal as it was seen."""

    results: tuple[CommandResult, ...]
    events: tuple[Event, ...] = field(default=())
