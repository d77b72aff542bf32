"""A judge whose opinions stand in a file: for tests, and for opinions given by people."""

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.question import Opinion, OpinionVerdict, Question


@dataclass(frozen=True, slots=True)
class Scripted:
    """Opinions by question id."""

    opinions: dict[str, Opinion]

    @classmethod
    def read(cls, path: Path) -> "Scripted":
        """Return the judge of a JSONL file of opinions.

        Raises:
            UserError: the file cannot be read or a line is no opinion.
        """
        found: dict[str, Opinion] = {}
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as e:
            raise UserError(f"cannot be read: {e.strerror}", at=Location(str(path), 1)) from e
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    opinion = msgspec.json.decode(line, type=Opinion)
                except msgspec.DecodeError as e:
                    raise UserError(str(e), at=Location(str(path), number)) from e
                found[opinion.question] = opinion
        return cls(found)

    def ask(self, question: Question) -> Opinion:
        opinion = self.opinions.get(question.id)
        if opinion is None:
            return Opinion(
                question=question.id,
                verdict=OpinionVerdict.UNAVAILABLE,
                reason="the script has no opinion on it",
            )
        if any(quote not in question.evidence for quote in opinion.quotes):
            reason = "it quotes what is not in the evidence"
            return replace(opinion, verdict=OpinionVerdict.UNAVAILABLE, reason=reason)
        return opinion
