"""Does an answer say that the documentation does not cover the question?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_DEFINITION = re.compile(r"(?P<name>[a-z]+) = (?P<expression>.+)")


def decline_in(text: str) -> str:
    """Return the words by which a text declines, or nothing."""
    for sentence in _SENTENCE.split(text.replace("’", "'")):
        if words := _declining(re.sub(r"\s+", " ", sentence)):
            return words
    return ""


def _declining(sentence: str) -> str:
    phrases = _phrases()
    found = (m for p in phrases.declining if (m := p.search(sentence)))
    return next((m[0] for m in found if not phrases.goes_on(sentence[m.end() :])), "")


@dataclass(frozen=True, slots=True)
class _Phrases:
    """What declines, and what takes that back where it follows."""

    declining: tuple[re.Pattern[str], ...]
    going_on: tuple[re.Pattern[str], ...]

    def goes_on(self, rest: str) -> bool:
        return any(pattern.search(rest) for pattern in self.going_on)


@cache
def _phrases() -> _Phrases:
    text = (files("procexec.extract") / "declines.txt").read_text("utf-8")
    lines = tuple(_expanded(text))
    return _Phrases(
        declining=tuple(re.compile(line, re.IGNORECASE) for line in lines if line[0] != "!"),
        going_on=tuple(re.compile(line[2:], re.IGNORECASE) for line in lines if line[0] == "!"),
    )


def _expanded(text: str) -> Iterator[str]:
    """Yield the expressions with the names in them replaced by what is defined above."""
    defined: dict[str, str] = {}
    for line in map(str.strip, text.split("\n")):
        if not line or line[0] == "#":
            continue
        whole = re.sub(r"%([a-z]+)%", lambda m: defined[m[1]], line)
        if m := _DEFINITION.fullmatch(whole):
            defined[m["name"]] = m["expression"]
        else:
            yield whole
