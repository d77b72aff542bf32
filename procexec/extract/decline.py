"""Does an answer say that the documentation does not cover the question?"""

import re
from functools import cache
from importlib.resources import files


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    text = (files("procexec.extract") / "declines.txt").read_text()
    lines = (line.strip() for line in text.splitlines())
    return tuple(re.compile(line, re.IGNORECASE) for line in lines if line and line[0] != "#")


def decline_in(text: str) -> str:
    """Return the words by which a text declines, or nothing."""
    folded = re.sub(r"\s+", " ", text.replace("’", "'"))
    return next((m[0] for p in _patterns() if (m := p.search(folded))), "")
