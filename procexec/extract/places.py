"""Where steps stand in the Markdown, to the column."""

import html
import re
from collections.abc import Sequence
from dataclasses import replace

from procexec.model.step import AnswerStep, Command, FileEdit, FileWrite, Input, Repair, Session


def exact(step: AnswerStep, lines: Sequence[str]) -> AnswerStep:
    """Return a step whose column is where its text begins on its line, if it stands there.

    A block tells one column for all its lines, and a table only the line: the text itself decides.
    """
    if not 1 <= step.line <= len(lines):
        return step
    line, guess = lines[step.line - 1], step.column - 1
    for text in _written(step):
        if line.startswith(text, guess):
            return step
        found = _nearest(line, text, guess)
        if found is not None:
            return replace(step, column=found + 1)
    return step


def _written(step: AnswerStep) -> list[str]:
    """Return what the Markdown may have at a step's place, the likeliest first."""
    match step.action:
        case Command(text=text) if Repair.DIRECTORY_FROM_PROSE in step.repairs:
            first = text.removeprefix("cd ")
        case Command(text=text):
            first = text
        case Session(program=program, lines=typed):
            first = program or next(iter(typed), "")
        case Input(keys=(key, *_)):
            first = key.rstrip("\r")
        case FileWrite(content=content) | FileEdit(content=content):
            first = content
        case _:
            return []
    first = first.split("\n")[0]
    escaped = (
        first.replace("|", "\\|"),
        first.replace("&", "&amp;"),
        html.escape(first, quote=False),
    )
    spellings = (first, first.strip(), *escaped)
    return [text for text in dict.fromkeys(spellings) if text]


def _nearest(line: str, text: str, guess: int) -> int | None:
    """Return where whole words stand that is nearest to where they should, or None."""
    whole = rf"(?<!\w){re.escape(text)}(?!\w)" if text[0].isalnum() else re.escape(text)
    places = [m.start() for m in re.finditer(whole, line)]
    return min(places, key=lambda place: (abs(place - guess), place), default=None)
