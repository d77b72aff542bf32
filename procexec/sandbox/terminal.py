"""Terminal text: without escape sequences, and the line on which a prompt stands."""

import re

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # other escapes
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
    r"|\x1b"
)
_ALTERNATE_ON = (b"\x1b[?1049h", b"\x1b[?47h", b"\x1b[?1047h")
_ALTERNATE_OFF = (b"\x1b[?1049l", b"\x1b[?47l", b"\x1b[?1047l")


def plain(text: str) -> str:
    """Return terminal text as it would look: no escapes, carriage returns carried out."""
    lines = _CONTROL.sub("", text.replace("\r\n", "\n")).split("\n")
    return "\n".join(_overwritten(line) for line in lines)


def _overwritten(line: str) -> str:
    """Return a line after its carriage returns: later text over earlier text."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown


def last_line(data: bytes) -> str:
    """Return the last line of terminal bytes that holds text, whether or not it has ended."""
    text = plain(data.decode("utf-8", errors="replace"))
    return next((line for line in reversed(text.split("\n")) if line.strip()), "").strip()


def open_line(data: bytes) -> str:
    """Return the text after the last line end: where the cursor stands."""
    text = plain(data.decode("utf-8", errors="replace"))
    return text.rsplit("\n", 1)[-1]


def full_screen(data: bytes, *, was: bool) -> bool:
    """Tell whether a full-screen program shows after these bytes."""
    on = max(data.rfind(mark) for mark in _ALTERNATE_ON)
    off = max(data.rfind(mark) for mark in _ALTERNATE_OFF)
    return was if on < 0 and off < 0 else on > off
