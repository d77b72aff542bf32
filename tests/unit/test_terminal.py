"""Terminal bytes become the text that a person would see."""

import pytest

from procexec.sandbox.terminal import full_screen, last_line, open_line, plain


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("plain", "plain"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[?2004hprompt$ ", "prompt$ "),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPa device string\x1b\\text", "text"),
        ("\x1b(Btext\x1b=\x1b>", "text"),
        ("a\x00b\x07c\x7f", "abc"),
        ("tab\tstays", "tab\tstays"),
        ("an end\x1b", "an end"),
        ("\x1e0123:e:0:/\x1f", "0123:e:0:/"),
        ("grüße 日本 🎉", "grüße 日本 🎉"),
        ("", ""),
    ],
)
def test_escapes_and_controls_are_no_text(printed: str, seen: str) -> None:
    assert plain(printed) == seen


def test_what_is_printed_after_a_carriage_return_stands_over_what_was_there() -> None:
    assert plain(" 10%\r 50%\r100%\r\ndone") == "100%\ndone"
    assert plain("longer\rab") == "abnger"
    assert plain("kept\r") == "kept"


def test_the_last_line_is_the_last_with_text() -> None:
    assert last_line(b"one\r\ntwo\r\n \r\n\r\n") == "two"
    assert last_line(b"name? ") == "name?"
    assert last_line(b"\r\n") == ""


def test_the_open_line_is_where_the_cursor_stands() -> None:
    assert open_line(b"one\r\nPassword: ") == "Password: "
    assert open_line(b"one\r\n") == ""


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert last_line(b"\xff\xfe name? ") == "�� name?"


@pytest.mark.parametrize("number", ["1049", "1047", "47"])
def test_a_full_screen_program_takes_the_screen_and_gives_it_back(number: str) -> None:
    on, off = f"\x1b[?{number}h".encode(), f"\x1b[?{number}l".encode()

    assert full_screen(on + b"text", was=False)
    assert not full_screen(on + b"text" + off, was=True)
    assert full_screen(off + on, was=False)


def test_other_output_does_not_change_who_has_the_screen() -> None:
    assert full_screen(b"text", was=True)
    assert not full_screen(b"text", was=False)
