"""Answers handed out to workers."""

from pathlib import Path

from procexec.batch import Batch
from procexec.judge.silent import Silent
from procexec.model.document import Answer
from procexec.model.result import Code, Owner, Verdict
from procexec.pipeline import Tools
from procexec.reference import References
from procexec.workload import Benches, Job, Library, reuse_key
from tests.fakes import FakeProvider

LIBRARY = Library(procedures={}, sandboxes={})


def job(unmatched: str) -> Job:
    answer = Answer(id="a", question="How do I paint it?", answer="Run `paint it`.")
    return Job(answer=answer, line=3, procedure=None, versions=("1",), unmatched=unmatched)


def test_an_answer_that_is_about_no_known_procedure_is_neither_run_nor_judged(
    tmp_path: Path,
) -> None:
    provider = FakeProvider()
    batch = Batch(
        library=LIBRARY,
        benches=Benches(library=LIBRARY, provider=provider, image=lambda _: ""),
        tools=Tools(
            provider=provider,
            references=References(provider=provider, folder=tmp_path),
            judge=Silent(),
        ),
        workers=1,
        key_of=lambda _job, _version: "key",
    )

    (done,) = batch.results(iter([job("nothing fits")]), lambda _job, _version: False)

    result = done.result.answer
    assert (result.verdict, result.owner, result.line) == (Verdict.INCONCLUSIVE, Owner.JUDGE, 3)
    (finding,) = result.findings
    assert finding.code is Code.UNKNOWN_PROCEDURE
    assert finding.message == "what the answer is about cannot be told: nothing fits"


def test_a_result_is_not_reused_where_another_procedure_might_be_found() -> None:
    keys = {reuse_key(job(why), "1", LIBRARY, "image") for why in ("a is nearest", "b is nearest")}

    assert len(keys) == 2
