"""Where commands run: the contract that every engine keeps."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from procexec.model.document import Grant, Service
from procexec.model.run import CommandResult, Event
from procexec.model.state import FileFacts
from procexec.model.step import Input

STEP_LIMIT = 64 << 10
OUTPUT_LIMIT = 256 << 20
SCRATCH = "/.procexec"
INTERRUPT = "\x03"
"""What Ctrl-C types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """What a sandbox is to be like.

    ``image`` is an image id. ``hostname`` and ``timezone`` are what the reference runs vary.
    ``scripts`` are texts that ``run`` will be given: delivered before the start, they cost nothing.
    ``hidden`` are globs of paths that count for no change, and are not read.
    ``services`` are started before it is given; a fixture is asked which of them it left running.
    """

    image: str
    user: str = "root"
    workdir: str = "/root"
    label: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    hostname: str = "sandbox"
    timezone: str = ""
    memory: str = "1g"
    processes: int = 0
    prompts: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    services: tuple[Service, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureImage:
    """An image in which a fixture has been run, and the services that ran at its end."""

    id: str
    running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """What is typed while a step runs: replies in order; ``at_end`` when they are used up.

    ``hold``: when they are used up and the program waits for more, it stays as it is.
    """

    replies: Sequence[Input] = ()
    at_end: str = ""
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """What a script outside the session printed; ``exit_code`` None: it was stopped."""

    exit_code: int | None
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The paths that differ from the image: as they are now (None: gone), and as they were."""

    files: dict[str, FileFacts | None]
    before: dict[str, FileFacts | None]


class Sandbox(Protocol):
    """A started container of one product at one version, with one persistent shell."""

    def run(self, text: str, *, timeout: float, dialog: Dialog) -> CommandResult:
        """Type shell text at the prompt of the session, as a whole, and return what came of it.

        A non-zero exit code, a time-out (seconds), a prompt that nobody answers, a shell that
        ends, a sandbox that the step kills: all are results. After a time-out or an unanswered
        prompt every process of the sandbox but its keeper is gone.
        A program that serves in the foreground, or is held, stays: the next step is typed into a
        new terminal, as the user, in the working directory.

        Raises:
            SandboxError: the engine failed; nothing is known about the step.
        """
        ...

    def go_on(self, *, timeout: float, dialog: Dialog) -> CommandResult:
        """Type into the program that stayed last; if it ends, its terminal is the session again.

        Where none stayed, nothing is typed and the result is an exit with 0.

        Raises:
            SandboxError: the engine failed.
        """
        ...

    def execute(self, script: str, *, user: str, cwd: str, timeout: float) -> ScriptResult:
        """Run a script in a process of its own, outside the session, as a user in a folder.

        Raises:
            SandboxError: the engine failed.
            WreckedError: the sandbox has died, or there is no shell to run it with.
        """
        ...

    def changes(self) -> Changes:
        """Return what differs from the image, seen from outside; procexec's own files left out.

        Raises:
            SandboxError: the engine failed.
        """
        ...

    @property
    def cwd(self) -> str:
        """The session's directory after the last step."""
        ...

    @property
    def events(self) -> tuple[Event, ...]:
        """The terminal of the session so far."""
        ...


class SandboxProvider(Protocol):
    """Makes sandboxes."""

    def start(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        """Give a fresh sandbox, gone on every path out of the ``with``.

        Raises:
            SandboxError: it could not be started.
        """
        ...

    def fixture(self, request: SandboxRequest, script: str) -> FixtureImage:
        """Return an image in which the script has been run, made once for its content.

        The request's services that then run are stopped first, so that what they hold is stored.

        Raises:
            FixtureError: the script failed.
            SandboxError: the engine failed.
        """
        ...
