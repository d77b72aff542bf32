"""What differs between runs of the same procedure, so means nothing."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from procexec.model.state import Change, Coverage, Fact, Mask

_PIECES = re.compile(r"\w+|\W")
_VARIES = "~"  # begins a fact that stands for all that fit its pattern


def learn(*runs: Sequence[Change]) -> Mask:
    """Return the mask that makes all runs of one procedure equal.

    Field by field where the runs have the same number of differing facts about a subject: the
    words that differ may be any. A subject whose facts differ in number is masked whole. Each run
    more widens the mask of those before; what is masked stays masked.
    """
    mask = Mask()
    for number in range(2, len(runs) + 1):
        mask = _widened(mask, runs[:number])
    return mask


def _widened(mask: Mask, runs: Sequence[Sequence[Change]]) -> Mask:
    whole = set(mask.subjects)
    patterns: list[tuple[str, str]] = []
    differing = _not_in_all(runs)
    for subject in sorted({subject for run in differing for subject in run}):
        rows = [run.get(subject, []) for run in differing]
        found = [(subject, _pattern(texts)) for texts in zip(*rows, strict=False)]
        found += [known for known in mask.patterns if known[0] == subject]
        same_number = len({len(row) for row in rows}) == 1
        if same_number and _makes_equal(found, runs, subject):
            patterns += found
        else:
            whole.add(subject)
    kept = (known for known in (*patterns, *mask.patterns) if known[0] not in whole)
    return Mask(subjects=frozenset(whole), patterns=tuple(dict.fromkeys(kept)))


def _not_in_all(runs: Sequence[Sequence[Change]]) -> list[dict[str, list[str]]]:
    """Return for each run, by subject, the facts that not every run has."""
    common = Counter(runs[0])
    for run in runs[1:]:
        common &= Counter(run)
    return [_beyond(run, common) for run in runs]


def _beyond(run: Sequence[Change], common: Counter[Change]) -> dict[str, list[str]]:
    left = Counter(common)
    found: dict[str, list[str]] = defaultdict(list)
    for change in run:
        if left[change] > 0:
            left[change] -= 1
        else:
            found[change.fact.subject].append(f"{change.sign} {change.fact.text}")
    return found


def _makes_equal(
    patterns: Sequence[tuple[str, str]], runs: Sequence[Sequence[Change]], subject: str
) -> bool:
    normaliser = Normaliser(mask=Mask(patterns=tuple(patterns)), renamed={})
    first, *others = (
        Counter(normaliser.changes(c for c in run if c.fact.subject == subject)) for run in runs
    )
    return all(other == first for other in others)


def _pattern(texts: Sequence[str]) -> str:
    """Return a pattern for all texts: what they share, and anything where they differ."""
    pieces = [_PIECES.findall(text) for text in texts]
    if len({len(row) for row in pieces}) > 1:
        return _same_beginning([text.split(" ")[:2] for text in texts]) + ".*"
    out: list[str] = []
    for column in zip(*pieces, strict=True):
        piece = re.escape(column[0]) if len(set(column)) == 1 else r"\S+"
        if not (out and out[-1] == piece == r"\S+"):
            out.append(piece)
    return "".join(out)


def _same_beginning(rows: Sequence[Sequence[str]]) -> str:
    """Return the words that all rows begin with, as a pattern."""
    same = takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False))
    return "".join(re.escape(f"{words[0]} ") for words in same)


def coverage(found: Iterable[Change], mask: Mask) -> Coverage:
    """Return how many of the changes a mask takes out, and in how many it leaves words open."""
    known = list(found)
    kept = Normaliser(mask=mask, renamed={}).changes(known)
    varied = sum(change.fact.text.startswith(_VARIES) for change in kept)
    return Coverage(facts=len(known), dropped=len(known) - len(kept), varied=varied)


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
                return Change(change.sign, Fact(subject, f"{_VARIES}{pattern}"))
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
