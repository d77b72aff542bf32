"""Untrusted text is shown, never obeyed."""

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procexec.report.safe import one_line, quoted_block, shown

HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\x1b\x9b\x9d\x90\x9c\x07\r\n\t[]#:;P\\m0 \u202e\u200b\ud800"),
        st.characters(exclude_categories=()),
    )
)


@given(HOSTILE)
def test_no_escape_or_control_character_is_left(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", shown(text))


@given(HOSTILE)
def test_what_was_made_safe_stays_as_it_is(text: str) -> None:
    assert shown(shown(text)) == shown(text)


@given(HOSTILE)
def test_every_line_of_a_block_has_the_prefix_and_no_runner_command(text: str) -> None:
    block = quoted_block(text, "| ")

    assert all(line.startswith("| ") for line in block.splitlines())
    assert not re.search(r"##[a-z]*\[", block)


@given(HOSTILE)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(st.characters(categories=["L", "N", "P", "Z"], exclude_characters="#\u2028\u2029")))
def test_plain_text_is_left_alone(text: str) -> None:
    if not re.search("[\u115f\u1160\u3164\uffa0]", text):
        assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("a\x1b]0;no end\nb", "a0;no end\nb"),
        ("a\x1bPq#0;2\x1b\\b\x1b(Bc\x1bcd", "abcd"),
        ("\x1b[6n\x1b[2J\x1b[?1049h", ""),
        ("one\r\ntwo\r10%\r100%", "one\ntwo\n10%\n100%"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("a\u200bb\ufeff\U000e0041", "a\\u200bb\\ufeff\\U000e0041"),
        ("\udcff", "\\udcff"),
        ("a\b\x00\x7f", "a"),
        ("e" + "\u0301" * 100_000, "e" + "\u0301" * 8 + "…"),
        ("x ##[error]y ##vso[task.x]z", "x ##\\[error]y ##vso\\[task.x]z"),
        ("#\x1b[m#[group]", "##\\[group]"),
    ],
)
def test_sequences_go_and_what_hides_is_written_as_its_code(text: str, safe: str) -> None:
    assert shown(text) == safe


@pytest.mark.parametrize(
    "line",
    [
        "::error::x",
        "  ::set-env name=A::b",
        "##[error]x",
        "text ##[group]x",
        "##vso[task.setvariable]x",
        "##teamcity[testFailed name='x']",
        "\r\x1b[0Ksection_start:1:a\r\x1b[0KTitle",
        "progress\r::error::x",
        "\u2028::error::x",
        "\x85::error::x",
    ],
)
def test_no_runner_finds_a_command_in_a_block(line: str) -> None:
    for printed in re.split("[\n\r\x85\u2028\u2029]", quoted_block(line, "  | ")):
        assert not printed.lstrip().startswith(("::", "##", "section_"))
        assert not re.search(r"##(vso|teamcity)?\[", printed)


def test_an_invisible_prefix_is_refused() -> None:
    with pytest.raises(AssertionError, match="invisible"):
        quoted_block("::error", "  ")


HEADS = [
    "\x1b[",
    "\x1b]",
    "\x9d",
    "\x1bP",
    "\x90a",
    "##",
    "##a",
    "\x1b ",
    "\u0301",
    "\r",
    "\x1b[0 ",
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("tail", ["", "0", " ", "a"])
def test_hostile_text_takes_linear_time(head: str, tail: str) -> None:
    size = 1_000_000
    text = head + tail * size if tail else head * (size // len(head))

    began = process_time()
    shown(text)

    assert process_time() - began < 5
