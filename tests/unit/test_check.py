"""Answers against procedures and sandboxes, before anything runs."""

from pathlib import Path

from procexec.model.document import Procedure, Source, Step
from procexec.read.answers import AnswerFile
from procexec.read.check import Known, check_answers, check_procedures, check_versions

SANDBOXES = frozenset([("git", "2.30"), ("git", "2.39"), ("sqlite3", "3.46")])


def procedure(name: str, *versions: str) -> Procedure:
    return Procedure(
        id=name,
        title="Make a thing",
        product=name.split("/")[0],
        doc=Source(title="Manual", url="https://example.test/manual"),
        versions=versions,
        steps=(Step(id="make", run="make"),),
    )


KNOWN = Known(procedures={"git/clone": procedure("git/clone", "2.30", "2.39")}, sandboxes=SANDBOXES)


def errors(folder: Path, *fields: str) -> list[str]:
    path = folder / "a.jsonl"
    lines = (f'{{"id": "{k}", "answer": "x", {more}}}\n' for k, more in enumerate(fields))
    path.write_text("".join(lines))
    return [str(e) for e in check_answers(AnswerFile("a.jsonl", path), KNOWN).errors]


def test_an_answer_with_all_that_is_known_is_accepted(tmp_path: Path) -> None:
    fields = '"procedure": "git/clone", "product": "git", "versions": ["2.30"]'

    assert errors(tmp_path, fields) == []


def test_an_unknown_procedure_is_named_with_the_nearest(tmp_path: Path) -> None:
    assert errors(tmp_path, '"procedure": "git/clnoe"') == [
        "a.jsonl:1:1: error: there is no procedure `git/clnoe`\n  hint: did you mean `git/clone`?"
    ]


def test_an_unknown_product_is_named_with_the_nearest(tmp_path: Path) -> None:
    assert errors(tmp_path, '"product": "sqlite"') == [
        (
            "a.jsonl:1:1: error: there is no sandbox of product `sqlite`\n"
            "  hint: did you mean `sqlite3`?"
        )
    ]


def test_an_unknown_version_is_named_with_those_of_the_product(tmp_path: Path) -> None:
    assert errors(tmp_path, '"procedure": "git/clone", "versions": ["3.46"]') == [
        (
            "a.jsonl:1:1: error: there is no sandbox of `git` version `3.46`\n"
            "  hint: one of: 2.30, 2.39"
        )
    ]


def test_a_product_other_than_the_procedure_s_is_an_error(tmp_path: Path) -> None:
    assert errors(tmp_path, '"procedure": "git/clone", "product": "sqlite3"') == [
        "a.jsonl:1:1: error: product is `sqlite3`, but the procedure is about `git`"
    ]


def test_a_question_that_is_not_covered_needs_no_procedure(tmp_path: Path) -> None:
    assert errors(tmp_path, '"procedure": null, "product": "git", "versions": ["2.30"]') == []


def test_every_line_s_error_is_reported_in_order(tmp_path: Path) -> None:
    found = errors(tmp_path, '"product": "x"', '"id2": 1', '"procedure": "git/y"')

    assert [message.split(" ")[0] for message in found] == [
        "a.jsonl:1:1:",
        "a.jsonl:2:28:",
        "a.jsonl:3:1:",
    ]


def test_answers_are_counted_the_bad_lines_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "answer": ""}\n{}\n{"id": "b", "answer": ""}\n')

    assert check_answers(AnswerFile("a.jsonl", path), KNOWN).count == 2


def test_a_version_of_no_sandbox_is_refused() -> None:
    found = check_versions(["2.39", "2.93"], KNOWN)

    assert [str(e) for e in found] == [
        "error: there is no sandbox of version `2.93`\n  hint: did you mean `2.39`?"
    ]


def test_a_procedure_s_versions_need_sandboxes() -> None:
    known = Known(procedures={"git/x": procedure("git/x", "2.30", "2.38")}, sandboxes=SANDBOXES)

    assert [str(e) for e in check_procedures(known)] == [
        (
            "error: procedure `git/x` names version `2.38`, which has no sandbox\n"
            "  hint: did you mean `2.39`?"
        )
    ]


def test_the_version_of_another_product_does_not_count() -> None:
    known = Known(procedures={"git/x": procedure("git/x", "3.46")}, sandboxes=SANDBOXES)

    assert len(check_procedures(known)) == 1
