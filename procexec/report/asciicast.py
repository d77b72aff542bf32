"""A transcript as a terminal recording (asciicast v2) that any player shows."""

import json
from collections.abc import Iterable, Iterator

from procexec.model.run import Event

WIDTH, HEIGHT = 120, 40


def cast(events: Iterable[Event], *, title: str) -> str:
    """Return the recording: a header, then one line for each piece of output or input."""
    return "".join(f"{line}\n" for line in _lines(events, title))


def _lines(events: Iterable[Event], title: str) -> Iterator[str]:
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": _text(title)}
    yield json.dumps(header)
    now = 0.0
    for event in events:
        now = max(now, round(event.at, 6))  # players want time to run forwards
        yield json.dumps([now, event.kind, _text(event.data)])


def _text(text: str) -> str:
    """Return text that every JSON reader takes: half a surrogate pair is no character."""
    return text.encode("utf-8", "replace").decode()
