"""All that is known about one answer at one version: what a verdict is made from."""

from dataclasses import dataclass, field

from procexec.model.alignment import Alignment
from procexec.model.document import Answer, Procedure, Unsafe
from procexec.model.plan import Plan
from procexec.model.run import CommandResult
from procexec.model.state import Change, CheckResult, Deviation, Reference, ReferenceStep
from procexec.model.step import AnswerStep, Extraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentedAtom:
    """An atom of the procedure as the verdict needs it.

    ``step`` is the step's id, ``content`` what it writes to a file.
    """

    id: str
    step: str
    text: str
    required: bool
    is_file: bool = False
    is_input: bool = False
    content: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndState:
    """What the answer left behind, beside the reference, all with mask and values applied.

    ``undone``: of each documented step the part of its effect that is not there;
    ``untouched``: the steps of which the answer has not even changed the same subjects;
    ``by_products``: the steps that only make new things of the reader's own, for later steps whose
    effect is there without them. ``unfinished``: changes that say that a documented step is missing
    or has another value; where the goal is reached all the same, they are collateral. ``complete``:
    nothing that the reference brings about is missing; ``footprint``: the subjects that it changes, if only
    on its way.
    """

    checks: tuple[CheckResult, ...] = ()
    forbidden: tuple[CheckResult, ...] = ()
    collateral: tuple[Change, ...] = ()
    aside: tuple[Change, ...] = ()
    unfinished: tuple[Change, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    undone: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    untouched: frozenset[str] = frozenset()
    by_products: frozenset[str] = frozenset()
    footprint: frozenset[str] = frozenset()
    complete: bool = False
    equal: bool = False

    @property
    def goal_reached(self) -> bool:
        """Whether every goal check holds; without any, whether the state is the reference's."""
        return all(check.held for check in self.checks) if self.checks else self.equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One answer, run on one version of the product.

    ``effects`` are the changes of the watched steps, by the answer's step index, ``exports`` the
    variables that they set for the programs after them; ``reference`` and
    ``end`` are None where nothing was run. ``elsewhere`` is the control on the newest version that
    works, where the documentation fails on this one.
    """

    answer: Answer
    line: int
    version: str
    procedure: Procedure | None
    extraction: Extraction
    alignment: Alignment | None = None
    documented: tuple[DocumentedAtom, ...] = ()
    plan: Plan | None = None
    results: tuple[CommandResult, ...] = ()
    effects: dict[int, tuple[Change, ...]] = field(default_factory=dict)
    exports: dict[int, frozenset[str]] = field(default_factory=dict)
    reference: Reference | None = None
    elsewhere: Reference | None = None
    end: EndState | None = None
    unsafe: tuple[Unsafe, ...] = ()
    limits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def sets_the_same(self, index: int, control: ReferenceStep) -> bool:
        """Tell whether a step sets the variables of a documented one, such as an environment's.

        All, or but for those that other versions of the same program set besides.
        """
        mine, theirs = self.exports.get(index, frozenset()), control.exports
        return bool(theirs) and (mine == theirs or (len(mine & theirs) > 1 and mine <= theirs))

    @property
    def steps(self) -> tuple[AnswerStep, ...]:
        return self.extraction.steps
