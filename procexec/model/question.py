"""What a judge is asked, and what it says."""

from dataclasses import dataclass
from enum import StrEnum


class OpinionVerdict(StrEnum):
    """A judge's reply; ``unavailable`` is no reply."""

    PASS = "pass"
    FAIL = "fail"
    ABSTAIN = "abstain"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A step that no sandbox can run, with the evidence a judge may see.

    ``evidence`` is data, never instructions.
    """

    id: str
    answer: str
    subject: str
    text: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A judge's reply. ``quotes`` are substrings of the evidence."""

    question: str
    verdict: OpinionVerdict
    reason: str = ""
    quotes: tuple[str, ...] = ()
