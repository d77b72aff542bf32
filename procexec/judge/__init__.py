"""Stage 6: questions in, opinions out. Only for what cannot be run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from procexec.judge.scripted import Scripted
from procexec.judge.silent import Silent
from procexec.model.question import Opinion, Question


class Judge(Protocol):
    """Says whether a step that no sandbox can run is the documented one."""

    def ask(self, question: Question) -> Opinion:
        """Return an opinion; one that cannot be had is ``unavailable``, never a guess.

        Quotes that are no substrings of the question's evidence make an opinion unavailable.
        """
        ...


JUDGES: Mapping[str, Callable[[str], Judge]] = {
    "none": lambda _argument: Silent(),
    "scripted": lambda argument: Scripted.read(Path(argument)),
}
"""How ``--judge NAME`` or ``--judge NAME:ARGUMENT`` makes one."""
