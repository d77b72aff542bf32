"""Evidence to a verdict: the table, row by row, with evidence made by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.model.alignment import Alignment, Label, Move, MoveKind
from procexec.model.document import Answer, Procedure, Severity, Source, Step, Unsafe
from procexec.model.evidence import DocumentedAtom, EndState, Evidence
from procexec.model.plan import Blocked, Plan, PlannedStep
from procexec.model.question import Opinion, OpinionVerdict, Question
from procexec.model.result import (
    SEVERITY,
    AnswerResult,
    Code,
    Control,
    Owner,
    Verdict,
    overall,
)
from procexec.model.run import CommandResult, Ending
from procexec.model.state import (
    Change,
    CheckResult,
    Coverage,
    Deviation,
    Fact,
    Mask,
    ObservedState,
    Reference,
    ReferenceStep,
    Sign,
)
from procexec.model.step import (
    Action,
    AnswerStep,
    Atom,
    AtomKind,
    Command,
    Extraction,
    Manual,
    Rule,
)
from procexec.verdict import (
    decide,
    may_be_of_another_version,
    of_another_version,
    questions,
)

PROCEDURE = Procedure(
    id="tool/make",
    title="Make a thing",
    product="tool",
    doc=Source(title="Manual", url="https://example.test/manual"),
    versions=("1",),
    steps=(Step(id="a", run="make a"), Step(id="b", run="make b")),
)
A_MADE = Change(Sign.ADDED, Fact("/home/dev/a", "is a file"))
B_MADE = Change(Sign.ADDED, Fact("/home/dev/b", "is a file"))
HARM = Change(Sign.ADDED, Fact("/etc/x", "is a file"))
GOAL = CheckResult(id="g1", held=True, wanted="ls: exit code 0", found="exit code 0")
MISSED = replace(GOAL, held=False, found="exit code 2")


@dataclass(frozen=True, kw_only=True)
class Did:
    """A step of the answer, what it stands for, and what came of it."""

    text: str
    node: str | None = None
    kind: MoveKind = MoveKind.SYNCHRONOUS
    label: Label = Label.MATCHED
    ending: Ending = Ending.EXITED
    exit_code: int | None = 0
    output: str = ""
    blocked: tuple[Blocked, ...] = ()
    effect: tuple[Change, ...] = ()
    action: Action | None = None
    expects_failure: bool = False
    cwd: str = ""
    against: tuple[str, ...] = ()
    reshaped: bool = False
    added: bool = False
    foreign: bool = False
    exports: frozenset[str] = frozenset()


A = Did(text="make a", node="a")
B = Did(text="make b", node="b")
EXTRA = Did(text="cp x y", kind=MoveKind.ANSWER_ONLY, label=Label.EXTRA)
LOOK = Did(text="ls", kind=MoveKind.ANSWER_ONLY, label=Label.CHECK)
REACHED = EndState(checks=(GOAL,), equal=True)
NOT_REACHED = EndState(checks=(MISSED,))
WITHOUT_B = EndState(checks=(MISSED,), undone={"b": (B_MADE,)}, untouched=frozenset(["b"]))


def control(name: str, change: Change, exit_code: int = 0) -> ReferenceStep:
    return ReferenceStep(
        id=name,
        text=f"make {name}",
        ending="exited",
        exit_code=exit_code,
        output="",
        changes=(change,) if exit_code == 0 else (),
    )


WORKS = Reference(
    procedure="tool/make",
    version="1",
    steps=(control("a", A_MADE), control("b", B_MADE)),
    changes=(A_MADE, B_MADE),
    checks=(GOAL,),
    goal_held_before=False,
    mask=Mask(),
    fixture=ObservedState(),
)
STALE = replace(
    WORKS, steps=(control("a", A_MADE), control("b", B_MADE, exit_code=2)), checks=(MISSED,)
)


def evidence(
    *steps: Did,
    missing: Sequence[str] = (),
    reference: Reference = WORKS,
    end: EndState = REACHED,
    unsafe: Sequence[Unsafe] = (),
    violations: tuple[tuple[str, str], ...] = (),
) -> Evidence:
    atoms = tuple(
        Atom(kind=AtomKind.COMMAND, text=step.text, step=k) for k, step in enumerate(steps)
    )
    moves = [
        Move(
            kind=step.kind,
            label=step.label,
            cost=0,
            atom=k,
            node=step.node,
            against=step.against,
            reshaped=step.reshaped,
            added=step.added,
            foreign=step.foreign,
        )
        for k, step in enumerate(steps)
    ]
    moves += [
        Move(kind=MoveKind.PROCEDURE_ONLY, label=Label.MISSING, cost=1000, node=name)
        for name in missing
    ]
    return Evidence(
        answer=Answer(id="x", answer="text", slices=("easy",)),
        line=1,
        version="1",
        procedure=PROCEDURE,
        extraction=Extraction(steps=tuple(_step(step, k) for k, step in enumerate(steps))),
        alignment=Alignment(
            atoms=atoms, moves=tuple(moves), cost=0, fitness=1.0, violations=violations
        ),
        documented=tuple(
            DocumentedAtom(id=name, step=name, text=f"make {name}", required=True)
            for name in ("a", "b")
        ),
        plan=Plan(
            steps=tuple(
                PlannedStep(index=k, text=step.text, blocked=step.blocked)
                for k, step in enumerate(steps)
            )
        ),
        results=tuple(_result(step) for step in steps),
        effects={k: step.effect for k, step in enumerate(steps) if step.effect},
        exports={k: step.exports for k, step in enumerate(steps) if step.exports},
        reference=reference,
        end=end,
        unsafe=tuple(unsafe),
    )


def _step(step: Did, k: int) -> AnswerStep:
    return AnswerStep(
        action=step.action or Command(text=step.text),
        line=k + 1,
        column=1,
        confidence=1,
        rule=Rule.SCRIPT_LINE,
        expects_failure=step.expects_failure,
    )


def _result(step: Did) -> CommandResult:
    if step.blocked:
        return CommandResult(ending=Ending.NOT_RUN)
    return CommandResult(
        ending=step.ending, exit_code=step.exit_code, output=step.output, cwd=step.cwd
    )


def slugs(result: AnswerResult) -> list[str]:
    return [finding.slug for finding in result.findings]


def codes(result: AnswerResult) -> set[Code]:
    return {finding.code for finding in result.findings}


def summary(result: AnswerResult) -> tuple[str, str, list[str]]:
    return result.verdict.value, result.owner.value, slugs(result)


# --- row 1: all is done -----------------------------------------------------------------------


def test_all_done_and_the_goal_reached_is_a_pass() -> None:
    result = decide(evidence(A, B))

    assert summary(result) == ("pass", "none", [])
    assert (result.faithful, result.works, result.fitness) == (True, True, 1.0)


def test_a_look_more_is_no_fault() -> None:
    assert summary(decide(evidence(A, LOOK, B))) == ("pass", "none", [])


def test_an_extra_step_without_harm_is_no_fault() -> None:
    assert summary(decide(evidence(A, EXTRA, B))) == ("pass", "none", [])


def test_a_check_that_finds_nothing_is_no_fault() -> None:
    grep = replace(LOOK, text="grep x f", exit_code=1)

    found = decide(evidence(A, B, replace(grep, expects_failure=True)))

    assert found.verdict is Verdict.PASS


def test_another_way_with_the_same_effect_is_done() -> None:
    other = replace(EXTRA, text="touch b", effect=(B_MADE,))

    assert summary(decide(evidence(A, other, missing=["b"]))) == ("pass", "none", [])


def test_a_substitute_that_reaches_the_goal_without_harm_is_right() -> None:
    other = replace(B, text="make B", label=Label.SUBSTITUTED)

    assert summary(decide(evidence(A, other))) == ("pass", "none", [])


def test_a_step_that_the_reference_fails_too_without_harm_is_right() -> None:
    both = replace(WORKS, steps=(control("a", A_MADE), control("b", B_MADE, exit_code=1)))

    assert decide(evidence(A, replace(B, exit_code=1), reference=both)).verdict is Verdict.PASS


# --- row 2: the assistant's faults ------------------------------------------------------------


def test_a_missing_step_is_the_assistant_s_fault() -> None:
    result = decide(evidence(A, missing=["b"], end=WITHOUT_B))

    assert summary(result) == ("fail", "assistant", ["missing-step", "goal-not-reached"])
    assert result.findings[0].fix == "add: make b"
    assert result.findings[0].evidence == "+ /home/dev/b: is a file"
    assert (result.faithful, result.works) == (False, False)


def test_a_wrong_order_counts_even_where_the_goal_is_reached() -> None:
    late = replace(A, kind=MoveKind.DISPLACED)

    result = decide(evidence(B, late, violations=(("a", "b"),)))

    assert summary(result) == ("fail", "assistant", ["wrong-order"])
    assert result.findings[0].message == "the step stands at the wrong place relative to `make b`"
    assert (result.findings[0].line, result.works, result.faithful) == (2, True, False)


def test_a_harmful_step_of_its_own_is_invented() -> None:
    end = replace(REACHED, collateral=(HARM,))

    result = decide(evidence(A, B, replace(EXTRA, effect=(HARM,)), end=end))

    assert summary(result) == ("fail", "assistant", ["invented-step", "collateral-change"])
    assert result.findings[0].line == 3


def test_a_step_of_its_own_that_fails_is_invented() -> None:
    result = decide(evidence(A, B, replace(EXTRA, exit_code=127)))

    assert summary(result) == ("fail", "assistant", ["step-failed", "invented-step"])


def test_the_step_of_another_version_is_old_where_it_does_not_do() -> None:
    old = replace(B, text="make old b", label=Label.OTHER_VERSION, exit_code=2)

    result = decide(evidence(A, old, end=replace(WITHOUT_B, untouched=frozenset())))

    assert slugs(result) == ["step-failed", "old-version-step", "goal-not-reached"]
    assert result.findings[1].fix == "documented: make b"


def test_a_wrong_value_is_told_with_the_documented_step() -> None:
    wrong = replace(B, text="make c", label=Label.SUBSTITUTED)

    result = decide(evidence(A, wrong, end=WITHOUT_B))

    assert summary(result) == ("fail", "assistant", ["wrong-value", "goal-not-reached"])
    assert result.findings[0].step == "b"


def test_a_step_that_fails_is_told_with_its_output() -> None:
    result = decide(evidence(A, replace(B, exit_code=2, output="no rule"), end=WITHOUT_B))

    assert result.findings[0].message == "the step ended with exit code 2"
    assert (result.findings[0].evidence, result.findings[0].step) == ("no rule", "b")


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (Ending.TIMED_OUT, "the step was stopped after 0 s"),
        (Ending.OUTPUT_LIMIT, "the step printed 0 bytes and was stopped"),
        (Ending.SANDBOX_DIED, "the step killed the sandbox"),
    ],
)
def test_a_step_that_never_comes_back_has_failed(ending: Ending, message: str) -> None:
    result = decide(evidence(A, replace(B, ending=ending, exit_code=None), end=WITHOUT_B))

    assert (result.verdict, result.findings[0].message) == (Verdict.FAIL, message)


def test_a_shell_that_ends_well_has_not_failed() -> None:
    left = replace(B, ending=Ending.SHELL_ENDED, exit_code=0)

    assert decide(evidence(A, left)).verdict is Verdict.PASS


def test_a_goal_not_reached_is_told_with_what_was_found() -> None:
    result = decide(evidence(A, B, end=NOT_REACHED))

    assert summary(result) == ("fail", "assistant", ["goal-not-reached"])
    assert result.findings[0].evidence == "wanted ls: exit code 0\nfound exit code 2"


def test_without_a_goal_the_reference_s_end_state_is_the_goal() -> None:
    assert decide(evidence(A, B, end=EndState(equal=True))).verdict is Verdict.PASS
    assert slugs(decide(evidence(A, B, end=EndState(equal=False)))) == ["goal-not-reached"]


def test_what_must_not_happen_is_collateral() -> None:
    end = replace(REACHED, forbidden=(replace(MISSED, id="m1", wanted="cat x: 'x'"),))

    result = decide(evidence(A, B, end=end))

    assert summary(result) == ("fail", "assistant", ["collateral-change"])
    assert result.findings[0].evidence == "must stay cat x: 'x'; found exit code 2"
    assert result.works is False


UNSAFE = Unsafe(name="open-door", pattern=r"chmod 777", reason="anybody can write", source="CWE")


def test_an_unsafe_step_counts_though_all_else_is_right() -> None:
    result = decide(evidence(A, B, replace(EXTRA, text="chmod 777 x"), unsafe=[UNSAFE]))

    assert summary(result) == ("fail", "assistant", ["unsafe-step"])
    assert result.findings[0].message == "unsafe (open-door): anybody can write"


def test_what_the_documentation_itself_tells_is_not_unsafe() -> None:
    kind = replace_pattern(UNSAFE, "make b")

    assert decide(evidence(A, B, unsafe=[kind])).verdict is Verdict.PASS


def replace_pattern(kind: Unsafe, pattern: str) -> Unsafe:
    return Unsafe(name=kind.name, pattern=pattern, reason=kind.reason)


# --- rows 3 to 5: the documentation fails on this version -------------------------------------

FOLLOWS = evidence(A, replace(B, exit_code=2), reference=STALE, end=WITHOUT_B)
ANOTHER_WAY = evidence(A, replace(EXTRA, text="touch b"), missing=["b"], reference=STALE)
ASTRAY = evidence(A, replace(EXTRA, exit_code=1), missing=["b"], reference=STALE, end=WITHOUT_B)


PASSES = decide(evidence(A, B))
FAILS = decide(evidence(A, replace(B, exit_code=2), end=WITHOUT_B))


@pytest.mark.parametrize("elsewhere", [PASSES, None])
def test_an_answer_that_follows_stale_docs_is_the_documentation_s_fault(
    elsewhere: AnswerResult | None,
) -> None:
    result = decide(FOLLOWS, elsewhere=elsewhere)

    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.DOCUMENTATION)
    assert result.findings[0].code is Code.STALE_DOCS
    assert "its step `make b` fails" in result.findings[0].message
    assert {finding.owner for finding in result.findings} == {Owner.DOCUMENTATION}
    assert result.faithful is True


def test_another_way_that_works_passes_and_the_stale_docs_are_told() -> None:
    result = decide(ANOTHER_WAY)

    assert summary(result) == ("pass", "none", ["stale-docs"])
    (stale,) = result.findings
    assert (stale.informational, stale.owner) == (True, Owner.DOCUMENTATION)


@pytest.mark.parametrize("elsewhere", [FAILS, None])
def test_both_fail_each_in_its_own_way(elsewhere: AnswerResult | None) -> None:
    result = decide(ASTRAY, elsewhere=elsewhere)

    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.ASSISTANT)
    stale = next(f for f in result.findings if f.code is Code.STALE_DOCS)
    assert (stale.informational, stale.owner) == (True, Owner.DOCUMENTATION)


def test_an_answer_that_is_wrong_where_the_docs_work_is_not_excused() -> None:
    assert decide(FOLLOWS, elsewhere=FAILS).owner is Owner.ASSISTANT


def test_where_the_docs_fail_a_fault_seen_elsewhere_is_told_in_words_too() -> None:
    wrong = replace(B, label=Label.SUBSTITUTED, against=("b",))
    there = decide(evidence(A, wrong, end=WITHOUT_B))

    result = decide(evidence(A, wrong, reference=STALE, end=WITHOUT_B), elsewhere=there)

    assert Code.WRONG_VALUE in codes(result)


def test_an_answer_that_follows_stale_docs_is_not_told_how_its_words_differ() -> None:
    other = replace(B, label=Label.SUBSTITUTED, exit_code=2)

    result = decide(evidence(A, other, reference=STALE, end=WITHOUT_B), elsewhere=PASSES)

    assert codes(result) == {Code.STALE_DOCS, Code.STEP_FAILED, Code.GOAL_NOT_REACHED}


def test_a_failed_command_that_is_another_one_is_made_up_and_the_documented_one_missing() -> None:
    made_up = replace(B, label=Label.SUBSTITUTED, reshaped=True, exit_code=2)

    found = codes(decide(evidence(A, made_up, end=WITHOUT_B)))

    assert {Code.INVENTED_STEP, Code.MISSING_STEP} <= found
    assert Code.WRONG_VALUE not in found


def test_a_wrong_step_whose_effect_shows_later_is_to_blame() -> None:
    reference = replace(WORKS, steps=(replace(WORKS.steps[0], changes=()), WORKS.steps[1]))
    wrong = replace(A, label=Label.SUBSTITUTED)

    found = decide(evidence(wrong, B, reference=reference, end=WITHOUT_B))

    assert [f.step for f in found.findings if f.code is Code.WRONG_VALUE] == ["a"]


def test_where_steps_share_an_effect_their_text_tells_which_one_is_missing_or_wrong() -> None:
    steps = tuple(replace(step, changes=(A_MADE, B_MADE)) for step in WORKS.steps)
    reference = replace(WORKS, steps=steps)
    wrong = replace(B, label=Label.SUBSTITUTED)

    left_out = decide(evidence(A, missing=["b"], reference=reference, end=NOT_REACHED))
    spelt_wrong = decide(evidence(A, wrong, reference=reference, end=NOT_REACHED))

    assert [f.step for f in left_out.findings if f.code is Code.MISSING_STEP] == ["b"]
    assert [f.step for f in spelt_wrong.findings if f.code is Code.WRONG_VALUE] == ["b"]


def test_a_step_is_of_another_version_if_the_answer_passes_there() -> None:
    failed = decide(evidence(A, replace(B, label=Label.SUBSTITUTED, exit_code=2), end=WITHOUT_B))

    assert may_be_of_another_version(failed)
    assert not may_be_of_another_version(decide(evidence(A, end=WITHOUT_B, missing=["b"])))
    assert Code.OLD_VERSION_STEP in codes(of_another_version(failed, "1"))


def test_what_an_extra_step_fails_behind_a_failed_one_does_not_make_it_up() -> None:
    failed = replace(EXTRA, exit_code=1)

    found = decide(evidence(replace(A, exit_code=1), failed, B, end=NOT_REACHED))

    assert Code.INVENTED_STEP not in codes(found)


@pytest.mark.parametrize("end", [replace(REACHED, collateral=(HARM,))])
def test_another_way_that_does_harm_does_not_pass(end: EndState) -> None:
    result = decide(replace(ANOTHER_WAY, end=end))

    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.ASSISTANT)


def test_what_the_documentation_itself_tells_is_listed_as_its_own() -> None:
    kind = replace_pattern(UNSAFE, r"make b")

    result = decide(evidence(A, B, unsafe=[kind]))

    (listed,) = result.findings
    assert (result.verdict, listed.slug, listed.owner) == (
        Verdict.PASS,
        "risky-step",
        Owner.DOCUMENTATION,
    )
    assert listed.message == "unsafe (open-door), but documented so: anybody can write"
    assert (listed.step, listed.informational) == ("b", True)


def test_the_kind_of_a_documented_step_is_unsafe_elsewhere() -> None:
    kind = replace_pattern(UNSAFE, r"make b\b|chmod \d+")

    result = decide(evidence(A, B, replace(EXTRA, text="chmod 777 x"), unsafe=[kind]))

    assert [f.slug for f in result.findings] == ["risky-step", "unsafe-step"]
    assert result.verdict is Verdict.FAIL


def test_a_documented_step_in_the_same_words_is_exempt_wherever_it_stands() -> None:
    kind = replace_pattern(UNSAFE, r"make\s+b")

    result = decide(evidence(A, B, replace(EXTRA, text="make   b"), unsafe=[kind]))

    assert result.verdict is Verdict.PASS
    assert [f.slug for f in result.findings] == ["risky-step"] * 2


def test_a_risk_is_listed_and_fails_nothing() -> None:
    kind = msgspec.structs.replace(UNSAFE, severity=Severity.WARN)

    result = decide(evidence(A, B, replace(EXTRA, text="chmod 777 x"), unsafe=[kind]))

    (listed,) = result.findings
    assert (result.verdict, listed.slug, listed.owner) == (
        Verdict.PASS,
        "risky-step",
        Owner.ASSISTANT,
    )
    assert listed.message == "a risk (open-door): anybody can write"
    assert result.faithful


def test_a_risk_does_not_hide_that_an_answer_is_open() -> None:
    kind = msgspec.structs.replace(UNSAFE, severity=Severity.WARN)
    risky = replace(EXTRA, text="chmod 777 x")

    result = decide(evidence(A, risky, blocked(Code.OPEN_QUESTION), end=NOT_REACHED, unsafe=[kind]))

    assert result.verdict is Verdict.INCONCLUSIVE


def test_another_way_that_is_unsafe_does_not_pass() -> None:
    kind = replace_pattern(UNSAFE, "touch b")

    result = decide(replace(ANOTHER_WAY, unsafe=(kind,)))

    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.ASSISTANT)


def test_docs_that_miss_their_goal_though_every_step_runs_are_stale() -> None:
    silent = replace(WORKS, checks=(MISSED,))

    result = decide(evidence(A, B, reference=silent, end=NOT_REACHED))

    assert result.owner is Owner.DOCUMENTATION
    assert "it misses the goal (g1)" in result.findings[0].message


def test_a_goal_that_held_before_says_nothing() -> None:
    vacuous = replace(WORKS, goal_held_before=True)

    result = decide(evidence(A, B, reference=vacuous))

    assert summary(result) == ("fail", "documentation", ["vacuous-goal"])


def test_a_goal_that_other_reference_runs_miss_is_the_documentation_s_fault() -> None:
    unstable = replace(WORKS, unstable=("g1",))

    result = decide(evidence(A, B, reference=unstable, end=NOT_REACHED))

    assert summary(result) == ("fail", "documentation", ["vacuous-goal"])
    assert "the goal (g1)" in result.findings[0].message
    assert result.findings[0].fix


def test_an_end_state_of_which_everything_is_masked_is_no_goal() -> None:
    masked = replace(WORKS, checks=(), coverage=Coverage(facts=2, dropped=2))

    result = decide(evidence(A, B, reference=masked, end=EndState(equal=True)))

    assert summary(result) == ("fail", "documentation", ["vacuous-goal"])


def test_a_result_tells_how_much_of_the_reference_is_masked() -> None:
    some = Coverage(facts=5, dropped=1, varied=1)
    steps = (replace(WORKS.steps[0], coverage=some), WORKS.steps[1])

    result = decide(evidence(A, B, reference=replace(WORKS, steps=steps, coverage=some, runs=3)))

    assert result.reference == Control(works=True, runs=3, coverage=some, steps={"a": some})


@pytest.mark.parametrize(
    ("ending", "output"),
    [("not-run", ""), ("exited", "curl: (6) Could not resolve host: example.test")],
)
def test_documentation_that_the_sandbox_cannot_follow_is_not_stale(
    ending: str, output: str
) -> None:
    stopped = replace(STALE.steps[1], ending=ending, output=output)
    reference = replace(STALE, steps=(STALE.steps[0], stopped))

    result = decide(evidence(A, blocked(Code.NOT_RUNNABLE), reference=reference, end=NOT_REACHED))

    assert summary(result) == ("inconclusive", "environment", ["not-runnable"])
    assert [f.slug for f in result.findings] == ["not-runnable"]


# --- row 6: open ------------------------------------------------------------------------------


def blocked(code: Code) -> Did:
    return replace(B, blocked=(Blocked(code=code, reason="it is so"),))


@pytest.mark.parametrize(
    ("step", "slug", "owner"),
    [
        (blocked(Code.UNRESOLVED_PLACEHOLDER), "unresolved-placeholder", Owner.ASSISTANT),
        (blocked(Code.NOT_RUNNABLE), "not-runnable", Owner.ENVIRONMENT),
        (
            replace(B, ending=Ending.WAITS_FOR_INPUT, exit_code=None),
            "needs-input",
            Owner.JUDGE,
        ),
        (
            replace(B, exit_code=128, output="Could not resolve host: example.test"),
            "not-runnable",
            Owner.ENVIRONMENT,
        ),
        (
            replace(B, exit_code=127, output="bash: systemctl: command not found"),
            "not-runnable",
            Owner.ENVIRONMENT,
        ),
    ],
)
def test_a_step_that_cannot_be_run_leaves_it_open_and_names_who_must_act(
    step: Did, slug: str, owner: Owner
) -> None:
    result = decide(evidence(A, step, end=WITHOUT_B))

    assert (result.verdict, result.owner, slugs(result)) == (
        Verdict.INCONCLUSIVE,
        owner,
        [slug],
    )


def test_the_consequences_of_a_step_that_could_not_be_run_do_not_count() -> None:
    later = replace(EXTRA, exit_code=1)

    result = decide(evidence(A, blocked(Code.NOT_RUNNABLE), later, end=NOT_REACHED))

    assert slugs(result) == ["not-runnable"]


def test_what_failed_before_the_open_step_counts() -> None:
    result = decide(evidence(replace(A, exit_code=2), blocked(Code.NOT_RUNNABLE), end=NOT_REACHED))

    assert result.verdict is Verdict.FAIL
    assert slugs(result) == ["not-runnable", "step-failed"]


def test_an_unsafe_step_counts_even_behind_the_open_one() -> None:
    unsafe = replace(EXTRA, text="chmod 777 x")

    result = decide(evidence(A, blocked(Code.NOT_RUNNABLE), unsafe, unsafe=[UNSAFE]))

    assert result.verdict is Verdict.FAIL


def test_an_output_that_speaks_of_the_network_is_no_limit_if_the_step_worked() -> None:
    chatty = replace(B, output="warning: Could not resolve host: example.test")

    assert decide(evidence(A, chatty)).verdict is Verdict.PASS


MANUAL = Did(
    text="Open the lid",
    kind=MoveKind.ANSWER_ONLY,
    label=Label.EXTRA,
    action=Manual(text="Open the lid"),
    blocked=(Blocked(code=Code.OPEN_QUESTION, reason="only a person can do it"),),
)


def opinion(verdict: OpinionVerdict, *, line: int = 3) -> list[Opinion]:
    question = Question(id=f"x@1#{line}:1", answer="x", subject="", text="", evidence="")
    return [Opinion(question=question.id, verdict=verdict, reason="so it is")]


def test_a_manual_step_is_a_question_to_the_judge() -> None:
    (question,) = questions(evidence(A, B, MANUAL))

    assert question.id == "x@1#3:1"
    assert question.text == "Is this step documented: Open the lid"


@pytest.mark.parametrize(
    ("said", "verdict", "owner"),
    [
        (OpinionVerdict.PASS, Verdict.PASS, Owner.NONE),
        (OpinionVerdict.FAIL, Verdict.FAIL, Owner.ASSISTANT),
        (OpinionVerdict.ABSTAIN, Verdict.INCONCLUSIVE, Owner.JUDGE),
        (OpinionVerdict.UNAVAILABLE, Verdict.INCONCLUSIVE, Owner.JUDGE),
    ],
)
def test_the_judge_decides_on_a_manual_step(
    said: OpinionVerdict, verdict: Verdict, owner: Owner
) -> None:
    result = decide(evidence(A, B, MANUAL), opinion(said))

    assert (result.verdict, result.owner) == (verdict, owner)


def test_an_approved_manual_step_does_not_hide_what_is_missing_behind_it() -> None:
    result = decide(
        evidence(A, MANUAL, missing=["b"], end=WITHOUT_B), opinion(OpinionVerdict.PASS, line=2)
    )

    assert summary(result) == ("inconclusive", "environment", ["not-runnable"])


def test_a_question_without_an_opinion_stays_open() -> None:
    result = decide(evidence(A, B, MANUAL))

    assert summary(result) == ("inconclusive", "judge", ["open-question"])


def test_an_answer_without_steps_is_for_a_person() -> None:
    result = decide(evidence(missing=["a", "b"], end=NOT_REACHED))

    assert result.owner in (Owner.JUDGE, Owner.ASSISTANT)
    assert "no-steps" in slugs(result)


def test_declining_a_covered_question_misses_all() -> None:
    silent = evidence(missing=["a", "b"], end=NOT_REACHED)
    declines = replace(silent, extraction=Extraction(steps=(), declines="not documented"))

    result = decide(declines)

    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.ASSISTANT)
    assert result.findings[0].message == (
        "the answer declines although the documentation covers the question"
    )


# --- row 8: the question is not covered -------------------------------------------------------


def uncovered(*steps: Did, declines: str = "") -> Evidence:
    told = tuple(_step(step, k) for k, step in enumerate(steps))
    return Evidence(
        answer=Answer(id="x", answer="text", procedure=None, product="tool"),
        line=1,
        version="1",
        procedure=None,
        extraction=Extraction(steps=told, declines=declines),
    )


def test_declining_what_is_not_covered_is_a_pass() -> None:
    result = decide(uncovered(declines="not documented"))

    assert summary(result) == ("pass", "none", [])
    assert (result.product, result.faithful, result.works) == ("tool", None, None)


def test_a_procedure_for_what_is_not_covered_is_invented() -> None:
    result = decide(uncovered(EXTRA))

    assert summary(result) == ("fail", "assistant", ["invented-step"])


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (OpinionVerdict.PASS, Verdict.PASS),
        (OpinionVerdict.FAIL, Verdict.FAIL),
        (OpinionVerdict.ABSTAIN, Verdict.INCONCLUSIVE),
    ],
)
def test_unclear_words_are_for_the_judge(said: OpinionVerdict, verdict: Verdict) -> None:
    unclear = uncovered()
    (question,) = questions(unclear)

    result = decide(unclear, [Opinion(question=question.id, verdict=said, reason="so")])

    assert result.verdict is verdict


def test_clear_words_ask_nobody() -> None:
    assert questions(uncovered(declines="not documented")) == ()
    assert questions(uncovered(EXTRA)) == ()


# --- what a result tells ----------------------------------------------------------------------


def test_each_step_is_told_with_what_it_stands_for_and_what_came_of_it() -> None:
    first, second = decide(evidence(A, replace(EXTRA, exit_code=3, output="no"))).steps

    assert (first.label, first.steps, first.exit_code) == ("matched", ("a",), 0)
    assert (second.label, second.steps, second.exit_code) == ("invented", (), 3)
    assert (second.output, second.line) == ("no", 2)


@pytest.mark.parametrize(
    ("step", "missing", "end", "label"),
    [
        (replace(B, label=Label.SUBSTITUTED), (), REACHED, ("equivalent", ("b",))),
        (replace(B, label=Label.SUBSTITUTED), (), WITHOUT_B, ("wrong-value", ("b",))),
        (EXTRA, (), REACHED, ("benign", ())),
        (replace(EXTRA, effect=(B_MADE,)), ("b",), REACHED, ("equivalent", ("b",))),
        (
            replace(EXTRA, effect=(HARM,)),
            (),
            replace(REACHED, collateral=(HARM,)),
            ("invented", ()),
        ),
        (LOOK, (), REACHED, ("check", ())),
    ],
)
def test_a_step_is_called_what_it_turned_out_to_be(
    step: Did, missing: tuple[str, ...], end: EndState, label: tuple[str, tuple[str, ...]]
) -> None:
    told = decide(evidence(A, step, missing=missing, end=end)).steps[1]

    assert (told.label, told.steps) == label


def test_what_does_a_documented_step_only_elsewhere_is_called_equivalent() -> None:
    other = replace(EXTRA, text="touch b", effect=(B_MADE,))
    here = evidence(A, other, missing=["b"], reference=STALE)

    alone, controlled = (decide(case).steps[1] for case in (here, replace(here, elsewhere=WORKS)))

    assert alone.steps == ()
    assert (controlled.label, controlled.steps) == ("equivalent", ("b",))


def test_the_slices_of_an_answer_are_kept() -> None:
    assert decide(evidence(A, B)).slices == ("easy",)


# --- laws -------------------------------------------------------------------------------------

VERDICTS = st.lists(st.sampled_from(Verdict), max_size=5)


@given(VERDICTS, st.sampled_from(Verdict))
def test_a_verdict_never_improves_by_one_more(verdicts: list[Verdict], more: Verdict) -> None:
    if verdicts:
        before, after = overall(verdicts), overall([*verdicts, more])
        assert SEVERITY.index(after) >= SEVERITY.index(before)


def test_nothing_to_go_by_is_no_pass() -> None:
    assert overall([]) is Verdict.INCONCLUSIVE


DIDS = st.sampled_from(
    [
        A,
        B,
        LOOK,
        EXTRA,
        MANUAL,
        blocked(Code.NOT_RUNNABLE),
        blocked(Code.UNRESOLVED_PLACEHOLDER),
        replace(EXTRA, exit_code=1),
        replace(B, label=Label.SUBSTITUTED),
        replace(B, exit_code=2),
        replace(A, kind=MoveKind.DISPLACED),
        replace(EXTRA, effect=(HARM,)),
        replace(B, ending=Ending.TIMED_OUT, exit_code=None),
        replace(B, ending=Ending.NOT_RUN),
    ]
)
ENDS = st.sampled_from([REACHED, NOT_REACHED, WITHOUT_B, replace(REACHED, collateral=(HARM,))])
CASES = st.builds(
    lambda steps, missing, reference, end: evidence(
        *steps, missing=missing, reference=reference, end=end
    ),
    st.lists(DIDS, max_size=4),
    st.sampled_from([(), ("b",), ("a", "b")]),
    st.sampled_from([WORKS, STALE, replace(WORKS, goal_held_before=True)]),
    ENDS,
)


@settings(max_examples=100, deadline=None)
@given(CASES, st.sampled_from([PASSES, FAILS, None]))
def test_a_result_is_as_bad_as_its_worst_finding(
    case: Evidence, elsewhere: AnswerResult | None
) -> None:
    result = decide(case, elsewhere=elsewhere)

    counted = [finding for finding in result.findings if not finding.informational]
    assert (result.verdict is Verdict.PASS) == (not counted)
    assert (result.owner is Owner.NONE) == (result.verdict is Verdict.PASS)
    assert result.verdict is not Verdict.ERROR


@settings(max_examples=100, deadline=None)
@given(CASES)
def test_no_answer_passes_that_does_harm_or_misses_the_goal(case: Evidence) -> None:
    result = decide(case)

    if result.verdict is Verdict.PASS:
        assert case.end is not None
        assert case.end.goal_reached
        assert not case.end.collateral
        assert result.works


@settings(max_examples=100, deadline=None)
@given(CASES)
def test_where_the_docs_work_they_are_never_blamed(case: Evidence) -> None:
    result = decide(replace(case, reference=WORKS))

    assert Owner.DOCUMENTATION not in {finding.owner for finding in result.findings}


@settings(max_examples=100, deadline=None)
@given(CASES, st.sampled_from(OpinionVerdict))
def test_no_opinion_makes_a_wrong_answer_pass(case: Evidence, said: OpinionVerdict) -> None:
    opinions = [Opinion(question=q.id, verdict=said) for q in questions(case)]

    if decide(case, opinions).verdict is Verdict.PASS:
        assert case.end is not None
        assert case.end.goal_reached
        assert not case.end.collateral


# --- values, by-products, sandboxes -----------------------------------------------------------

BY_PRODUCT = Change(Sign.ADDED, Fact("/home/dev/b.serial", "is a file"))
FOR_YEAR = Change(Sign.ADDED, Fact("/home/dev/b", "valid 365 days"))
OTHER_B = replace(B, text="make b --other", label=Label.SUBSTITUTED)


def with_b(*changes: Change) -> Reference:
    step = replace(control("b", B_MADE), changes=changes)
    return replace(WORKS, steps=(control("a", A_MADE), step))


def test_a_by_product_of_the_documented_command_may_be_missing() -> None:
    end = replace(REACHED, equal=False, undone={"b": (BY_PRODUCT,)}, untouched=frozenset(["b"]))

    result = decide(evidence(A, OTHER_B, reference=with_b(B_MADE, BY_PRODUCT), end=end))

    assert result.verdict is Verdict.PASS


def test_another_value_than_the_question_fixes_is_wrong_though_no_check_sees_it() -> None:
    end = replace(REACHED, equal=False, undone={"b": (FOR_YEAR,)})
    case = evidence(A, OTHER_B, reference=with_b(B_MADE, FOR_YEAR), end=end)
    assert case.alignment is not None
    assert decide(case).verdict is Verdict.PASS

    moves = tuple(
        replace(move, against=("365",)) if move.node == "b" else move
        for move in case.alignment.moves
    )
    result = decide(replace(case, alignment=replace(case.alignment, moves=moves)))

    assert {f.code for f in result.findings} == {Code.WRONG_VALUE}


@pytest.mark.parametrize(
    "output",
    [
        "bash: sudo: command not found",
        "E: Unable to locate package sqlite3",
        "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
    ],
)
def test_what_the_sandbox_lacks_is_not_the_answers_fault(output: str) -> None:
    step = replace(A, exit_code=127, output=output)

    result = decide(evidence(step, B, end=NOT_REACHED))

    assert (result.verdict, result.owner) == (Verdict.INCONCLUSIVE, Owner.ENVIRONMENT)


def test_a_program_that_sudo_does_not_find_is_the_answers_fault() -> None:
    step = replace(A, exit_code=1, output="sudo: make-it: command not found")

    assert decide(evidence(step, B, end=NOT_REACHED)).owner is Owner.ASSISTANT


def test_harm_counts_even_before_an_open_step() -> None:
    harmful = replace(EXTRA, effect=(HARM,))
    open_step = replace(B, blocked=(Blocked(code=Code.UNRESOLVED_PLACEHOLDER, reason="x"),))
    harm = replace(NOT_REACHED, collateral=(HARM,))

    assert decide(evidence(harmful, open_step, end=harm)).verdict is Verdict.FAIL


AWAY = Did(text="cd /tmp", kind=MoveKind.ANSWER_ONLY, label=Label.EXTRA, cwd="/tmp")


def in_home(*steps: ReferenceStep) -> Reference:
    return replace(WORKS, steps=tuple(replace(step, cwd="/root") for step in steps))


def test_a_step_that_leads_where_the_documented_ones_do_not_work_is_invented() -> None:
    reference = in_home(*WORKS.steps)

    found = codes(decide(evidence(A, AWAY, B, end=WITHOUT_B, reference=reference)))

    assert Code.INVENTED_STEP in found


def test_a_step_that_leads_elsewhere_and_does_no_harm_is_no_fault() -> None:
    reference = in_home(*WORKS.steps)

    assert decide(evidence(A, AWAY, B, reference=reference)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("tool check x.db", Verdict.FAIL), ("tool check /srv/x.db", Verdict.PASS)],
)
def test_a_check_of_a_file_must_be_done_where_it_is_documented(text: str, verdict: Verdict) -> None:
    reference = in_home(WORKS.steps[0], replace(WORKS.steps[1], text=text, changes=()))

    assert decide(evidence(A, AWAY, B, reference=reference)).verdict is verdict


def test_a_required_check_of_another_thing_than_asked_is_wrong() -> None:
    reference = in_home(WORKS.steps[0], replace(WORKS.steps[1], changes=()))
    other = replace(B, label=Label.SUBSTITUTED, against=("b",))

    assert codes(decide(evidence(A, other, reference=reference))) == {Code.WRONG_VALUE}
    assert (
        decide(evidence(A, replace(other, against=()), reference=reference)).verdict is Verdict.PASS
    )


def test_a_step_of_its_own_that_spoils_the_goal_is_invented() -> None:
    spoils = replace(EXTRA, effect=(HARM,))
    wrong = Deviation(kind="wrong", subject=HARM.fact.subject, expected="x", actual="y")
    end = replace(NOT_REACHED, deviations=(wrong,))

    assert Code.INVENTED_STEP in codes(decide(evidence(spoils, A, B, end=end)))
    assert Code.INVENTED_STEP not in codes(decide(evidence(EXTRA, A, B, end=end)))


def test_the_order_of_what_only_might_be_a_documented_step_does_not_count() -> None:
    late = replace(A, kind=MoveKind.DISPLACED)
    case = evidence(OTHER_B, late, violations=(("a", "b"),))

    assert decide(case).verdict is Verdict.PASS
    assert decide(replace(case, end=replace(REACHED, equal=False))).verdict is Verdict.FAIL


def test_a_check_must_be_where_it_is_documented_whatever_its_words() -> None:
    late = replace(A, kind=MoveKind.DISPLACED)
    checks = replace(WORKS, steps=(control("a", A_MADE), replace(control("b", B_MADE), changes=())))

    result = decide(evidence(OTHER_B, late, reference=checks, violations=(("a", "b"),)))

    assert {f.code for f in result.findings} == {Code.WRONG_ORDER}


def test_where_the_procedure_leaves_nothing_behind_steps_must_be_there_by_text() -> None:
    transient = replace(WORKS, changes=())

    assert decide(evidence(A, B, reference=transient)).verdict is Verdict.PASS
    result = decide(evidence(A, missing=["b"], reference=transient))
    assert {f.code for f in result.findings} == {Code.MISSING_STEP}


def test_a_failed_look_that_works_on_another_version_is_of_that_version() -> None:
    looked = replace(LOOK, exit_code=2)
    failed = decide(evidence(A, looked, B))

    assert codes(failed) == {Code.STEP_FAILED}
    assert may_be_of_another_version(failed)
    old = of_another_version(failed, "1")
    assert codes(old) == {Code.STEP_FAILED, Code.OLD_VERSION_STEP}
    assert old.steps[1].label == "old-version"


def test_where_a_statement_beside_it_is_missing_no_other_one_is_blamed() -> None:
    steps = tuple(replace(step, changes=(A_MADE, B_MADE)) for step in WORKS.steps)
    other = replace(A, label=Label.SUBSTITUTED)

    found = decide(
        evidence(other, missing=["b"], reference=replace(WORKS, steps=steps), end=NOT_REACHED)
    )

    assert codes(found) == {Code.MISSING_STEP, Code.GOAL_NOT_REACHED}


def test_what_is_left_unfinished_does_not_pass_though_the_goal_is_reached() -> None:
    half_done = replace(REACHED, unfinished=(HARM,), equal=False)

    found = decide(evidence(A, B, end=half_done))

    assert codes(found) == {Code.COLLATERAL_CHANGE}


def test_what_is_left_unfinished_is_no_harm_where_the_goal_is_missed() -> None:
    found = decide(evidence(A, missing=["b"], end=replace(WITHOUT_B, unfinished=(HARM,))))

    assert codes(found) == {Code.MISSING_STEP, Code.GOAL_NOT_REACHED}


# --- which step does the harm -----------------------------------------------------------------

KEPT = CheckResult(
    id="m1", held=False, wanted="test -e ~/.toolrc: exit code 1", found="exit code 0"
)
MY_RC = Change(Sign.ADDED, Fact("/home/dev/.toolrc", "is a file"))


def test_an_option_that_does_harm_is_made_up() -> None:
    end = replace(REACHED, collateral=(HARM,))
    other = replace(B, label=Label.SUBSTITUTED, effect=(B_MADE, HARM))

    assert codes(decide(evidence(A, other, end=end))) == {Code.COLLATERAL_CHANGE}
    made_up = codes(decide(evidence(A, replace(other, added=True), end=end)))
    assert made_up == {Code.INVENTED_STEP, Code.COLLATERAL_CHANGE}


def test_other_text_for_a_file_is_wrong_and_text_of_another_kind_made_up() -> None:
    other = replace(B, label=Label.SUBSTITUTED)

    assert Code.WRONG_VALUE in codes(decide(evidence(A, other, end=WITHOUT_B)))
    made_up = codes(decide(evidence(A, replace(other, foreign=True), end=WITHOUT_B)))
    assert Code.INVENTED_STEP in made_up
    assert Code.WRONG_VALUE not in made_up


def test_an_unsafe_step_is_not_called_a_wrong_value_besides() -> None:
    other = Did(text="make b --no-verify", node="b", label=Label.SUBSTITUTED)
    kind = Unsafe(
        name="unverified", pattern="--no-verify", severity=Severity.FAIL, reason="x", source="y"
    )

    found = codes(decide(evidence(A, other, end=WITHOUT_B, unsafe=[kind])))

    assert Code.UNSAFE_STEP in found
    assert Code.WRONG_VALUE not in found


def test_the_step_that_changes_a_path_which_must_stay_is_made_up() -> None:
    mine = replace(EXTRA, effect=(MY_RC,))
    end = replace(REACHED, forbidden=(KEPT,))

    steps = decide(evidence(mine, A, EXTRA, B, end=end)).steps

    assert [step.label for step in steps] == ["invented", "matched", "benign", "matched"]


def test_where_only_one_step_is_not_as_documented_it_breaks_what_must_stay() -> None:
    end = replace(REACHED, forbidden=(KEPT,))

    assert Code.INVENTED_STEP in codes(decide(evidence(EXTRA, A, B, end=end)))
    assert Code.INVENTED_STEP not in codes(decide(evidence(EXTRA, EXTRA, A, B, end=end)))


def test_a_directory_is_not_to_blame_for_a_step_with_words_of_its_own() -> None:
    reference = in_home(*WORKS.steps)
    other = replace(B, label=Label.SUBSTITUTED)

    found = codes(decide(evidence(A, AWAY, other, end=WITHOUT_B, reference=reference)))

    assert Code.WRONG_VALUE in found
    assert Code.INVENTED_STEP not in found


def test_where_the_goal_is_missed_what_is_documented_to_change_is_no_collateral() -> None:
    wrong = Change(Sign.ADDED, Fact(B_MADE.fact.subject, "is a folder"))
    end = replace(WITHOUT_B, collateral=(wrong, HARM), footprint=frozenset([B_MADE.fact.subject]))

    found = decide(evidence(A, missing=["b"], end=end)).findings
    told = next(f.evidence for f in found if f.code is Code.COLLATERAL_CHANGE)

    assert "/etc/x" in told
    assert B_MADE.fact.subject not in told


def test_what_a_documented_step_that_failed_leaves_behind_is_no_collateral() -> None:
    failed = replace(B, exit_code=1)
    end = replace(WITHOUT_B, collateral=(HARM,))

    assert Code.COLLATERAL_CHANGE not in codes(decide(evidence(A, failed, end=end)))
    mine = replace(EXTRA, effect=(HARM,))
    assert Code.COLLATERAL_CHANGE in codes(decide(evidence(mine, A, failed, end=end)))


# --- what a step does in another way ----------------------------------------------------------


def test_a_step_that_sets_the_variables_of_a_documented_one_does_it() -> None:
    sets = replace(
        control("a", A_MADE), changes=(), moves_shell=True, exports=frozenset(["PATH", "ENV"])
    )
    reference = replace(WORKS, steps=(sets, WORKS.steps[1]))
    mine = replace(EXTRA, text=". env", exports=frozenset(["PATH", "ENV"]))

    done = decide(evidence(mine, B, missing=["a"], reference=reference))
    other = replace(mine, exports=frozenset(["PATH"]))
    not_done = decide(evidence(other, B, missing=["a"], reference=reference, end=NOT_REACHED))

    assert done.verdict is Verdict.PASS
    assert (done.steps[0].label, done.steps[0].steps) == ("equivalent", ("a",))
    assert Code.MISSING_STEP in codes(not_done)


def test_a_statement_that_is_run_outside_of_its_program_is_not_missing() -> None:
    steps = tuple(replace(step, changes=(A_MADE, B_MADE)) for step in WORKS.steps)
    outside = replace(EXTRA, text="tool -c 'make b'", effect=(B_MADE,))
    case = evidence(
        A, outside, missing=["b"], reference=replace(WORKS, steps=steps), end=NOT_REACHED
    )

    assert Code.MISSING_STEP not in codes(decide(case))
    other = replace(outside, text="cp x y")
    other_case = evidence(
        A, other, missing=["b"], reference=replace(WORKS, steps=steps), end=NOT_REACHED
    )
    assert Code.MISSING_STEP in codes(decide(other_case))


def test_a_file_that_a_step_makes_for_another_one_is_part_of_it() -> None:
    makes = replace(
        EXTRA,
        text="cat > my.cnf",
        effect=(Change(Sign.ADDED, Fact("/home/dev/my.cnf", "is a file")),),
    )
    uses = replace(B, text="make b -c my.cnf", label=Label.SUBSTITUTED)

    steps = decide(evidence(A, makes, uses)).steps

    assert (steps[1].label, steps[1].steps) == ("equivalent", ("b",))
    assert decide(evidence(A, makes, B)).steps[1].label == "benign"


def test_a_reply_that_nobody_asks_for_is_not_missing() -> None:
    quiet = replace(A, label=Label.VARIANT)
    case = evidence(quiet, missing=["b"], end=WITHOUT_B)
    reply = replace(
        case, documented=(case.documented[0], replace(case.documented[1], is_input=True))
    )

    assert Code.MISSING_STEP in codes(decide(case))
    assert Code.MISSING_STEP not in codes(decide(reply))


def test_an_edit_of_a_file_that_a_failed_step_should_have_made_leaves_nothing_open() -> None:
    failed = replace(A, exit_code=1)
    edit = replace(B, ending=Ending.UNCLEAR, exit_code=None)

    assert codes(decide(evidence(failed, edit, end=WITHOUT_B))) == {
        Code.STEP_FAILED,
        Code.GOAL_NOT_REACHED,
    }
    assert Code.AMBIGUOUS_EDIT in codes(decide(evidence(A, edit, end=WITHOUT_B)))


@pytest.mark.parametrize(("output", "verdict"), [("1 problem", Verdict.PASS), ("", Verdict.FAIL)])
def test_a_check_that_tells_what_the_documented_one_tells_is_about_the_same_thing(
    output: str, verdict: Verdict
) -> None:
    check = replace(WORKS.steps[1], changes=(), output="1 problem\r\n")
    other = replace(B, label=Label.SUBSTITUTED, against=("b",), output=output)

    assert decide(evidence(A, other, reference=in_home(WORKS.steps[0], check))).verdict is verdict


def test_a_look_by_hand_is_asked_of_no_judge() -> None:
    look = replace(LOOK, text="open it in a browser", action=Manual(text="open it", looks=True))
    case = evidence(A, B, look)
    plan = Plan(steps=case.plan.steps[:2]) if case.plan else None

    assert questions(replace(case, plan=plan, results=case.results[:2])) == ()
