"""Results in, a summary out."""

from random import Random

import pytest

from procexec.aggregate import exit_code, summarise
from procexec.model.result import AnswerResult, Code, Counts, Finding, Owner, Summary, Verdict


def result(
    name: str,
    verdict: Verdict = Verdict.PASS,
    *codes: Code,
    version: str = "2.39",
    owner: Owner = Owner.NONE,
    procedure: str | None = "git/undo",
    slices: tuple[str, ...] = (),
) -> AnswerResult:
    return AnswerResult(
        id=name,
        version=version,
        product="git",
        procedure=procedure,
        verdict=verdict,
        owner=owner,
        findings=tuple(Finding(code=code, message="m", owner=owner) for code in codes),
        slices=slices,
    )


RESULTS = [
    result("a", slices=("easy", "easy")),
    result("b", Verdict.FAIL, Code.MISSING_STEP, owner=Owner.ASSISTANT, slices=("easy",)),
    result("b", Verdict.FAIL, Code.STALE_DOCS, owner=Owner.DOCUMENTATION, version="2.47"),
    result("c", Verdict.INCONCLUSIVE, Code.OPEN_QUESTION, owner=Owner.JUDGE, procedure=None),
    result("d", Verdict.ERROR, Code.TEST_BED, owner=Owner.ENVIRONMENT, procedure="git/amend"),
]


def test_results_are_counted_by_procedure_version_owner_code_and_slice() -> None:
    summary = summarise(RESULTS)

    assert summary.counts == Counts(passed=1, inconclusive=1, failed=2, errors=1)
    assert summary.by_procedure == {
        "(not covered)": {"2.39": Counts(inconclusive=1)},
        "git/amend": {"2.39": Counts(errors=1)},
        "git/undo": {"2.39": Counts(passed=1, failed=1), "2.47": Counts(failed=1)},
    }
    assert summary.by_owner == {"assistant": 1, "documentation": 1, "environment": 1, "judge": 1}
    assert summary.by_code == {"PX101": 1, "PX201": 1, "PX304": 1, "PX401": 1}
    assert summary.by_slice == {"easy": Counts(passed=1, failed=1)}
    assert summary.stale == ("git/undo@2.47",)


def test_each_result_has_a_row_by_answer_and_version() -> None:
    rows = summarise(RESULTS).results

    assert [(row["id"], row["version"]) for row in rows] == [
        ("a", "2.39"), ("b", "2.39"), ("b", "2.47"), ("c", "2.39"), ("d", "2.39"),
    ]  # fmt: skip
    assert rows[1] == {
        "id": "b",
        "version": "2.39",
        "procedure": "git/undo",
        "verdict": "fail",
        "owner": "assistant",
        "faithful": None,
        "works": None,
        "codes": ["PX101"],
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_results_does_not_matter(seed: int) -> None:
    twice = [*RESULTS, result("a", Verdict.FAIL, Code.WRONG_VALUE)]
    shuffled = list(twice)
    Random(seed).shuffle(shuffled)

    summary = summarise(shuffled)

    assert summary == summarise(twice)
    assert list(summary.by_procedure) == list(summarise(twice).by_procedure)


@pytest.mark.parametrize(
    ("verdicts", "allow_inconclusive", "code"),
    [
        ("", False, 2),
        ("", True, 2),
        ("pass pass", False, 0),
        ("pass inconclusive", False, 1),
        ("pass inconclusive", True, 0),
        ("inconclusive fail", True, 1),
        ("pass error", False, 4),
        ("fail error", True, 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst(
    verdicts: str, allow_inconclusive: bool, code: int
) -> None:
    summary: Summary = summarise(
        result(str(number), Verdict(word)) for number, word in enumerate(verdicts.split())
    )

    assert exit_code(summary, allow_inconclusive=allow_inconclusive) == code
