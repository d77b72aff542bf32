"""The order in which findings are told."""

import pytest

from procexec.model.result import AnswerResult, Code, Finding, Owner, Verdict
from procexec.report.findings import ranked


@pytest.mark.parametrize("code", list(Code))
def test_every_kind_of_finding_has_its_place(code: Code) -> None:
    finding = Finding(code=code, message="x", owner=Owner.ASSISTANT)
    result = AnswerResult(
        id="a",
        version="1",
        product="p",
        procedure=None,
        verdict=Verdict.FAIL,
        owner=Owner.ASSISTANT,
        findings=(finding,),
    )

    assert list(ranked(result)) == [finding]
