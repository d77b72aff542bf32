"""Do answers of which we know what they are about find it, if nobody says it?

The folder of cases is named by the environment variable PROCEXEC_CASES, or stands beside the
project as ``shared/cases``.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from procexec.align.find import Questions
from procexec.read.answers import open_answers
from procexec.workload import Job, Selection, jobs, read_library
from tests.cases import FOLDER, Case, cases_of, procedure_folders, procedure_of

ROOT = Path(__file__).parents[2]
LEAST = 0.95  # of the covered questions whose procedure is not only first, but taken

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no cases: name their folder in PROCEXEC_CASES"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A case, and what was made of it without the name of its procedure."""

    case: Case
    job: Job

    @property
    def taken(self) -> str | None:
        return self.job.procedure.id if self.job.procedure else None


@cache
def cases() -> tuple[Case, ...]:
    folders = procedure_folders()
    return tuple(case for folder in folders for case in cases_of(folder, folder.parent.name))


@pytest.fixture(scope="module")
def guesses(tmp_path_factory: pytest.TempPathFactory) -> list[Guess]:
    path = tmp_path_factory.mktemp("cases") / "answers.jsonl"
    rows = (
        {"id": c.answer.id, "question": c.answer.question, "answer": c.answer.answer}
        for c in cases()
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    library, errors = read_library(ROOT / "procedures", ROOT / "sandboxes")
    assert not errors
    with open_answers(str(path)) as file:
        found = {job.answer.id: job for job in jobs(file, library, Selection())}
    return [Guess(case=case, job=found[case.answer.id]) for case in cases()]


def test_every_question_of_every_procedure_is_first_among_all() -> None:
    procedures = [procedure_of(folder) for folder in procedure_folders()]
    questions = Questions(procedures)

    first = {q: questions.rank(q)[0].procedure for p in procedures for q in p.questions}

    assert first == {q: p.id for p in procedures for q in p.questions}


def test_every_asked_question_finds_its_procedure_first() -> None:
    questions = Questions([procedure_of(folder) for folder in procedure_folders()])
    covered = {c.answer.question: c.answer.procedure for c in cases() if c.answer.procedure}

    assert {q: questions.rank(q)[0].procedure for q in covered} == covered


def test_no_answer_gets_another_s_procedure(guesses: list[Guess]) -> None:
    wrong = [g for g in guesses if g.taken not in (None, g.case.answer.procedure)]

    assert [(g.case.answer.id, g.taken) for g in wrong] == []


def test_nearly_all_answers_to_covered_questions_get_their_procedure(guesses: list[Guess]) -> None:
    covered = [g for g in guesses if g.case.answer.procedure is not None]
    left = [g.case.answer.id for g in covered if g.taken is None]

    assert len(left) <= (1 - LEAST) * len(covered), left


def test_what_the_documentation_does_not_cover_is_left_with_the_reason(
    guesses: list[Guess],
) -> None:
    uncovered = [g for g in guesses if g.case.answer.procedure is None]

    assert uncovered
    assert [g.case.answer.id for g in uncovered if not g.job.unmatched] == []
