"""What people write: answers, procedures, sandboxes. Immutable, and strict about typos."""

import re
from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)")]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*$(?!\n)", max_length=64)]
ProcedureId = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$(?!\n)")]
Version = Annotated[str, Meta(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$(?!\n)", max_length=32)]
Text = Annotated[str, Meta(min_length=1, pattern=r"\S")]
Value = str | int


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all that is read from files."""


class Citation(Document, frozen=True):
    """A place in the documentation that the answer refers to."""

    document: str
    anchor: str = ""
    quote: str = ""


class Answer(Document, frozen=True):
    """One answer of the assistant: a line of answers.jsonl.

    ``procedure`` is the id of the documented procedure; null means that experts say the
    documentation does not cover the question; left out, it is found by the question.
    """

    id: Id
    answer: str
    question: str = ""
    product: Name | None = None
    procedure: ProcedureId | UnsetType | None = UNSET
    versions: tuple[Version, ...] = ()
    citations: tuple[Citation, ...] = ()
    slices: tuple[str, ...] = ()
    values: dict[str, Value] = field(default_factory=dict)
    metadata: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "\0" in self.answer:
            raise ValueError("`answer` contains a NUL character, which no shell accepts")


class Source(Document, frozen=True):
    """The documentation that a procedure was written from; ``sha256`` is the snapshot's."""

    title: str
    url: str
    section: str = ""
    version: str = ""
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")] | None = None


class Realisation(Document, frozen=True):
    """How a step is run on some versions: ``versions`` is e.g. ``<2.23`` or ``>=2.46``."""

    run: str
    versions: Annotated[str, Meta(pattern=r"^(<|<=|>|>=|==)[0-9][0-9A-Za-z.]*$(?!\n)")]


class FileContent(Document, frozen=True):
    """A file that a step writes."""

    path: str
    content: str
    append: bool = False


class Reply(Document, frozen=True):
    """What a person types at a prompt; each line is followed by Enter."""

    prompt: str
    reply: str


class SessionLines(Document, frozen=True):
    """An interactive program and what is typed into it."""

    program: str
    lines: tuple[str, ...]


class Step(Document, frozen=True):
    """A node of the procedure: exactly one of run, file, input, session, manual.

    ``after`` names real dependencies only; document order alone never binds.
    Steps with the same ``any_of`` and different ``branch`` are alternatives.
    """

    id: Id
    run: str | tuple[Realisation, ...] | None = None
    file: FileContent | None = None
    input: Reply | None = None
    session: SessionLines | None = None
    manual: str | None = None
    required: bool = True
    after: tuple[str, ...] = ()
    any_of: str | None = None
    branch: str | None = None
    repeatable: bool = False
    may_fail: bool = False

    def __post_init__(self) -> None:
        kinds = [self.run, self.file, self.input, self.session, self.manual]
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("a step has exactly one of: run, file, input, session, manual")
        if (self.any_of is None) != (self.branch is None):
            raise ValueError("any_of and branch go together")


class Check(Document, frozen=True):
    """A statement about the end state: a command with its exit code and output, or a file.

    The command runs in a shell of its own, as the procedure's user in its workdir; ``stdout``
    is compared after stripping white space at both ends.
    """

    id: Id
    run: Text | None = None
    exit: int | None = None
    stdout: str | None = None
    file: Text | None = None
    exists: bool = True
    contains: str | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        if (self.run is None) == (self.file is None):
            raise ValueError("a check has exactly one of: run, file")
        if self.run is not None and self.exit is None and self.stdout is None:
            raise ValueError("a check that runs a command says which exit code or stdout it wants")
        if self.run is not None and self.contains is not None:
            raise ValueError("`contains` is about a file; a command's output is compared by stdout")


class Procedure(Document, frozen=True):
    """A documented procedure: a graph of steps with a fixture, values, a goal, a pinned source.

    The fixture runs as ``fixture_user``, else as the user who follows the procedure.
    """

    id: ProcedureId
    title: str
    product: Name
    doc: Source
    versions: Annotated[tuple[Version, ...], Meta(min_length=1)]
    steps: Annotated[tuple[Step, ...], Meta(min_length=1)]
    documented_for: tuple[Version, ...] = ()
    user: str = "root"
    workdir: str = "/root"
    questions: tuple[str, ...] = ()
    inspired_by: tuple[str, ...] = ()
    given: dict[str, Value] = field(default_factory=dict)
    free: dict[str, Value] = field(default_factory=dict)
    fixture: str = ""
    fixture_user: str | None = None
    goal: tuple[Check, ...] = ()
    must_not: tuple[Check, ...] = ()
    tolerate: tuple[str, ...] = ()


class View(Document, frozen=True):
    """A command whose output lines count as state instead of the files that it covers.

    Each line is one fact; its first word is what the fact is about. ``covers`` are globs of
    absolute paths whose content the view tells (type, mode and owner still count); paths that
    match ``hides`` do not count at all. Facts that match ``harmless`` may be added by any answer;
    what ``wordings`` match within a fact may be put in other words.
    """

    name: Name
    run: str
    covers: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    user: str | None = None


class Prompt(Document, frozen=True):
    """A prompt of an interactive program: a regular expression for the last line it prints."""

    pattern: str
    program: str = ""
    shell: bool = False


class SessionProgram(Document, frozen=True):
    """A program that reads statements; each typed line can stand for a command of its own.

    Statements end with ``separator``, with a line's end that matches one of ``ends``, and where a
    line starts with ``commands``. ``quit`` and ``read_only`` are patterns of whole statements;
    ``retarget`` are patterns of lines that change what the statements are about (group 1);
    ``errors`` are patterns of printed lines that tell that a statement failed: such programs go on
    and exit with 0.

    On the command line, up to ``operands`` operands leave the program waiting for statements,
    unless one of the options ``batch`` is there. The first of them is what the statements are
    about, or the value of one of the options ``target``. Operands beyond them are statements, or
    the words of one (``words``), or a script and what is for it (``scripts``); statements are the
    values of the options ``statements``, too.
    """

    program: str
    operands: int = 1
    batch: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    words: bool = False
    scripts: bool = False
    prompts: tuple[str, ...] = ()
    quit: tuple[str, ...] = ()
    retarget: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    separator: str = ""
    ends: tuple[str, ...] = ()
    commands: str = ""
    comment: str = ""


class Severity(StrEnum):
    """What comes of an unsafe step: the answer fails, or it is listed only."""

    FAIL = "fail"
    WARN = "warn"


class Unsafe(Document, frozen=True):
    """A kind of step that no documentation should tell people to run.

    ``in_files``: it counts in what a step writes to a file, too.
    """

    name: Name
    pattern: str
    reason: str
    source: str = ""
    severity: Severity = Severity.FAIL
    in_files: bool = True


class OptionSpec(Document, frozen=True):
    """An option of a command: all its spellings, whether it takes a value, whether it matters.

    ``means``: the options of the same command that it stands for. ``read_only``: with it the
    command changes nothing, but for one with an option of ``unless``.
    """

    names: Annotated[tuple[str, ...], Meta(min_length=1)]
    value: bool = False
    benign: bool = False
    repeatable: bool = False
    means: tuple[str, ...] = ()
    read_only: bool = False
    unless: tuple[str, ...] = ()


class CommandSpec(Document, frozen=True):
    """The option table of one program or sub-command.

    ``read_only``: the command changes nothing. ``commutative``: the order of operands is free.
    ``same_as``: the sub-commands, from the program, that it is another name of. ``default``: the
    sub-command that is meant where none is named. ``words``: other names of the first operand.
    ``operands_end_options``: what looks like an option behind an operand is none of its own.
    ``bundled``: the first word may be options without their dash.
    """

    options: tuple[OptionSpec, ...] = ()
    commands: dict[str, "CommandSpec"] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    read_only: bool = False
    commutative: bool = False
    long_single_dash: bool = False
    same_as: tuple[str, ...] = ()
    default: str = ""
    words: dict[str, str] = field(default_factory=dict)
    operands_end_options: bool = False
    bundled: bool = False


class Grant(Document, frozen=True):
    """A weakening of the default hardening that a product needs, with the reason.

    ``knob`` is ``capability`` with the name of one, or ``new-privileges`` with ``yes``, as sudo needs.
    """

    knob: Text
    value: Text
    reason: Text


class Service(Document, frozen=True):
    """A program that runs in the background: an image cannot keep it, so sandboxes start it.

    All three are commands that run as root; ``ready`` exits with 0 as soon as it can be used.
    What runs when a fixture ends runs at the start of every sandbox made from it.
    """

    name: Name
    start: Text
    stop: Text
    ready: Text
    timeout: float = 20.0


class Packages(Document, frozen=True):
    """Lists of packages, fetched on the host and put beside the Dockerfile as folders.

    ``wheels`` is a file of pip requirements with hashes, one release a line; its wheels come as
    ``wheels/``. ``tarballs`` is a file of npm releases, ``name@version sha512-...`` a line; they
    come as ``tarballs/name@version.tgz`` with ``/`` as ``__``.
    """

    wheels: str | None = None
    python: Version = "3.11"
    tarballs: str | None = None


class SandboxSpec(Document, frozen=True):
    """sandbox.yaml: a product at one version, and what procexec must know about it.

    ``limits`` are patterns of a failing step's output that say that the sandbox cannot do it, such
    as a package that its offline index does not have. ``probe`` is a command that succeeds, as root,
    where the product is there.
    """

    product: Name
    version: Version
    base: str
    user: str = "root"
    workdir: str = "/root"
    env: dict[str, str] = field(default_factory=dict)
    probe: Text | None = None
    packages: Packages | None = None
    services: tuple[Service, ...] = ()
    views: tuple[View, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    editors: tuple[str, ...] = ()
    sessions: tuple[SessionProgram, ...] = ()
    ignore: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    unsafe: tuple[Unsafe, ...] = ()
    options: dict[str, CommandSpec] = field(default_factory=dict)
    step_timeout: float = 30.0
    memory: str = "1g"
    grants: tuple[Grant, ...] = ()


def version_key(version: str) -> tuple[int, ...]:
    """Return a version's numbers, for ordering: ``1.1.1`` is (1, 1, 1)."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def version_matches(version: str, constraint: str) -> bool:
    """Tell whether a version satisfies e.g. ``<2.23``, compared number by number."""
    operator, wanted = re.fullmatch(r"(<=|>=|==|<|>)(.+)", constraint).groups()  # type: ignore[union-attr]
    left, right = version_key(version), version_key(wanted)
    return {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": left == right,
    }[operator]
