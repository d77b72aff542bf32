"""Results as JUnit XML: failure is the assistant's or the documentation's, error the test bed's."""

import io
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import assert_never

from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
from junitparser.xunit2 import TestCase  # the flavour with properties

from procexec.model.result import AnswerResult, Finding, Verdict
from procexec.report.findings import informational, ranked, suite_name
from procexec.report.safe import one_line, shown


def junit_xml(results: Iterable[AnswerResult]) -> bytes:
    """Return a document with a suite for each product and version, in a fixed order.

    It is well-formed whatever the answers printed: no control characters, no half characters.
    """
    document = JUnitXml("procexec")
    ordered = sorted(results, key=lambda r: (suite_name(r), r.procedure or "", r.id))
    for name, own in groupby(ordered, key=suite_name):
        document.add_testsuite(_suite(name, own))
    document.update_statistics()  # type: ignore[no-untyped-call]
    file = io.BytesIO()
    document.write(file)
    return file.getvalue()


def _suite(name: str, results: Iterable[AnswerResult]) -> TestSuite:
    suite = TestSuite(one_line(name))
    suite.add_testcases([_case(result) for result in results])
    return suite


def _case(result: AnswerResult) -> TestCase:
    case = TestCase(one_line(result.id), one_line(result.procedure or "not covered"))
    for name, value in _properties(result):
        case.add_property(name, value)
    outcome = _outcome(result)
    if outcome is not None:
        outcome.text = "\n\n".join(_paragraphs(result))
        case.result = outcome
    return case


def _properties(result: AnswerResult) -> Iterator[tuple[str, str]]:
    yield "faithful", _yes_no(result.faithful)
    yield "works", _yes_no(result.works)
    yield "owner", result.owner.value
    if result.grade:
        yield "procexec.sandbox.grade", result.grade
    yield "fitness", "unknown" if result.fitness is None else f"{result.fitness:.4g}"


def _yes_no(fact: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[fact]


def _outcome(result: AnswerResult) -> Failure | Error | Skipped | None:
    match result.verdict:
        case Verdict.PASS:
            return None
        case Verdict.INCONCLUSIVE:
            return Skipped(_message(result), _kind(result))
        case Verdict.FAIL:
            return Failure(_message(result), _kind(result))
        case Verdict.ERROR:
            return Error(_message(result), _kind(result))
        case _:
            assert_never(result.verdict)


def _message(result: AnswerResult) -> str:
    first = next(iter(ranked(result)), None)
    told = first.message if first is not None else result.verdict.value
    return one_line(f"{result.owner}: {told}", 500)


def _kind(result: AnswerResult) -> str:
    first = next(iter(ranked(result)), None)
    return first.slug if first is not None else result.verdict.value


def _paragraphs(result: AnswerResult) -> Iterator[str]:
    for finding in (*ranked(result), *informational(result)):
        yield "\n".join(_told(finding))


def _told(finding: Finding) -> Iterator[str]:
    aside = " (informational)" if finding.informational else ""
    yield f"{finding.code.value} {finding.slug}{aside}: {one_line(finding.message, 500)}"
    if finding.line:
        yield f"  at {finding.line}:{finding.column}"
    parts = {"documented step": finding.step, "command": finding.command, "fix": finding.fix}
    yield from (f"  {name}: {one_line(text, 500)}" for name, text in parts.items() if text)
    yield from (f"  | {line}" for line in shown(finding.evidence).splitlines())
