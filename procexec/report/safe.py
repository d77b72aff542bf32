"""Untrusted text on a terminal or in a CI log: nothing in it is obeyed, little is lost.

What answers and their commands print may hold escape sequences (clipboard, title, colours),
characters that reorder or hide others, and words that a CI runner takes for commands. All patterns
take linear time: no repeated class may be followed by what it can match itself.
"""

import re
from collections.abc import Iterator

_STRING_END = r"(?:\x07|\x1b\\|\x9c)"
_SEQUENCE = re.compile(
    # CSI: parameters, intermediates, final
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    # OSC up to its end on the same line; without an end, only the introducer goes
    rf"|(?:\x1b\]|\x9d)(?:[^\x07\x1b\x90\x98\x9b-\x9f\n]*+{_STRING_END})?"
    # DCS, SOS, PM, APC
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])(?:[^\x07\x1b\x90\x98\x9b-\x9f]*+{_STRING_END})?"
    # all others, such as the choice of a character set
    r"|\x1b[ -/]*+[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NEWLINE = re.compile(r"\r+\n?")
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_PILE = re.compile(rf"([{_MARKS}]{{8}})[{_MARKS}]++")
_UNSEEN = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u3164\ufeff\uffa0"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional
    "\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"  # anchors, no characters, lone surrogates
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags, selectors
    "]"
)
_RUNNER_COMMAND = re.compile(r"##([A-Za-z0-9_.-]*+)\[")


def shown(text: str) -> str:
    r"""Return text that is safe to print; only newlines and tabs are left to steer anything.

    A carriage return, which overwrites or hides a line, becomes a newline; what cannot be seen is
    written as its code; ``##[`` and the like, which Azure's runner obeys anywhere, as ``##\[``.
    """
    text = _NEWLINE.sub("\n", text)
    text = _CONTROL.sub("", _SEQUENCE.sub("", text))
    text = _PILE.sub(r"\1…", text)
    text = _UNSEEN.sub(_code, text)
    return _RUNNER_COMMAND.sub(r"##\1\\[", text)


def one_line(text: str, limit: int = 200) -> str:
    """Return text that is safe to print in the middle of a line."""
    return _clipped(" ".join(shown(text).split()), limit)


def quoted_block(text: str, prefix: str, limit: int = 1000) -> str:
    """Return text with the prefix before each line, so that no line starts a CI command.

    A line longer than the limit is cut and says so.
    """
    assert prefix.strip(), "an invisible prefix protects nothing: runners skip blanks"
    return "\n".join(prefix + _clipped(line, limit) for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    yield from shown(text).removesuffix("\n").split("\n")


def _clipped(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _code(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
