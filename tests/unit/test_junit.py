"""What CI reads: JUnit XML and the summary's JSON."""

import json
from random import Random
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from procexec.aggregate import summarise
from procexec.model.result import AnswerResult, Code, Finding, Owner, Verdict
from procexec.report.junit import junit_xml
from procexec.report.summary import summary_json


def result(
    name: str,
    verdict: Verdict,
    *findings: Finding,
    owner: Owner = Owner.NONE,
    version: str = "2.39",
) -> AnswerResult:
    return AnswerResult(
        id=name,
        version=version,
        product="git",
        procedure="git/undo",
        verdict=verdict,
        owner=owner,
        findings=findings,
        faithful=False,
        fitness=0.875,
    )


FAILED = Finding(
    code=Code.STEP_FAILED,
    message="the step ended with exit code 1",
    owner=Owner.ASSISTANT,
    line=6,
    column=1,
    command="git undo",
    evidence="git: 'undo' is not a git command\n]]> & <b>",
)
GOAL = Finding(code=Code.GOAL_NOT_REACHED, message="the goal is not reached", owner=Owner.ASSISTANT)
RESULTS = [
    result("a", Verdict.PASS),
    result("b", Verdict.FAIL, GOAL, FAILED, owner=Owner.ASSISTANT),
    result("c", Verdict.INCONCLUSIVE, owner=Owner.JUDGE),
    result("d", Verdict.ERROR, owner=Owner.ENVIRONMENT),
    result("a", Verdict.PASS, version="2.47"),
]


def test_there_is_a_suite_for_each_version_and_a_case_for_each_answer() -> None:
    document = ET.fromstring(junit_xml(RESULTS))

    suites = {s.get("name"): [c.get("name") for c in s.iter("testcase")] for s in document}

    assert suites == {"git 2.39": ["a", "b", "c", "d"], "git 2.47": ["a"]}
    assert {c.get("classname") for c in document.iter("testcase")} == {"git/undo"}
    totals = [document.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert totals == ["5", "1", "1", "1"]


def test_the_verdict_is_the_kind_of_outcome() -> None:
    document = ET.fromstring(junit_xml(RESULTS))

    kinds = [case[-1].tag for case in document[0]]

    assert kinds == ["properties", "failure", "skipped", "error"]


def test_a_failure_tells_the_cause_first_and_then_everything() -> None:
    failure = ET.fromstring(junit_xml(RESULTS)).find(".//failure")

    assert failure is not None
    assert failure.get("message") == "assistant: the step ended with exit code 1"
    assert failure.get("type") == "step-failed"
    assert failure.text == (
        "PX106 step-failed: the step ended with exit code 1\n"
        "  at 6:1\n"
        "  command: git undo\n"
        "  | git: 'undo' is not a git command\n"
        "  | ]]> & <b>\n"
        "\n"
        "PX107 goal-not-reached: the goal is not reached"
    )


def test_a_case_has_the_facts_as_properties() -> None:
    case = ET.fromstring(junit_xml(RESULTS)).findall(".//testcase")[1]

    assert {p.get("name"): p.get("value") for p in case.iter("property")} == {
        "faithful": "no",
        "works": "unknown",
        "owner": "assistant",
        "fitness": "0.875",
    }


def test_no_results_are_a_document_too() -> None:
    assert ET.fromstring(junit_xml([])).get("tests") == "0"


def test_the_order_of_results_does_not_show() -> None:
    for seed in range(10):
        shuffled = list(RESULTS)
        Random(seed).shuffle(shuffled)

        assert junit_xml(shuffled) == junit_xml(RESULTS)
        assert summary_json(summarise(shuffled)) == summary_json(summarise(RESULTS))


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_was_printed_the_document_is_well_formed(text: str) -> None:
    finding = Finding(
        code=Code.STEP_FAILED,
        message=text,
        owner=Owner.ASSISTANT,
        step=text,
        command=text,
        evidence=text,
        fix=text,
    )

    document = junit_xml([result(text, Verdict.FAIL, finding, owner=Owner.ASSISTANT)])

    assert ET.fromstring(document).find(".//failure") is not None


def test_the_summary_is_sorted_indented_json_without_times() -> None:
    text = summary_json(summarise(RESULTS))

    assert text.endswith(b"}\n")
    assert text == f"{json.dumps(json.loads(text), sort_keys=True, indent=2)}\n".encode()
    assert set(json.loads(text)) == {
        "by_code", "by_owner", "by_procedure", "by_slice", "counts", "results", "stale",
    }  # fmt: skip
