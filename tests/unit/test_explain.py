"""Every code is explained."""

import msgspec
import pytest

from procexec.errors import UserError
from procexec.model.result import Code
from procexec.report.explain import Page, all_codes, explain, pages


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert [*pages()] == [code.value for code in Code]


@pytest.mark.parametrize("code", Code)
def test_a_page_says_all(code: Code) -> None:
    page = msgspec.structs.asdict(pages()[code.value])

    assert [*page] == [*Page.__struct_fields__]
    assert all(text.strip() for text in page.values())


@pytest.mark.parametrize("name", ["PX104", "px104", "old-version-step", "OLD_VERSION_STEP"])
def test_a_code_is_found_by_number_and_by_words(name: str) -> None:
    assert explain(name).startswith("PX104 old-version-step: the step of another version\n\n")


def test_a_page_has_its_sections_in_order() -> None:
    heads = [line for line in explain("PX401").splitlines() if line and line[0].isupper()]

    assert heads[2:] == ["How it is decided", "Who acts", "Example", "To look closer"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("missing-stap", "did you mean `missing-step`?"),
        ("PX10", "did you mean `PX110`?"),
        ("zzz", "`procexec explain` lists all codes"),
    ],
)
def test_an_unknown_code_gets_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UserError, match=name) as raised:
        explain(name)

    assert raised.value.hint == hint


def test_the_list_has_a_line_for_each_code() -> None:
    lines = all_codes().splitlines()

    assert len(lines) == len(Code)
    assert lines[0] == "PX101  missing-step            a documented step is not done"
