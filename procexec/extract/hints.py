"""What the extractor may know about a product: its programs, session programs and prompts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from procexec.model.document import CommandSpec, SessionProgram
from procexec.shell.canonical import canonical
from procexec.shell.options import known_programs
from procexec.shell.parse import parse
from procexec.shell.sessions import opened

_GENERIC_SESSION = re.compile(
    r"^(?:>>>|\.\.\.|[a-z][\w-]*(?:\([\w/-]+\))?[=\-*!]*[>#]|\w+=[#>])(?: |$)"
)
_GENERIC_PROMPTS = (
    r"\[[yYnN]/[yYnN](?:/[\w?]+)*\]\s*[?:]?",
    r"\((?:yes/no|y/n|Y/n|y/N)(?:/\[fingerprint\])?\)\s*[?:]?",
    r"(?i:^(?:enter|verifying|re-?type|confirm)\b[^:]*:)",
    r"(?i:password(?: for [^:]+)?(?: \(again\))?:)",
    r"(?i:pass ?phrase[^:]*:)",
)


@dataclass(frozen=True, slots=True)
class Hints:
    """Product knowledge, as data: see SandboxSpec."""

    programs: frozenset[str] = frozenset()
    sessions: Sequence[SessionProgram] = ()
    prompts: Sequence[str] = ()
    editors: Sequence[str] = ()
    options: Mapping[str, CommandSpec] = field(default_factory=dict)

    def is_program(self, word: str) -> bool:
        """Tell whether a word names a program: a known one, or a path to one."""
        name = word.rsplit("/", 1)[-1]
        is_path = word.startswith(("./", "/", "~/", "$HOME/")) and bool(name)
        return is_path or word in self.programs or word in known_programs()

    def session_of(self, text: str) -> SessionProgram | None:
        """Return the session program that a command starts without giving it statements."""
        if not any(spec.program in text for spec in self.sessions):
            return None
        commands = parse(text).commands
        if len(commands) != 1 or not commands[0].argv:
            return None
        return opened(canonical(commands[0], self.options), self.sessions)

    def session_line(self, line: str, spec: SessionProgram | None) -> str | None:
        """Return what was typed on a line of a session, or None if it is not such a line."""
        for pattern in spec.prompts if spec else ():
            if m := re.match(rf"(?:{pattern})(?: |$)", line):
                return line[m.end() :]
        if m := _GENERIC_SESSION.match(line):
            return line[m.end() :]
        return None

    def question_on(self, line: str) -> tuple[str, str] | None:
        """Return the question that a line begins with and what is typed behind it, maybe nothing."""
        for pattern in self.prompts:
            m = re.match(re.sub(r"(?:\\s\*)?\$$", "", pattern), line)
            if m and m.end():
                return m[0].strip(), line[m.end() :].strip()
        return None

    def reply_on(self, line: str) -> tuple[str, str] | None:
        """Return prompt and reply of an output line that ends in a typed reply, or None."""
        for pattern in (*self.prompts, *_GENERIC_PROMPTS):
            if (m := re.search(pattern, line)) and line[m.end() :].strip():
                return line[: m.end()].strip(), line[m.end() :].strip()
        return None
