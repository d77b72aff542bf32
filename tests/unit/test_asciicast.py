"""Transcripts play in any player."""

import json

from hypothesis import given
from hypothesis import strategies as st

from procexec.model.run import Event
from procexec.report.asciicast import cast


def test_a_recording_has_a_header_and_a_line_for_each_event() -> None:
    events = [
        Event(at=0.5, kind="o", data="$ "),
        Event(at=1.25, kind="i", data="ls\r"),
        Event(at=1.5, kind="o", data="\x1b[1mé\r\n"),
    ]

    header, *lines = map(json.loads, cast(events, title="adp-2 @ 2.39").splitlines())

    assert header == {"version": 2, "width": 120, "height": 40, "title": "adp-2 @ 2.39"}
    assert lines == [[0.5, "o", "$ "], [1.25, "i", "ls\r"], [1.5, "o", "\x1b[1mé\r\n"]]


def test_time_never_runs_backwards() -> None:
    events = [Event(at=at, kind="o", data="x") for at in (-1.0, 2.0, 1.0)]

    _, *lines = map(json.loads, cast(events, title="").splitlines())

    assert [line[0] for line in lines] == [0.0, 2.0, 2.0]


@given(st.text(st.characters(exclude_categories=())))
def test_any_bytes_give_lines_of_json_without_half_characters(data: str) -> None:
    text = cast([Event(at=0, kind="o", data=data)], title=data)

    lines = [json.loads(line) for line in text.splitlines()]

    assert len(lines) == 2
    lines[1][2].encode()
    lines[0]["title"].encode()
