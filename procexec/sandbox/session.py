"""One persistent shell on a terminal: type a step, wait, tell how it ended.

A step's text is delivered as a file and sourced whole, so that nothing is rewritten, cut or eaten
by the terminal. The start and the end of a step are marked with a random word that is typed with
the step and that the step cannot read; the end mark carries exit code and directory.
"""

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import pexpect
from pexpect.socket_pexpect import SocketSpawn

from procexec.model.run import CommandResult, Dialogue, Ending, Event
from procexec.model.step import Input
from procexec.sandbox import INTERRUPT, OUTPUT_LIMIT, SCRATCH, Dialog
from procexec.sandbox.collector import Collector
from procexec.sandbox.terminal import full_screen, last_line, open_line, plain

QUIET = 0.12  # seconds without output after which a known prompt counts
FIRST_LOOK = 0.4  # seconds without output before the processes are looked at
SERVES = 1.0  # seconds without output after which a program that listens is a server
READ_SIZE = 65536
LATE = 0.05  # seconds that output may be on its way from the terminal to us
TRANSCRIPT_LIMIT = 1 << 20

# `builtin` is the one name that must not be a function. The previous status is handed on, so that
# a step may start with `echo $?`; not under `set -e`, where handing it on would end the shell.
# The history takes no line of ours, whatever a step does to it: a mark could be read there.
BEGIN = r"""\unset -f builtin
\builtin printf '\036%s:b\037' "$1" >/dev/tty
\builtin return "$2"
"""
END = r"""\unset -f builtin
{ \builtin declare -p; \builtin declare -f; \builtin alias -p
\builtin shopt -p; \builtin umask -p; \builtin set +o; } >|SCRATCH/state/shell || \builtin true
\builtin printf %s "$1" >|SCRATCH/state/ended || \builtin true
\builtin printf '\036%s:e:%s:%s\037' "$1" "$2" "$PWD" >/dev/tty
[[ $HISTCONTROL == *ignore[sb]* ]] || HISTCONTROL=ignorespace:$HISTCONTROL
[[ $- == *e* ]] || \builtin return "$2"
""".replace("SCRATCH", SCRATCH)

COLUMNS, ROWS = 120, 40
# An engine gives a terminal without a size; line editors then ask it where the cursor is, and take
# what is typed next for its answer.
SIZE = f"\\stty rows {ROWS} cols {COLUMNS} 2>/dev/null"
START = r"""HISTFILE=SCRATCH/state/history
HISTCONTROL=ignorespace
[ -f ~/.bashrc ] && . ~/.bashrc
PS2='> '
SIZE
\builtin cd -- "$PROCEXEC_WORKDIR" 2>/dev/null
\builtin unset PROCEXEC_WORKDIR
""".replace("SCRATCH", SCRATCH).replace("SIZE", SIZE)

RESTORE = r"""HISTFILE=SCRATCH/state/history
HISTCONTROL=ignorespace
\builtin shopt -s expand_aliases
\builtin . SCRATCH/state/shell >/dev/null 2>&1
\builtin set +enuvx
SIZE
\builtin unset PROMPT_COMMAND PS0
\builtin cd -- "$PROCEXEC_WORKDIR" 2>/dev/null || \builtin cd /
\builtin unset PROCEXEC_WORKDIR
""".replace("SCRATCH", SCRATCH).replace("SIZE", SIZE)


class Interrupted(Exception):  # noqa: N818 - it is no error of the step
    """The stream ended: the shell, the sandbox or the engine is gone."""


class Reader(StrEnum):
    """Who sleeps in a read from the terminal; a lost shell had no file to tell the step's end with.

    Whoever finds a lost one has put the files there again. A server waits for clients instead.
    """

    NOBODY = "no"
    SHELL = "shell"
    LOST_SHELL = "lost"
    PROGRAM = "program"
    SERVER = "server"
    SUBSHELL = "subshell"


@dataclass(slots=True)
class ShellSession:
    """Drives a shell over a socket; what only the engine can tell comes through callables.

    ``waiting`` tells which process of the terminal sleeps in a read from it, if any; ``ended``
    gives the shell's exit status after the stream has ended, or None if there is none. ``nonce``
    is the random word of the last step, which the shell leaves in a file when the step has ended.
    ``pid`` is the shell's, ``stayed`` the step that holds the terminal; ``outer`` are the words of
    the steps that opened the shells which the next step is typed into, the outermost first.
    """

    spawn: "SocketSpawn[bytes]"
    prompts: tuple[re.Pattern[str], ...]
    waiting: Callable[[], Reader]
    ended: Callable[[], int | None]
    began: float
    events: list[Event] = field(default_factory=list)
    recorded: int = 0
    cwd: str = ""
    nonce: str = ""
    pid: int = 0
    stayed: "_Watch | None" = None
    outer: list[str] = field(default_factory=list)
    in_subshell: bool = False

    def run(self, number: str, *, timeout: float, dialog: Dialog) -> CommandResult:
        """Run the step that was delivered under a number.

        Raises:
            Interrupted: the shell was gone before the step began.
        """
        self.nonce = secrets.token_hex(8)
        watch = _Watch(
            nonce=self.nonce, deadline=time.monotonic() + timeout, outer=tuple(self.outer)
        )
        line = (
            f' \\. {SCRATCH}/begin {watch.nonce} "$?" 2>/dev/null;'
            f" \\. {SCRATCH}/steps/{number};{watch.last}"
        )
        return self._follow(watch, list(dialog.replies), dialog, line)

    def go_on(self, *, timeout: float, dialog: Dialog) -> CommandResult:
        """Type on into the program that stayed."""
        assert self.stayed is not None
        watch, self.stayed = self.stayed, None
        watch.renew(timeout)
        replies = list(dialog.replies)
        if not replies:
            return self._stay(watch)
        first = replies.pop(0)
        watch.answered("", first)
        return self._follow(watch, replies, dialog, "".join(first.keys))

    def _stay(self, watch: "_Watch") -> CommandResult:
        self.stayed = watch
        return watch.result(Ending.STAYS)

    def _follow(
        self, watch: "_Watch", replies: list[Input], dialog: Dialog, first: str
    ) -> CommandResult:
        """Type, and answer what is asked, until the step has ended, stays or is stuck."""
        at_end = dialog.at_end
        try:
            self._type(first)
            while not watch.end:
                ending = self._wait(watch)
                if ending is None:
                    continue
                if ending is Ending.STAYS and not _interrupts(replies):
                    return self._stay(watch)
                if ending not in (Ending.WAITS_FOR_INPUT, Ending.STAYS):
                    return watch.result(ending)
                prompt = watch.question()
                if replies:
                    reply = _take(replies, prompt)
                    watch.answered(prompt, reply)
                    for key in reply.keys:
                        self._type(key)
                elif again := _again(watch.dialogues, prompt):
                    watch.answered(prompt, again)
                    self._type(again.keys[-1])
                elif dialog.hold:
                    return self._stay(watch)
                elif at_end:
                    self._type(at_end)
                    at_end = ""
                elif self.in_subshell:
                    self.outer.append(watch.nonce)
                    return watch.result(Ending.ENTERED)
                else:
                    return watch.result(ending, prompt=prompt)
        except Interrupted:
            if not watch.begun:
                raise
            return watch.result(Ending.SHELL_ENDED, exit_code=self.ended())
        self.cwd = watch.cwd
        if watch.left in self.outer:  # the shell that an earlier step opened has ended
            del self.outer[self.outer.index(watch.left) :]
        return watch.result(Ending.EXITED, exit_code=watch.exit_code)

    def _wait(self, watch: "_Watch") -> Ending | None:
        """Read until something can be said: output came (None), or the step is stuck."""
        now = time.monotonic()
        if now >= watch.deadline:
            return Ending.TIMED_OUT
        if self._hear(watch, min(watch.patience(), watch.deadline - now)):
            return Ending.OUTPUT_LIMIT if watch.collector.size > OUTPUT_LIMIT else None
        if not watch.begun:
            return None
        if watch.shows_prompt(self.prompts):
            return Ending.WAITS_FOR_INPUT
        return self._look(watch) if watch.time_to_look() else None

    def _look(self, watch: "_Watch") -> Ending | None:
        """Look who reads; whatever came meanwhile is newer than what was seen."""
        reader = self.waiting()
        self.in_subshell = reader is Reader.SUBSHELL
        if reader is Reader.SERVER:
            return Ending.STAYS if watch.quiet() >= SERVES else None
        if reader is Reader.NOBODY or self._hear(watch, LATE):
            return None
        took_the_line = reader is Reader.SHELL and watch.interrupted  # Ctrl-C did
        if took_the_line or reader is Reader.LOST_SHELL:
            watch.interrupted = False
            self._type(watch.last)
            return None
        return Ending.WAITS_FOR_INPUT

    def _hear(self, watch: "_Watch", timeout: float) -> bool:
        data = self._read(timeout)
        if data:
            watch.feed(data)
            self._record("o", data)
        return bool(data)

    def settle(self, timeout: float) -> None:
        """Read until the shell is at its first prompt; what it says before is not a step's."""
        nonce = secrets.token_hex(8)
        self._type(f" \\builtin printf '\\036%s:e:%s:%s\\037' {nonce} $$ \"$PWD\"\n")
        watch = _Watch(nonce=nonce, deadline=time.monotonic() + timeout, begun=True)
        while not watch.end and time.monotonic() < watch.deadline:
            data = self._read(0.5)
            if data:
                watch.feed(data)
        if not watch.end:
            raise Interrupted
        self.cwd = watch.cwd
        self.pid = watch.exit_code or 0

    def _read(self, timeout: float) -> bytes:
        try:
            return bytes(self.spawn.read_nonblocking(READ_SIZE, timeout=max(timeout, 0.001)))
        except pexpect.TIMEOUT:
            return b""
        except (pexpect.EOF, OSError) as e:
            raise Interrupted from e

    def _type(self, keys: str) -> None:
        self._record("i", keys.encode())
        try:
            self.spawn.send(keys.encode())
        except OSError as e:
            raise Interrupted from e

    def _record(self, kind: str, data: bytes) -> None:
        if self.recorded < TRANSCRIPT_LIMIT:
            text = data.decode("utf-8", errors="replace")
            self.recorded += len(text)
            self.events.append(
                Event(at=round(time.monotonic() - self.began, 3), kind=kind, data=text)
            )


def _again(told: list[Dialogue], prompt: str) -> Input | None:
    """Return the last reply if the question is to repeat it, as for a new password."""
    if not told or not _REPEAT.search(prompt) or _REPEAT.search(told[-1].prompt):
        return None
    return Input(keys=(told[-1].reply + "\r",))


def _interrupts(replies: list[Input]) -> bool:
    return bool(replies) and all(key == INTERRUPT for key in replies[0].keys)


def _take(replies: list[Input], prompt: str) -> Input:
    """Take the reply for a question: the one that names it, else the next."""
    folded = _folded(prompt)
    for k, reply in enumerate(replies):
        named = _folded(reply.prompt)
        if len(named) > 3 and folded and (named in folded or folded in named):
            return replies.pop(k)
    return replies.pop(0)


def _folded(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


@dataclass(slots=True)
class _Watch:
    """What is known of the step that runs: its output so far and when it was last heard of."""

    nonce: str
    deadline: float
    outer: tuple[str, ...] = ()
    left: str = ""
    begun: bool = False
    end: bool = False
    exit_code: int | None = None
    cwd: str = ""
    collector: Collector = field(default_factory=Collector)
    late: Collector = field(default_factory=Collector)
    dialogues: list[Dialogue] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    next_look: float = FIRST_LOOK
    in_full_screen: bool = False
    since_reply: int = 0
    carry: bytes = b""
    interrupted: bool = False

    @property
    def last(self) -> str:
        """What has the shell tell the end of the step."""
        return f' \\. {SCRATCH}/end {self.nonce} "$?" 2>/dev/null\n'

    def renew(self, timeout: float) -> None:
        """Begin anew with output, dialogues and time: the step goes on."""
        self.collector, self.dialogues = Collector(), []
        self.started = time.monotonic()
        self.deadline = self.started + timeout

    def feed(self, data: bytes) -> None:
        """Take output: marks are cut out, the rest is kept."""
        self.heard = time.monotonic()
        self.next_look = FIRST_LOOK
        data = self.carry + data
        self.carry = b""
        if not self.begun:
            data = self._begin(data)
        if self.begun and data:
            data = self._finish(data)
        if data and self.begun:
            self.in_full_screen = full_screen(data, was=self.in_full_screen)
            self.since_reply += len(data)
            self.collector.add(data)

    def _begin(self, data: bytes) -> bytes:
        mark = f"\x1e{self.nonce}:b\x1f".encode()
        before, found, after = data.partition(mark)
        if found:
            self.begun = True
            self.late.add(before)
            return after
        self.carry = data[-len(mark) :]
        self.late.add(data[: -len(mark)])
        return b""

    def _finish(self, data: bytes) -> bytes:
        mark = f"\x1e{self.nonce}:e:".encode()
        told_by = next((n for n in (self.nonce, *self.outer) if f"\x1e{n}:e:".encode() in data), "")
        before, found, after = data.partition(f"\x1e{told_by or self.nonce}:e:".encode())
        if found:
            self.left = told_by if told_by in self.outer else ""
            told, closed, _ = after.partition(b"\x1f")
            if not closed:
                self.carry = data[len(before) :]
                return before
            status, _, cwd = told.decode("utf-8", errors="replace").partition(":")
            self.exit_code = int(status) if status.isdigit() else None
            self.cwd = cwd
            self.end = True
            return before
        at = data.rfind(b"\x1e")
        if at >= 0 and len(data) - at < len(mark):
            self.carry = data[at:]
            return data[:at]
        return data

    def quiet(self) -> float:
        return time.monotonic() - self.heard

    def patience(self) -> float:
        """Return how long to wait for output before something else is worth a look."""
        quiet = self.quiet()
        if quiet < QUIET:
            return QUIET - quiet
        return max(self._look_after() - quiet, 0.005)

    def shows_prompt(self, prompts: tuple[re.Pattern[str], ...]) -> bool:
        """Tell whether the cursor stands behind a known prompt."""
        if self.quiet() < QUIET or not self.since_reply:
            return False
        if self.in_full_screen:
            return False  # its last line says nothing: whether it reads is asked of the kernel
        line = open_line(self.collector.last(4096))
        return bool(line.strip()) and any(p.search(line.rstrip()) for p in prompts)

    def time_to_look(self) -> bool:
        """Tell whether it has been quiet for long enough to look at the processes; seldom."""
        if self.quiet() < self._look_after():
            return False
        self.next_look = min(self.next_look * 2, 8.0)
        return True

    def _look_after(self) -> float:
        """Return the quiet seconds before a look; a full-screen program waits after every key."""
        first = self.next_look == FIRST_LOOK
        return QUIET if self.in_full_screen and first else self.next_look

    def question(self) -> str:
        """Return the text of the prompt that stands there."""
        if self.in_full_screen:
            return "full-screen program"
        data = self.collector.last(4096)
        return open_line(data).strip() or last_line(data)

    def answered(self, prompt: str, reply: Input) -> None:
        self.dialogues.append(Dialogue(prompt=prompt, reply=reply.text))
        self.interrupted = any("\x03" in key for key in reply.keys)
        self.since_reply = 0
        self.heard = time.monotonic()
        self.next_look = FIRST_LOOK

    def result(
        self, ending: Ending, *, exit_code: int | None = None, prompt: str = ""
    ) -> CommandResult:
        return CommandResult(
            ending=ending,
            exit_code=exit_code,
            output=_without_ours(plain(self.collector.text()), self.nonce).strip("\n"),
            size_bytes=self.collector.size,
            truncated=self.collector.truncated,
            cwd=self.cwd,
            duration=time.monotonic() - self.started,
            dialogues=tuple(self.dialogues),
            prompt=prompt,
            late_output=_late(plain(self.late.text())),
        )


def _without_ours(text: str, nonce: str) -> str:
    """Return a step's output without what `set -x`, `set -v` and messages show of our files."""
    if SCRATCH in text:
        kept = (line for line in text.split("\n") if nonce not in line and not _OURS.match(line))
        text = _PLACE.sub("", "\n".join(kept))
    return text


_REPEAT = re.compile(
    r"(?i)\b(?:re-?(?:type|enter|peat)\w*|again|once more|verify\w*|confirm\w*)\b.*(?:password|pass ?phrase|pin|it)?\W*$"
)
_OURS = re.compile(rf"\++ (?:builtin )?\. {re.escape(SCRATCH)}/")
_PLACE = re.compile(rf"{re.escape(SCRATCH)}/steps/\d+: ")
_PROMPT = re.compile(r"^[\w.-]+@[\w.-]+:\S*[$#] ?")


def _late(text: str) -> str:
    """Return what was printed between steps, without the prompts and the typed line."""
    lines = (_PROMPT.sub("", line) for line in text.split("\n") if f"{SCRATCH}/begin" not in line)
    kept = [line for line in lines if line.strip() and not line.rstrip().endswith(("$", "#"))]
    return "\n".join(kept)
