"""Where something stands: file, line, column."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a text file; line and column count from 1, in characters."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def locate(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, from 1, of a character offset in a text."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1
