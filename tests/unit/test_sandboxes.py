"""sandboxes/<product>/<version>/sandbox.yaml: refused with every error in its place."""

from pathlib import Path

import pytest

from procexec.read.sandboxes import read_sandboxes

SHIPPED = Path(__file__).parents[2] / "sandboxes"
GOOD = 'product: tool\nversion: "1.10"\nbase: debian:13\n'


def errors(folder: Path, text: str, *, where: str = "tool/1.10", dockerfile: bool = True) -> str:
    (folder / where).mkdir(parents=True)
    (folder / where / "sandbox.yaml").write_text(text)
    if dockerfile:
        (folder / where / "Dockerfile").touch()
    _, found = read_sandboxes(folder)
    return "".join(f"{error}\n" for error in found).replace(f"{folder}/", "")


def test_the_shipped_sandboxes_have_no_error() -> None:
    sandboxes, found = read_sandboxes(SHIPPED)

    assert found == []
    assert ("sqlite3", "3.46") in sandboxes


def test_a_good_sandbox_is_found_by_product_and_version(tmp_path: Path) -> None:
    assert errors(tmp_path, GOOD) == ""

    sandboxes, _ = read_sandboxes(tmp_path)

    assert sandboxes["tool", "1.10"].folder == tmp_path / "tool" / "1.10"


def test_a_version_that_is_a_number_is_to_be_quoted(tmp_path: Path) -> None:
    assert errors(tmp_path, GOOD.replace('"', "")) == (
        "tool/1.10/sandbox.yaml:2:10: error: Expected `str`, got `float`\n"
        '  hint: quote it, e.g. "1.10"\n'
    )


def test_a_sandbox_stands_in_the_folder_of_its_name(tmp_path: Path) -> None:
    assert errors(tmp_path, GOOD, where="tool/1.1") == (
        "tool/1.1/sandbox.yaml:1:1: error: product `tool` and version `1.10` do not fit the "
        "folder\n  hint: the folder says `tool` and `1.1`\n"
    )


def test_a_sandbox_needs_its_dockerfile(tmp_path: Path) -> None:
    assert errors(tmp_path, GOOD, dockerfile=False) == (
        "tool/1.10/sandbox.yaml:1:1: error: there is no Dockerfile beside it\n"
    )


def test_a_typo_deep_inside_is_named_with_its_place(tmp_path: Path) -> None:
    text = GOOD + "views:\n  - name: v\n    run: ls\n    cover: []\n"

    assert errors(tmp_path, text) == (
        "tool/1.10/sandbox.yaml:7:5: error: Object contains unknown field `cover`\n"
        "  hint: did you mean `covers`?\n"
    )


def test_a_typo_in_an_option_table_gets_a_hint_of_that_table(tmp_path: Path) -> None:
    text = GOOD + "options:\n  tool:\n    options:\n      - names: [-x]\n        valu: true\n"

    assert errors(tmp_path, text).endswith("hint: did you mean `value`?\n")


@pytest.mark.parametrize(
    ("text", "place", "pattern"),
    [
        ("prompts:\n  - pattern: '['\n", "5:14", "["),
        ("sessions:\n  - program: p\n    quit: [x, '(']\n", "6:15", "("),
        ("sessions:\n  - program: p\n    read_only: ['*']\n", "6:17", "*"),
        ("unsafe:\n  - {name: u, reason: r, pattern: '(?P<'}\n", "5:35", "(?P<"),
    ],
)
def test_a_pattern_that_is_none_has_its_place(
    tmp_path: Path, text: str, place: str, pattern: str
) -> None:
    message = errors(tmp_path, GOOD + text)

    assert message.startswith(
        f"tool/1.10/sandbox.yaml:{place}: error: the pattern `{pattern}` is wrong: "
    )


def test_a_pattern_that_moves_a_session_needs_a_group_for_the_target(tmp_path: Path) -> None:
    text = GOOD + "sessions:\n  - program: p\n    retarget: ['use \\w+']\n"

    assert errors(tmp_path, text) == (
        "tool/1.10/sandbox.yaml:6:16: error: the pattern `use \\w+` is wrong: it has no group 1\n"
    )


def test_all_errors_of_a_sandbox_are_reported(tmp_path: Path) -> None:
    text = GOOD + "prompts: [{pattern: '['}, {pattern: ')'}]\n"

    assert errors(tmp_path, text, dockerfile=False).count("error:") == 3


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    _, found = read_sandboxes(tmp_path / "no")

    assert [str(e) for e in found] == [
        f"error: there is no folder `{tmp_path}/no`\n  hint: give the folder with --sandboxes DIR"
    ]
