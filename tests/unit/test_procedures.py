"""procedures/<product>/<name>.yaml: refused with every error in its place."""

import shutil
from pathlib import Path

import pytest

from procexec.errors import UserError
from procexec.model.document import version_matches
from procexec.read.procedures import read_procedure, read_procedures
from tests.golden import DATA, Golden

SHIPPED = Path(__file__).parents[2] / "procedures"


def errors(folder: Path) -> str:
    _, found = read_procedures(folder)
    return "".join(f"{error}\n" for error in found).replace(f"{folder}/", "")


@pytest.mark.parametrize("path", sorted((DATA / "bad").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_bad_file_is_refused_with_every_error(path: Path, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "bad").mkdir()
    shutil.copy(path, tmp_path / "bad")

    golden.check(errors(tmp_path), path.with_suffix(".txt"))


@pytest.mark.parametrize("path", sorted((DATA / "good").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_good_file_is_read_without_an_error(path: Path, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    shutil.copy(path, tmp_path / "good")

    assert errors(tmp_path) == ""


def test_values_are_what_stands_there() -> None:
    procedure = read_procedure(DATA / "good" / "everything.yaml")

    assert procedure.given == {
        "name": "thing",
        "size": 3,
        "at": "12:30",
        "mode": "0755",
        "day": "2024-02-30",
        "hex": "0x1F",
    }


def test_the_shipped_procedures_have_no_error() -> None:
    procedures, found = read_procedures(SHIPPED)

    assert found == []
    assert procedures


def test_a_file_in_another_encoding_is_refused_at_the_character(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "latin.yaml").write_bytes("id: bad/latin\ntitle: Größe\n".encode("latin-1"))

    assert errors(tmp_path) == "bad/latin.yaml:2:10: error: not UTF-8\n"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad" / "folder.yaml").mkdir(parents=True)

    assert errors(tmp_path) == "bad/folder.yaml:1:1: error: cannot be read: Is a directory\n"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    _, found = read_procedures(tmp_path / "no")

    assert [str(e) for e in found] == [
        f"error: there is no folder `{tmp_path}/no`\n  hint: give the folder with --procedures DIR"
    ]


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    shutil.copytree(DATA / "good", tmp_path / "good")
    (tmp_path / "bad").mkdir()
    shutil.copy(DATA / "bad" / "alias.yaml", tmp_path / "bad")

    procedures, found = read_procedures(tmp_path)

    assert len(found) == 1
    assert "good/everything" in procedures


def test_reading_one_bad_file_raises() -> None:
    with pytest.raises(UserError, match="aliases are not allowed"):
        read_procedure(DATA / "bad" / "alias.yaml")


@pytest.mark.parametrize(
    ("version", "constraint", "holds"),
    [
        ("2.9", "<2.23", True),
        ("2.23", "<2.23", False),
        ("2.23", "<=2.23", True),
        ("2.23.1", "<=2.23", False),
        ("2.100", ">2.23", True),
        ("3.0", ">=2.46", True),
        ("1.1.1", "==1.1.1", True),
        ("1.1.1w", "==1.1.1", True),
    ],
)
def test_versions_are_compared_number_by_number(version: str, constraint: str, holds: bool) -> None:
    assert version_matches(version, constraint) is holds
