"""What differs between two runs of the same procedure, so means nothing."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from procexec.model.state import Change, Fact, Mask

_PIECES = re.compile(r"\w+|\W")


def learn(first: Sequence[Change], second: Sequence[Change]) -> Mask:
    """Return the mask that makes two runs of one procedure equal.

    Field by field where the two runs have the same number of differing facts about a subject:
    the words that differ may be any. A subject whose facts differ in number is masked whole.
    """
    left, right = _only_in(first, second), _only_in(second, first)
    patterns: list[tuple[str, str]] = []
    whole: set[str] = set()
    for subject in sorted(left.keys() | right.keys()):
        a, b = left.get(subject, []), right.get(subject, [])
        found = [(subject, _pattern(x, y)) for x, y in zip(a, b, strict=False)]
        if len(a) == len(b) and _makes_equal(found, first, second, subject):
            patterns += found
        else:
            whole.add(subject)
    return Mask(subjects=frozenset(whole), patterns=tuple(dict.fromkeys(patterns)))


def _only_in(these: Sequence[Change], others: Sequence[Change]) -> dict[str, list[str]]:
    common = Counter(others)
    found: dict[str, list[str]] = defaultdict(list)
    for change in these:
        if common[change] > 0:
            common[change] -= 1
        else:
            found[change.fact.subject].append(f"{change.sign} {change.fact.text}")
    return found


def _makes_equal(
    patterns: Sequence[tuple[str, str]],
    first: Sequence[Change],
    second: Sequence[Change],
    subject: str,
) -> bool:
    normaliser = Normaliser(mask=Mask(patterns=tuple(patterns)), renamed={})
    left, right = (
        Counter(normaliser.changes(c for c in run if c.fact.subject == subject))
        for run in (first, second)
    )
    return left == right


def _pattern(left: str, right: str) -> str:
    """Return a pattern for both texts: what they share, and anything where they differ."""
    a, b = _PIECES.findall(left), _PIECES.findall(right)
    if len(a) != len(b):
        return re.escape(left.split(" ", 2)[0]) + r" \S+ .*" if " " in left else ".*"
    out: list[str] = []
    for x, y in zip(a, b, strict=True):
        piece = re.escape(x) if x == y else r"\S+"
        if not (out and out[-1] == piece == r"\S+"):
            out.append(piece)
    return "".join(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normaliser:
    """Writes changes so that what means nothing is equal.

    ``renamed`` maps the answer's own choice of a free value to the documented one; the documented
    ones in ``free`` may be anything when the answer's choice is not known.
    """

    mask: Mask
    renamed: Mapping[str, str]
    free: tuple[str, ...] = ()

    def changes(self, found: Iterable[Change]) -> list[Change]:
        """Return the changes with values renamed and masked fields replaced by their pattern."""
        kept = []
        for change in found:
            renamed = Change(change.sign, self._renamed(change.fact))
            if renamed.fact.subject not in self.mask.subjects:
                kept.append(self._masked(renamed))
        return kept

    def _renamed(self, fact: Fact) -> Fact:
        own = sorted(filter(None, self.renamed), key=len, reverse=True)
        if not own:
            return fact
        pattern = re.compile("|".join(map(re.escape, own)))
        subject, text = (
            pattern.sub(lambda m: self.renamed[m[0]], t) for t in (fact.subject, fact.text)
        )
        return Fact(subject, text)

    def _masked(self, change: Change) -> Change:
        text = f"{change.sign} {change.fact.text}"
        for subject, pattern in self.mask.patterns:
            if subject == change.fact.subject and re.fullmatch(pattern, text):
                return Change(change.sign, Fact(subject, f"~{pattern}"))
        return change

    def wildcards(self, reference: Iterable[Change]) -> list[tuple[str, re.Pattern[str]]]:
        """Return patterns of reference facts in which a free value may be anything."""
        found = []
        for change in reference:
            text = f"{change.sign} {change.fact.text}"
            for value in self.free:
                if value and value in text:
                    pattern = re.escape(text).replace(re.escape(value), ".+")
                    found.append((change.fact.subject, re.compile(pattern)))
        return found
