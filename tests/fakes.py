"""A sandbox without an engine: files in a dict, commands in a table. It passes the contract suite."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from procexec.errors import FixtureError
from procexec.model.run import CommandResult, Dialogue, Ending, Event
from procexec.model.state import FileFacts
from procexec.model.step import Input
from procexec.sandbox import Changes, Dialog, FixtureImage, SandboxRequest, ScriptResult

Command = CommandResult | Callable[["FakeSandbox"], CommandResult]
"""What a step's text does: always the same, or something with the sandbox."""

_NOT_FOUND = "bash: {}: command not found"
_NEW_SHELL = "the step runs in a new shell; the last one had ended"
_LOOK = re.compile(r"/bin/bash -c '((?:[^']|'\\'')*)'")
_MARK = re.compile(r"\\036([0-9a-f]{16})'")


def printed(output: str, exit_code: int = 0) -> CommandResult:
    """Return what a command that ends by itself comes to."""
    return CommandResult(
        ending=Ending.EXITED,
        exit_code=exit_code,
        output=output,
        size_bytes=len(output.encode()),
    )


def asking(*questions: str) -> Callable[["FakeSandbox"], CommandResult]:
    """Return a command that asks, one after the other, and prints the answers, one a line."""
    return lambda sandbox: sandbox.ask(questions)


@dataclass(slots=True)
class FakeSandbox:
    """One sandbox. ``scripts`` is the table of what is run outside the session, views included."""

    request: SandboxRequest
    commands: Mapping[str, Command]
    scripts: Mapping[str, ScriptResult]
    image: Mapping[str, FileFacts]
    files: dict[str, FileFacts]
    cwd: str = ""
    env: dict[str, str] = field(default_factory=dict)
    dialog: Dialog = field(default_factory=Dialog)
    shell_ended: bool = False
    died: bool = False
    seen: list[Event] = field(default_factory=list)

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self.seen)

    def run(self, text: str, *, timeout: float, dialog: Dialog) -> CommandResult:
        if self.died:
            return CommandResult(ending=Ending.SANDBOX_DIED)
        note = _NEW_SHELL if self.shell_ended else ""
        self.shell_ended, self.dialog = False, dialog
        result = self._result(text)
        match result.ending:
            case Ending.EXITED:
                result = replace(result, cwd=self.cwd)
            case Ending.SANDBOX_DIED:
                self.died = True
            case _:
                self.shell_ended = True
        self.seen += (_event("i", text + "\n"), _event("o", result.output + "\n"))
        return replace(result, note=note)

    def _result(self, text: str) -> CommandResult:
        command = self.commands.get(text)
        if command is not None:
            return command if isinstance(command, CommandResult) else command(self)
        match text.split():
            case ["cd", path]:
                self.cwd = path
            case ["export", assignment] if "=" in assignment:
                name, _, value = assignment.partition("=")
                self.env[name] = value
            case ["exit", status]:
                return CommandResult(ending=Ending.SHELL_ENDED, exit_code=int(status))
            case [name, *_]:
                return printed(_NOT_FOUND.format(name), 127)
            case _:
                pass
        return printed("")

    def ask(self, questions: tuple[str, ...]) -> CommandResult:
        """Ask for replies as a terminal program would; end at the first that nobody gives."""
        replies = list(self.dialog.replies)
        told: list[Dialogue] = []
        for question in questions:
            if not replies:
                return CommandResult(
                    ending=Ending.WAITS_FOR_INPUT,
                    output=question,
                    prompt=question.strip(),
                    dialogues=tuple(told),
                )
            reply = _take(replies, question)
            told.append(Dialogue(prompt=question.strip(), reply=reply.text))
        output = "\n".join(dialogue.reply for dialogue in told)
        return replace(printed(output), dialogues=tuple(told))

    def go_on(self, *, timeout: float, dialog: Dialog) -> CommandResult:
        """Type into what stayed: here nothing ever does."""
        return printed("")

    def write(self, path: str, text: str, mode: str = "644") -> CommandResult:
        self.files[path] = file_facts(text, mode=mode, owner=self.request.user)
        return printed("")

    def remove(self, path: str) -> CommandResult:
        del self.files[path]
        return printed("")

    def execute(self, script: str, *, user: str, cwd: str, timeout: float) -> ScriptResult:
        mark = _MARK.search(script)
        if mark is None:
            return self._told(script)
        looks = (self._told(m[1].replace("'\\''", "'")) for m in _LOOK.finditer(script))
        records = (f"{look.exit_code}\x1f{look.output}\x1e{mark[1]}" for look in looks)
        return ScriptResult(exit_code=0, output="".join(records))

    def _told(self, script: str) -> ScriptResult:
        missing = ScriptResult(exit_code=127, output=_NOT_FOUND.format(script.split(" ")[0]))
        return self.scripts.get(script, missing)

    def changes(self) -> Changes:
        paths = sorted(self.image.keys() | self.files.keys())
        differ = [path for path in paths if self.image.get(path) != self.files.get(path)]
        return Changes(
            files={path: self.files.get(path) for path in differ},
            before={path: self.image.get(path) for path in differ},
        )


@dataclass(slots=True)
class FakeProvider:
    """Makes fake sandboxes; ``running`` are those that are not gone yet."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    scripts: Mapping[str, ScriptResult] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    running: list[FakeSandbox] = field(default_factory=list)

    @contextmanager
    def start(self, request: SandboxRequest) -> Iterator[FakeSandbox]:
        image = {path: file_facts(text) for path, text in self.files.items()}
        sandbox = FakeSandbox(
            request=request,
            commands=self.commands,
            scripts=self.scripts,
            image=image,
            files=dict(image),
            cwd=request.workdir,
            env=dict(request.env),
        )
        self.running.append(sandbox)
        try:
            yield sandbox
        finally:
            self.running.remove(sandbox)

    def fixture(self, request: SandboxRequest, script: str) -> FixtureImage:
        """Return the image itself: what the script makes is in ``files`` already."""
        done = self.scripts.get(script)
        if done is not None and done.exit_code != 0:
            raise FixtureError(f"the fixture failed with exit code {done.exit_code}")
        return FixtureImage(id=request.image)


def file_facts(text: str, *, mode: str = "644", owner: str = "root") -> FileFacts:
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    return FileFacts(type="file", mode=mode, owner=owner, size=len(data), digest=digest, text=text)


def _take(replies: list[Input], question: str) -> Input:
    named = [reply for reply in replies if reply.prompt and reply.prompt in question]
    reply = (named or replies)[0]
    replies.remove(reply)
    return reply


def _event(kind: str, data: str) -> Event:
    return Event(at=0.0, kind=kind, data=data)
