"""What procexec says: findings, verdicts, results, summaries."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from procexec.model.state import Coverage


class Verdict(StrEnum):
    """The outcome, in the order of conformance testing (TTCN-3): the worse wins."""

    PASS = "pass"
    INCONCLUSIVE = "inconclusive"
    FAIL = "fail"
    ERROR = "error"


SEVERITY = tuple(Verdict)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict; nothing to go by is inconclusive, not a pass."""
    return max(verdicts, key=SEVERITY.index, default=Verdict.INCONCLUSIVE)


class Owner(StrEnum):
    """Who must act on a finding."""

    NONE = "none"
    ASSISTANT = "assistant"
    DOCUMENTATION = "documentation"
    JUDGE = "judge"
    ENVIRONMENT = "environment"


class Code(StrEnum):
    """The stable codes of findings."""

    MISSING_STEP = "PX101"
    WRONG_ORDER = "PX102"
    INVENTED_STEP = "PX103"
    OLD_VERSION_STEP = "PX104"
    WRONG_VALUE = "PX105"
    STEP_FAILED = "PX106"
    GOAL_NOT_REACHED = "PX107"
    COLLATERAL_CHANGE = "PX108"
    UNSAFE_STEP = "PX109"
    NOT_DECLINED = "PX110"
    RISKY_STEP = "PX111"
    STALE_DOCS = "PX201"
    VACUOUS_GOAL = "PX202"
    UNRESOLVED_PLACEHOLDER = "PX301"
    NEEDS_INPUT = "PX302"
    NOT_RUNNABLE = "PX303"
    OPEN_QUESTION = "PX304"
    NO_STEPS = "PX305"
    AMBIGUOUS_EDIT = "PX306"
    UNKNOWN_PROCEDURE = "PX307"
    TEST_BED = "PX401"

    @property
    def slug(self) -> str:
        """The finding's name in words, as people say it: ``missing-step``."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fact for or against the answer.

    ``line`` and ``column`` are in the answer's Markdown, 0 when it has no place there; ``step``
    is the documented step's id. An informational finding does not move the verdict.
    """

    code: Code
    message: str
    owner: Owner
    line: int = 0
    column: int = 0
    step: str = ""
    command: str = ""
    evidence: str = ""
    fix: str = ""
    informational: bool = False

    @property
    def slug(self) -> str:
        return self.code.slug


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """An answer's step with all that is known about it.

    ``label``: matched, variant, paraphrase, displaced, equivalent, wrong-value, old-version, invented,
    unsafe, check, benign; ``steps`` are the documented ones that it stands for.
    """

    text: str
    line: int
    column: int
    label: str
    steps: tuple[str, ...] = ()
    ending: str = ""
    exit_code: int | None = None
    output: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The reference runs that an answer was compared with: how much of them a mask takes out.

    ``coverage`` is of the end state, ``steps`` of each documented step's own effect.
    """

    works: bool
    runs: int
    coverage: Coverage
    steps: dict[str, Coverage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerResult:
    """The verdict on one answer at one version of the product.

    ``faithful``: it does what the documentation says; ``works``: it reaches the goal on this
    version; None: not known. ``reference`` is None and ``grade`` empty where nothing was run.
    """

    id: str
    version: str
    product: str
    procedure: str | None
    verdict: Verdict
    owner: Owner
    line: int = 0
    findings: tuple[Finding, ...] = ()
    steps: tuple[StepResult, ...] = ()
    faithful: bool | None = None
    works: bool | None = None
    fitness: float | None = None
    slices: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reference: Control | None = None
    reuse_key: str = ""
    grade: str = ""

    @property
    def key(self) -> str:
        return f"{self.id}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many results of each verdict."""

    passed: int = 0
    inconclusive: int = 0
    failed: int = 0
    errors: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.inconclusive + self.failed + self.errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run in numbers; no times and no run ids, so that equal inputs give equal bytes."""

    counts: Counts
    by_procedure: dict[str, dict[str, Counts]] = field(default_factory=dict)
    by_owner: dict[str, int] = field(default_factory=dict)
    by_code: dict[str, int] = field(default_factory=dict)
    by_slice: dict[str, Counts] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    results: tuple[dict[str, object], ...] = ()
