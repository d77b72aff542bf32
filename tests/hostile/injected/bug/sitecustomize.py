"""Puts a bug into procexec: it cannot stand an answer that says so."""

from procexec import trial
from procexec.extract.extraction import extract
from procexec.extract.hints import Hints
from procexec.model.step import Extraction


def _with_bug(markdown: str, hints: Hints) -> Extraction:
    if "trip over this" in markdown:
        raise ZeroDivisionError("put in by a test")
    return extract(markdown, hints)


vars(trial)["extract"] = _with_bug
