"""What a sandbox looks like: facts about files and views, and differences between them."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One path: type is file, directory, link or other; mode is octal text; digest SHA-256."""

    type: str
    mode: str = ""
    owner: str = ""
    size: int = 0
    digest: str = ""
    text: str | None = None
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What a goal check found."""

    id: str
    held: bool
    wanted: str = ""
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """A sandbox at one moment, as seen from outside the session.

    ``files`` are the paths that differ from the image (None: deleted); ``before`` are the same
    paths in the image. ``views`` maps a view's name to its lines, a multiset. ``exported`` are the
    variables that the session's shell hands on, as its last step left them.
    """

    files: dict[str, FileFacts | None] = field(default_factory=dict)
    before: dict[str, FileFacts | None] = field(default_factory=dict)
    views: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checks: tuple[CheckResult, ...] = ()
    cwd: str = ""
    exported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """One thing that is true of a state: a subject (path or view), and what is said about it."""

    subject: str
    text: str


class Sign(StrEnum):
    """Whether a fact came to be or went away."""

    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """A fact that came to be or went away."""

    sign: Sign
    fact: Fact

    @property
    def inverse(self) -> "Change":
        """The change that takes this one back."""
        other = Sign.REMOVED if self.sign is Sign.ADDED else Sign.ADDED
        return Change(other, self.fact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """What differs between two runs of the same procedure, so means nothing.

    ``subjects`` have no comparable content; ``patterns`` are regular expressions, by subject,
    of facts in which something varies.
    """

    subjects: frozenset[str] = frozenset()
    patterns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many facts were changed, how many of them a mask takes out (``dropped``), and in how
    many it leaves words open (``varied``).
    """

    facts: int = 0
    dropped: int = 0
    varied: int = 0

    @property
    def masked(self) -> int:
        return self.dropped + self.varied

    @property
    def is_total(self) -> bool:
        """Whether nothing is left that could be compared."""
        return self.facts > 0 and self.dropped == self.facts

    def __str__(self) -> str:
        detail = f" ({self.varied} only in part)" if self.varied else ""
        return f"{self.masked} of {self.facts} facts masked{detail}"


class GoalFault(StrEnum):
    """Why reaching a procedure's goal says nothing."""

    HELD_BEFORE = "held-before"
    UNSTABLE = "unstable"
    MASKED = "masked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A difference from the reference's end state: missing, wrong or extra."""

    kind: str
    subject: str
    expected: str = ""
    actual: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "missing":
                return f"{self.subject}: missing {self.expected}"
            case "extra":
                return f"{self.subject}: unexpected {self.actual}"
            case _:
                return f"{self.subject}: {self.actual} instead of {self.expected}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceStep:
    """What a documented step did when it was run: the control for the answer's.

    ``cwd`` is the directory in which it was begun; ``exports`` are the variables of the shell that
    it sets or changes for the programs started after it.
    """

    id: str
    text: str
    ending: str
    exit_code: int | None
    output: str
    error: str = ""
    changes: tuple[Change, ...] = ()
    moves_shell: bool = False
    exports: frozenset[str] = frozenset()
    cwd: str = ""
    coverage: Coverage = Coverage()

    @property
    def succeeded(self) -> bool:
        return not self.error and (self.exit_code == 0 or self.ending in ("stays", "entered"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The documented procedure, run ``runs`` times on one version: control, footprint and mask.

    ``goal_held_before``: the goal was true before step 1, so it says nothing. ``unstable`` are
    the goal checks that the runs do not agree on. ``outdated``: a required step fails here that
    succeeds on another version.
    """

    procedure: str
    version: str
    steps: tuple[ReferenceStep, ...]
    changes: tuple[Change, ...]
    checks: tuple[CheckResult, ...]
    goal_held_before: bool
    mask: Mask
    fixture: ObservedState
    manual: bool = False
    outdated: bool = False
    runs: int = 2
    unstable: tuple[str, ...] = ()
    coverage: Coverage = Coverage()

    @property
    def failed_steps(self) -> tuple[ReferenceStep, ...]:
        return tuple(step for step in self.steps if not step.succeeded)

    @property
    def goal_fault(self) -> GoalFault | None:
        """Why the goal says nothing, None where it does. Without checks the end state is the goal."""
        if self.goal_held_before:
            return GoalFault.HELD_BEFORE
        if self.unstable:
            return GoalFault.UNSTABLE
        if not self.checks and self.coverage.is_total:
            return GoalFault.MASKED
        return None

    @property
    def goal_told(self) -> str:
        """What is wrong with the goal, for people; empty where nothing is."""
        match self.goal_fault:
            case GoalFault.HELD_BEFORE:
                return "the goal holds before the first step: it says nothing"
            case GoalFault.UNSTABLE:
                names = ", ".join(self.unstable)
                return (
                    f"the goal ({names}) comes out otherwise in other runs of the documented "
                    f"procedure: it says nothing"
                )
            case GoalFault.MASKED:
                return (
                    f"every change that the procedure makes is masked ({self.coverage.facts} "
                    f"facts): being equal to the documented end state says nothing"
                )
            case None:
                return ""

    @property
    def goal_hint(self) -> str:
        """What the procedure's author can do about its goal; empty where it is fine."""
        match self.goal_fault:
            case GoalFault.HELD_BEFORE:
                return "add a check to `goal` that only the procedure makes true"
            case GoalFault.UNSTABLE:
                return "have the check look only at what is the same each time"
            case GoalFault.MASKED:
                return "add a check to `goal` of what is the same each time, or fix it in `fixture`"
            case None:
                return ""

    @property
    def works(self) -> bool:
        """Whether the documentation is right on this version."""
        reached = all(check.held for check in self.checks)
        return reached and self.goal_fault is None and not self.outdated
