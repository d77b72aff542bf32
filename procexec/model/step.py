"""What somebody does: the actions of answers and procedures, and their atoms."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Shell text, run as it stands."""

    text: str


class WriteMode(StrEnum):
    """What a file action does to the file."""

    CREATE = "create"
    APPEND = "append"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite:
    """A file that is written from prose and a fence."""

    path: str
    content: str
    mode: WriteMode = WriteMode.CREATE

    @property
    def text(self) -> str:
        return f"{self.mode} {self.path}"


class Place(StrEnum):
    """Where in a file an edit belongs; ``anchor`` are words of the line or block that are meant.

    What is set is a key; the file says how it spells an assignment.
    """

    MERGE = "where it fits"
    TOP = "at the top"
    END = "at the end"
    AFTER = "after"
    BEFORE = "before"
    FIRST_INSIDE = "first inside"
    LAST_INSIDE = "last inside"
    INSTEAD_OF = "instead of"
    SET = "set"
    UNCOMMENT = "uncomment"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """A change of a file that exists, told in prose and code."""

    path: str
    place: Place
    content: str = ""
    anchor: str = ""

    @property
    def text(self) -> str:
        return " ".join(word for word in ("edit", self.path + ":", self.place, self.anchor) if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A program that is started and what is typed into it, line by line.

    Without ``program`` it goes on with the program that was left open in another terminal.
    """

    program: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((self.program, *self.lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A reply to a prompt: ``keys`` are typed one after the other, as they stand.

    ``prompt`` is what the author says the question is, or empty.
    """

    keys: tuple[str, ...]
    prompt: str = ""

    @property
    def text(self) -> str:
        return "\n".join(key.rstrip("\r") for key in self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """Something that only a person can do: prose, a GUI. ``looks``: it changes nothing."""

    text: str
    looks: bool = False


Action = Command | FileWrite | FileEdit | Session | Input | Manual


class Repair(StrEnum):
    """What was done to a text before it was run."""

    DEDENTED = "dedented"
    PROMPT_STRIPPED = "prompt-stripped"
    DIRECTORY_FROM_PROSE = "directory-from-prose"
    PLACEHOLDER_BOUND = "placeholder-bound"
    KEYS_FROM_PROSE = "keys-from-prose"


class Rule(StrEnum):
    """The rule that made something a step. Where each stands: docs/reading.md."""

    EDIT_TOLD = "edit-told"
    SCRIPT_LINE = "script-line"
    TERMINAL_REPLY = "terminal-reply"
    TERMINAL_PROMPT = "terminal-prompt"
    OPEN_PROGRAM = "open-program"
    NAMED_PROGRAM = "named-program"
    ONLY_MENTIONS = "only-mentions"
    REPLY_TABLE = "reply-table"
    STEP_TABLE = "step-table"
    EDITOR_KEYS = "editor-keys"
    TOLD_TO_RUN = "told-to-run"
    TOLD_TO_CHANGE_DIRECTORY = "told-to-change-directory"
    TOLD_TO_EDIT = "told-to-edit"
    DEFAULT_REPLY = "default-reply"
    BY_HAND = "by-hand"
    TYPED_INTO_PROGRAM = "typed-into-program"
    TOLD_REPLY = "told-reply"

    @property
    def meaning(self) -> str:
        return _RULES[self]


_RULES: dict[Rule, str] = {
    Rule.EDIT_TOLD: "a change of a file that prose and code tell",
    Rule.SCRIPT_LINE: "a line of a code block that is for a shell",
    Rule.TERMINAL_REPLY: "typed after a question in the terminal",
    Rule.TERMINAL_PROMPT: "typed after a prompt",
    Rule.OPEN_PROGRAM: "a block for the program that was left open",
    Rule.NAMED_PROGRAM: "a block for the program that the text before it names",
    Rule.ONLY_MENTIONS: "a command that is mentioned in an answer without any other step",
    Rule.REPLY_TABLE: "a row of a table of prompts and replies",
    Rule.STEP_TABLE: "a row of a table of steps",
    Rule.EDITOR_KEYS: "an edit in the editor that the last command opened",
    Rule.TOLD_TO_RUN: "code in a sentence that tells to run it",
    Rule.TOLD_TO_CHANGE_DIRECTORY: "a sentence that tells to change the directory",
    Rule.TOLD_TO_EDIT: "a sentence that tells to edit a file",
    Rule.DEFAULT_REPLY: "tells to accept a default",
    Rule.BY_HAND: "an instruction that no command carries out",
    Rule.TYPED_INTO_PROGRAM: "typed into the program that was started",
    Rule.TOLD_REPLY: "a reply to a prompt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep:
    """One action of an answer, with its place in the Markdown (line and column from 1).

    ``confidence`` is 0-1: how sure the extractor is that a reader would do this.
    """

    action: Action
    line: int
    column: int
    confidence: float
    rule: Rule
    prose: str = ""
    output: str = ""
    repairs: tuple[Repair, ...] = ()
    optional: bool = False
    expects_failure: bool = False
    doubts: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()


class SkipReason(StrEnum):
    """Why a piece of an answer that looks like a step is none."""

    OUTPUT = "output"
    OTHER_PLATFORM = "other-platform"
    NEGATED = "negated"
    ALTERNATIVE = "alternative"
    MENTION = "mention"
    HISTORY = "history"
    CONDITIONAL = "conditional"
    LATER = "later"
    OTHER_LANGUAGE = "other-language"

    @property
    def meaning(self) -> str:
        return _SKIP_REASONS[self]


_SKIP_REASONS: dict[SkipReason, str] = {
    SkipReason.OUTPUT: "shown, not typed",
    SkipReason.OTHER_PLATFORM: "for another platform",
    SkipReason.NEGATED: "the text says not to run it",
    SkipReason.ALTERNATIVE: "another way to do what the steps before it do",
    SkipReason.MENTION: "no sentence tells to run it",
    SkipReason.HISTORY: "how it was done in the past",
    SkipReason.CONDITIONAL: "only for a case that may not come",
    SkipReason.LATER: "takes back what was done, or is for another time",
    SkipReason.OTHER_LANGUAGE: "no shell reads this language, and no file is named",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A piece of an answer that was considered and is not a step; ``because`` of these words."""

    text: str
    line: int
    column: int
    reason: SkipReason
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """All that was found in one answer, in reading order."""

    steps: tuple[AnswerStep, ...]
    skipped: tuple[Skipped, ...] = ()
    declines: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canonical:
    """A simple command in canonical form: comparable whatever its spelling.

    ``path`` is program and sub-commands; ``options`` maps the longest name to its values
    (``()`` for a flag), sorted; ``operands`` keep their order unless it does not matter. ``unknown``
    are options that the program's table does not have.
    """

    path: tuple[str, ...]
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    operands: tuple[str, ...] = ()
    benign: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    read_only: bool = False
    stdin: str = ""
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()


class AtomKind(StrEnum):
    """What an atom is compared as."""

    COMMAND = "command"
    FILE = "file"
    INPUT = "input"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """The unit of alignment: one simple command or pipeline, reply, file or manual action.

    ``step`` is the index of the step that it belongs to; ``start`` and ``end`` are offsets in
    that step's text. ``stages`` has one canonical command for each stage of a pipeline.
    """

    kind: AtomKind
    text: str
    step: int
    stages: tuple[Canonical, ...] = ()
    start: int = 0
    end: int = 0
    conditional: bool = False
    background: bool = False
    values: tuple[str, ...] = field(default=())
    looks: bool = False

    @property
    def read_only(self) -> bool:
        """Whether the option tables, or the words of a manual step, say that it changes nothing."""
        tables = bool(self.stages) and all(c.read_only and not c.writes for c in self.stages)
        return self.looks or tables
