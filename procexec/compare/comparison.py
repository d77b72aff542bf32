"""The answer's end state beside the reference's: missing, wrong, extra; and what is collateral."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from procexec.compare.mask import Normaliser
from procexec.model.state import Change, Deviation, Fact, Reference, Sign

_ADDED_MODE = re.compile(rf"{re.escape(Sign.ADDED)} mode ([0-7]+)")
_LINE = re.compile(r"line (?P<indent>\s*)(?P<words>.*)", re.DOTALL)
_QUOTED_OR_GAP = re.compile(r"""(?P<quoted>"[^"]*"|'[^']*')|[ \t]+""")
_DIGEST = re.compile(r"\b[0-9a-f]{40,64}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the answer did beside what the documentation does.

    ``missing`` and ``extra`` are changes, after normalising; ``collateral`` those extra ones that
    no answer may make; ``aside`` those that do no harm: new files of its own; ``unfinished`` how
    documented steps leave things on their way, and other values of documented settings.
    ``touched`` are the subjects that the answer changes, ``footprint`` those that the reference changes,
    if only on its way.
    """

    missing: tuple[Change, ...]
    extra: tuple[Change, ...]
    collateral: tuple[Change, ...]
    aside: tuple[Change, ...]
    unfinished: tuple[Change, ...]
    touched: frozenset[str]
    footprint: frozenset[str] = frozenset()

    @property
    def equal(self) -> bool:
        return not self.missing and not self.extra

    def has_done(self, effect: Iterable[Change]) -> bool:
        """Tell whether an effect of the reference is there in the answer's end state."""
        return not any(self.lacks(change) for change in effect)

    def lacks(self, change: Change) -> bool:
        """Tell whether a change that a step of the reference makes is not there.

        It is missing, or things still are as the steps before it left them.
        """
        return change in self.missing or change.inverse in self.extra

    def has_touched(self, effect: Iterable[Change]) -> bool:
        """Tell whether the answer changed, in its own way, all that an effect changed."""
        return all(change.fact.subject in self.touched for change in effect)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where an answer may leave things of its own, and what else is tolerated.

    ``harmless`` are patterns of facts that may be added anywhere, ``wordings`` of the parts of
    facts that may be put in other words.
    ``allowed`` is what the documentation changes on a version where it works, None if unknown.
    """

    own: tuple[str, ...]
    tolerate: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    allowed: frozenset[str] | None = None

    def is_own(self, path: str) -> bool:
        return any(path == root or path.startswith(root.rstrip("/") + "/") for root in self.own)

    def is_harmless(self, change: Change) -> bool:
        added = change.sign is Sign.ADDED
        return added and any(re.fullmatch(p, change.fact.text) for p in self.harmless)

    def reworded(self, change: Change) -> Change | None:
        """Return a change with digests and free wording left open, None if it has neither.

        A file that is to be changed may be written in more ways than one; all that is made of its
        content, such as the commit that holds it, has another digest then.
        """
        text, count = _DIGEST.subn("#", change.fact.text)
        for pattern in self.wordings:
            text, more = re.subn(pattern, "#", text)
            count += more
        return Change(change.sign, Fact(change.fact.subject, text)) if count else None

    def tolerates(self, subject: str) -> bool:
        return any(fnmatchcase(subject, glob) for glob in self.tolerate)


def compare(
    answer: Sequence[Change],
    reference: Reference,
    existing: Mapping[str, bool],
    normaliser: Normaliser,
    ground: Ground,
    *,
    optional: frozenset[str] = frozenset(),
) -> Comparison:
    """Compare the changes of an answer with those of the reference.

    What only the ``optional`` steps of the documentation change may be missing.
    ``existing`` tells for each subject whether the fixture had it. Where the reference does not
    work it has no footprint of its own; ``ground.allowed`` are the subjects it changes elsewhere.
    """
    mine = Counter(normaliser.changes(answer))
    theirs = Counter(normaliser.changes(reference.changes))
    missing, extra = theirs - mine, mine - theirs
    for step in reference.steps:
        if step.id in optional:
            missing -= Counter(normaliser.changes(step.changes))
    _match_free_values(missing, extra, normaliser)
    _match_spacing(missing, extra)
    _match_narrower_modes(missing, extra, existing)
    footprint = {change.fact.subject for change in theirs}
    on_the_way = {c for step in reference.steps for c in normaliser.changes(step.changes)}
    if reference.works:
        collateral, aside, unfinished = _sorted_out(
            extra, missing, footprint, on_the_way, existing, ground
        )
    else:
        collateral, aside, unfinished = _beside(extra, existing, ground), [], []
    return Comparison(
        missing=tuple(sorted(missing.elements())),
        extra=tuple(sorted(extra.elements())),
        collateral=tuple(sorted(collateral)),
        aside=tuple(sorted(aside)),
        unfinished=tuple(sorted(unfinished)),
        touched=frozenset(change.fact.subject for change in mine),
        footprint=frozenset(footprint | {change.fact.subject for change in on_the_way}),
    )


def _match_free_values(
    missing: Counter[Change], extra: Counter[Change], normaliser: Normaliser
) -> None:
    """Take out pairs that differ only in a value that the answer was free to choose."""
    for subject, pattern in normaliser.wildcards(list(missing.elements())):
        mine = _first_about(extra, subject, pattern)
        theirs = _first_about(missing, subject, pattern)
        if mine is not None and theirs is not None:
            extra[mine] -= 1
            missing[theirs] -= 1
    for counter in (missing, extra):
        for change in [c for c, n in counter.items() if n <= 0]:
            del counter[change]


def _match_spacing(missing: Counter[Change], extra: Counter[Change]) -> None:
    """Take out the lines that differ only in how wide the gaps between their words are.

    Blanks before the first word and within quotes count.
    """
    mine = {spaced: c for c in extra if (spaced := _spaced(c))}
    for theirs in list(missing):
        same = mine.get(_spaced(theirs) or "")
        if same is not None and extra[same] > 0:
            extra[same] -= 1
            missing[theirs] -= 1
    for counter in (missing, extra):
        for change in [c for c, n in counter.items() if n <= 0]:
            del counter[change]


def _spaced(change: Change) -> str | None:
    """Return a change of a line with one blank in each gap, None if it is none of a line."""
    m = _LINE.fullmatch(change.fact.text)
    if m is None:
        return None
    words = _QUOTED_OR_GAP.sub(lambda gap: gap["quoted"] or " ", m["words"].rstrip())
    return f"{change.sign} {change.fact.subject}\n{m['indent']}{words}"


def _match_narrower_modes(
    missing: Counter[Change], extra: Counter[Change], existing: Mapping[str, bool]
) -> None:
    """Take out the modes of new paths where the answer's allows others less and the owner as much."""
    for theirs in [c for c in missing if not existing.get(c.fact.subject, False)]:
        mine = _first_about(extra, theirs.fact.subject, _ADDED_MODE)
        wanted = _ADDED_MODE.fullmatch(f"{theirs.sign} {theirs.fact.text}")
        if mine is None or wanted is None:
            continue
        have, want = int(mine.fact.text.split()[1], 8), int(wanted[1], 8)
        if not have & ~want and (have ^ want) & 0o7700 == 0:
            del extra[mine], missing[theirs]


def _first_about(changes: Counter[Change], subject: str, pattern: re.Pattern[str]) -> Change | None:
    """Return the first change that is left about a subject and fits a pattern, or None."""
    fitting = (
        change
        for change in sorted(changes)
        if changes[change] > 0
        and change.fact.subject == subject
        and pattern.fullmatch(f"{change.sign} {change.fact.text}")
    )
    return next(fitting, None)


def _sorted_out(
    extra: Counter[Change],
    missing: Counter[Change],
    footprint: set[str],
    on_the_way: set[Change],
    existing: Mapping[str, bool],
    ground: Ground,
) -> tuple[list[Change], list[Change], list[Change]]:
    collateral, aside, unfinished = [], [], []
    wanted = {key for change in missing if (key := _setting(change))}
    rewritten = Counter(filter(None, map(ground.reworded, missing.elements())))
    for change in extra.elements():
        subject = change.fact.subject
        if ground.tolerates(subject):
            continue
        # how documented steps leave things for those that are not done; a setting's other value
        if change in on_the_way or (_setting(change) in wanted):
            unfinished.append(change)
            continue
        shape = ground.reworded(change)
        if shape and rewritten[shape] > 0:
            rewritten[shape] -= 1
            aside.append(change)
        elif (
            ground.is_harmless(change)
            or (not existing.get(subject, False) and ground.is_own(subject))
            or (change.sign is Sign.ADDED and _is_text(change.fact) and subject in footprint)
        ):
            aside.append(change)
        else:
            collateral.append(change)
    return collateral, aside, unfinished


def _setting(change: Change) -> tuple[Sign, str, str] | None:
    """Return what is set where a fact is ``name=value``, or None."""
    name, equals, _ = change.fact.text.partition("=")
    return (change.sign, change.fact.subject, name) if equals and name else None


def _beside(extra: Counter[Change], existing: Mapping[str, bool], ground: Ground) -> list[Change]:
    """Return the changes of what was there and what the documentation never touches."""
    if ground.allowed is None:
        return []
    allowed = ground.allowed
    return [
        change
        for change in extra.elements()
        if existing.get(change.fact.subject, False)
        and change.fact.subject not in allowed
        and not ground.tolerates(change.fact.subject)
    ]


def _is_text(fact: Fact) -> bool:
    """Tell whether the fact is content of a file, which may be written in more ways than one."""
    return fact.text.startswith(("line ", "content "))


def deviations(comparison: Comparison) -> tuple[Deviation, ...]:
    """Return the differences field by field: a missing and an extra fact of a kind are a wrong one."""
    missing, extra = _by_kind(comparison.missing), _by_kind(comparison.extra)
    found = []
    for key in sorted(missing.keys() | extra.keys()):
        wanted, have = missing.get(key, []), extra.get(key, [])
        for k in range(max(len(wanted), len(have))):
            expected = wanted[k] if k < len(wanted) else ""
            actual = have[k] if k < len(have) else ""
            kind = "wrong" if expected and actual else "missing" if expected else "extra"
            found.append(Deviation(kind=kind, subject=key[0], expected=expected, actual=actual))
    return tuple(found)


def _by_kind(found: Sequence[Change]) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for change in found:
        kind = change.fact.text.split(" ", 1)[0]
        removed = "no longer " if change.sign is Sign.REMOVED else ""
        groups[change.fact.subject, f"{change.sign} {kind}"].append(removed + change.fact.text)
    return groups
