"""How well an answer's atom fits a documented one, by text: cost, label, bindings. Pure."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from procexec.model.alignment import Candidate, Label
from procexec.model.step import Atom, AtomKind, Canonical, Place
from procexec.model.words import text_similarity
from procexec.shell.files import WRITE
from procexec.shell.parse import PLACEHOLDER
from procexec.shell.sessions import STATEMENT

SUBSTITUTED = 600
OTHER_VERSION = 400
MOST_SUBSTITUTED = 899
PIPED = 100
PROSE_THRESHOLD = 0.18

_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?")
_WILD = re.compile(f"{PLACEHOLDER.pattern}|{_VARIABLE.pattern}|(?i:\\byour[-_]\\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The procedure's values as text: fixed by the question, and free to choose."""

    given: Mapping[str, str] = field(default_factory=dict)
    free: Mapping[str, str] = field(default_factory=dict)


def candidate(
    doc: Atom, others: tuple[Atom, ...], answer: Atom, values: Values
) -> Candidate | None:
    """Return how an answer's atom could stand for a documented one, or None."""
    direct = _compare(doc, answer, values)
    if direct is not None and direct.cost < OTHER_VERSION:
        return direct
    for other in others:
        found = _compare(other, answer, values)
        if found is not None and found.cost < OTHER_VERSION:
            cost = min(OTHER_VERSION + found.cost, OTHER_VERSION + 99)
            return Candidate(cost=cost, label=Label.OTHER_VERSION, bindings=found.bindings)
    return direct


def _compare(doc: Atom, answer: Atom, values: Values) -> Candidate | None:
    if doc.kind is not answer.kind and not (_is_write(doc) and _is_write(answer)):
        return None
    match doc.kind:
        case AtomKind.COMMAND | AtomKind.FILE:
            return _commands(doc, answer, values)
        case AtomKind.INPUT:
            return _inputs(doc, answer)
        case AtomKind.MANUAL:
            return _prose(doc.text, answer.text)


def _is_write(atom: Atom) -> bool:
    """Tell whether an atom writes a file, in whatever way it is told."""
    return len(atom.stages) == 1 and atom.stages[0].path[:1] == (WRITE,)


def _inputs(doc: Atom, answer: Atom) -> Candidate:
    if doc.text.strip() == answer.text.strip():
        return Candidate(cost=0, label=Label.MATCHED)
    asked, meant = (atom.values[0] if atom.values else "" for atom in (doc, answer))
    other_prompt = bool(asked and meant) and text_similarity(asked, meant) < PROSE_THRESHOLD
    detail = f"types `{answer.text}`, documented is `{doc.text}`"
    return Candidate(cost=SUBSTITUTED + 200 * other_prompt, label=Label.SUBSTITUTED, detail=detail)


def _commands(doc: Atom, answer: Atom, values: Values) -> Candidate | None:
    if len(doc.stages) == len(answer.stages):
        found = [_canonical(d, a, values) for d, a in zip(doc.stages, answer.stages, strict=True)]
        whole = [c for c in found if c is not None]
        if len(whole) == len(found):
            return _joined(whole)
    if len(doc.stages) == 1:
        return _piped(doc.stages[0], answer, values)
    return None


def _joined(parts: list[Candidate]) -> Candidate:
    worst = max(parts, key=lambda c: c.cost)
    bindings = tuple(binding for part in parts for binding in part.bindings)
    detail = "; ".join(part.detail for part in parts if part.detail)
    against = tuple(value for part in parts for value in part.against)
    return Candidate(
        cost=worst.cost,
        label=worst.label,
        detail=detail,
        bindings=bindings,
        against=against,
        reshaped=any(part.reshaped for part in parts),
        added=any(part.added for part in parts),
        foreign=any(part.foreign for part in parts),
    )


def _piped(doc: Canonical, answer: Atom, values: Values) -> Candidate | None:
    """Compare with the best stage of a pipeline."""
    found = [c for stage in answer.stages if (c := _canonical(doc, stage, values)) is not None]
    if not found:
        return None
    best = min(found, key=lambda c: c.cost)
    label = Label.VARIANT if best.cost < SUBSTITUTED else best.label
    cost = min(best.cost + PIPED, MOST_SUBSTITUTED)
    return Candidate(cost=cost, label=label, detail="in a pipeline", bindings=best.bindings)


def _canonical(doc: Canonical, answer: Canonical, values: Values) -> Candidate | None:
    if not _comparable(doc, answer):
        return None
    differences = _Differences(values)
    differences.compare(doc, answer)
    bindings = tuple(sorted(differences.bindings.items()))
    if not differences.weight:
        benign = min(differences.benign * 50, 200)
        label = Label.VARIANT if benign else Label.MATCHED
        return Candidate(cost=benign, label=label, bindings=bindings)
    share = min(differences.weight / max(differences.size, 1), 1.0)
    cost = min(SUBSTITUTED + round(300 * share), MOST_SUBSTITUTED)
    return Candidate(
        cost=cost,
        label=Label.SUBSTITUTED,
        detail="; ".join(differences.details[:3]),
        bindings=bindings,
        against=tuple(differences.against),
        reshaped=differences.reshaped,
        added=differences.added and not differences.lacks,
        foreign=differences.foreign,
    )


def _comparable(doc: Canonical, answer: Canonical) -> bool:
    """Tell whether two commands could be versions of one: same sub-command, verb or file."""
    if doc.path[:1] == answer.path[:1] == (WRITE,):
        return doc.path == answer.path or doc.operands == answer.operands
    shorter = min(len(doc.path), len(answer.path))
    same = shorter > 0 and doc.path[:shorter] == answer.path[:shorter]
    if STATEMENT in doc.path and STATEMENT in answer.path:
        same = same and _verb(doc) == _verb(answer)
    return same and shorter >= min(2, len(doc.path))


def _verb(form: Canonical) -> str:
    return form.operands[-1].split(" ", 1)[0] if form.operands else ""


@dataclass(slots=True)
class _Differences:
    """Collects what is not the same: how much it weighs, of how many things, and in words."""

    values: Values
    weight: float = 0
    size: int = 1
    benign: int = 0
    details: list[str] = field(default_factory=list)
    bindings: dict[str, str] = field(default_factory=dict)
    against: list[str] = field(default_factory=list)
    reshaped: bool = False
    added: bool = False
    lacks: bool = False
    foreign: bool = False

    def compare(self, doc: Canonical, answer: Canonical) -> None:
        same_text = _lines(doc.stdin) == _lines(answer.stdin)
        if same_text and _is_merged(doc, answer):
            self.benign += 1
        elif doc.path != answer.path:
            self.reshaped = True
            self._differ(f"`{' '.join(answer.path)}` instead of `{' '.join(doc.path)}`")
        self._options(doc, answer)
        self._operands(doc.operands, answer.operands)
        if not same_text:
            self.foreign = _is_foreign(doc, answer)
            self._differ("other text on standard input")
        if doc.writes != answer.writes:
            self._differ("other redirections")

    def _differ(self, detail: str, weight: float = 1) -> None:
        self.weight += weight
        self.details.append(detail)

    def _options(self, doc: Canonical, answer: Canonical) -> None:
        wanted, found = dict(doc.options), dict(answer.options)
        harmless = doc.benign | answer.benign
        for name in sorted(wanted.keys() | found.keys()):
            self.size += 1
            if name in wanted and name in found:
                self._option_values(name, wanted[name], found[name])
            elif name in harmless:
                self.benign += 1
            else:
                self.reshaped |= name in answer.unknown
                self.added = self.added or name in found
                self.lacks |= name in wanted
                self._differ(f"`{name}` is {'missing' if name in wanted else 'added'}")

    def _option_values(self, name: str, wanted: tuple[str, ...], found: tuple[str, ...]) -> None:
        if len(wanted) != len(found):
            self._differ(f"`{name}` is given {len(found)} times instead of {len(wanted)}")
            return
        for want, have in zip(wanted, found, strict=True):
            if not self._same(want, have):
                self._differ(f"`{name}` is `{have}` instead of `{want}`")

    def _operands(self, wanted: tuple[str, ...], found: tuple[str, ...]) -> None:
        self.size += max(len(wanted), len(found))
        if len(wanted) == len(found):
            for want, have in zip(wanted, found, strict=True):
                if not self._same(want, have):
                    self.reshaped |= not _share_words(want, have)
                    self._differ(f"`{have}` instead of `{want}`", _apart(want, have))
            return
        self.reshaped = True
        self.lacks |= len(wanted) > len(found)
        missing, added = Counter(wanted), Counter(found)
        for word in (missing - added).elements():
            self._differ(f"`{word}` is missing")
        for word in (added - missing).elements():
            self._differ(f"`{word}` is added")

    def _same(self, want: str, have: str) -> bool:
        if want == have:
            return True
        bound = _unify(want, have, self.values)
        if bound is None:
            given = (value for value in self.values.given.values() if value == want)
            self.against += given
            return False
        self.bindings.update(bound)
        return True


def _lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without the blanks at their ends."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _is_merged(doc: Canonical, answer: Canonical) -> bool:
    """Tell whether an answer puts a text where it fits in the file that the document writes."""
    return doc.path[:1] == (WRITE,) and answer.path == (WRITE, Place.MERGE)


def _is_foreign(doc: Canonical, answer: Canonical) -> bool:
    """Tell whether a text for a file begins no line of a word or more as the documented one does."""
    if not doc.path[:1] == answer.path[:1] == (WRITE,):
        return False
    wanted, found = ({_first_word(line) for line in _lines(t.stdin)} - {""} for t in (doc, answer))
    return bool(found) and not wanted & found


def _first_word(line: str) -> str:
    m = re.match(r"\W*(\w[\w.-]*)", line)
    return m[1] if m else ""


def _share_words(want: str, have: str) -> bool:
    """Tell whether two operands are of the same build: as many words, or half of the shorter's in both."""
    wanted, found = want.split(), have.split()
    shared = (Counter(wanted) & Counter(found)).total()
    return len(wanted) == len(found) or 2 * shared >= min(len(wanted), len(found)) > 1


def _apart(want: str, have: str) -> float:
    """Return how much two operands differ, up to 1: less where they share words."""
    wanted, found = Counter(want.split()), Counter(have.split())
    return 1 - (wanted & found).total() / max(wanted.total(), found.total(), 1) / 2


def _unify(want: str, have: str, values: Values) -> dict[str, str] | None:
    """Return what makes two words equal: free values of the one, placeholders of the other."""
    if _WILD.search(have):
        return _bound_placeholders(want, have)
    for name, default in sorted(values.free.items()):
        if default and default in want:
            pattern = re.escape(want).replace(re.escape(default), "(.+)", 1)
            if m := re.fullmatch(pattern, have, re.DOTALL):
                return {name: m[1]}
    return None


def _bound_placeholders(want: str, have: str) -> dict[str, str] | None:
    names = [m[0] for m in _WILD.finditer(have)]
    pattern = "(.+)".join(re.escape(part) for part in _fixed_parts(have))
    m = re.fullmatch(pattern, want, re.DOTALL)
    return dict(zip(names, m.groups(), strict=True)) if m else None


def _fixed_parts(text: str) -> list[str]:
    parts, last = [], 0
    for m in _WILD.finditer(text):
        parts.append(text[last : m.start()])
        last = m.end()
    return [*parts, text[last:]]


def _prose(doc: str, answer: str) -> Candidate | None:
    similarity = text_similarity(doc, answer)
    if similarity < PROSE_THRESHOLD:
        return None
    return Candidate(cost=round(200 * (1 - similarity)), label=Label.PARAPHRASE)
