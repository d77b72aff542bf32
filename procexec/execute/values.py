"""Placeholders to values: by what the alignment bound them to, else by their name."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_DIGEST_NAME = re.compile(r"(?i)(?:hash|sha\d*|oid|checksum|digest|fingerprint)\W*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValues:
    """The values a reader has: from the question, from the procedure, from the answer's line.

    ``bound`` is what the alignment found placeholders to stand for.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    bound: Mapping[str, str] = field(default_factory=dict)
    question: str = ""

    def of(self, placeholder: str) -> str | None:
        """Return a placeholder's value, or None if nobody told it."""
        if self._is_value(placeholder):
            return placeholder
        value = self.bound.get(placeholder)
        if value is not None and self._is_told(value) and _is_of_kind(value, placeholder):
            return value
        return self._by_name(placeholder, _name) or self._by_name(placeholder, _short_name)

    def _by_name(self, placeholder: str, name_of: Callable[[str], str]) -> str | None:
        wanted = name_of(placeholder)
        return next((v for k, v in sorted(self.named.items()) if name_of(k) == wanted), None)

    def _is_value(self, word: str) -> bool:
        """Tell whether a plain word that the answer calls a stand-in is a reader's value already."""
        plain = re.fullmatch(r"[\w.@:/-]+", word) is not None
        return plain and (self._is_told(word) or word in self.bound.values())

    def _is_told(self, value: str) -> bool:
        return value in self.named.values() or value in self.question


def bound_by_lines(
    names: Iterable[str], mine: Iterable[str], documented: Iterable[str]
) -> dict[str, str]:
    """Return what placeholders stand for where a line of the answer is a documented one but for them."""
    wanted, theirs = tuple(names), [_squeezed(line) for line in documented]
    found: dict[str, str] = {}
    for line in map(_squeezed, mine):
        inside = [name for name in wanted if name in line]
        if not inside:
            continue
        pattern = re.escape(line)
        for k, name in enumerate(inside):
            pattern = pattern.replace(re.escape(name), f"(?P<p{k}>\\S+?)", 1)
        m = next((m for other in theirs if (m := re.fullmatch(pattern, other))), None)
        found |= {name: m[f"p{k}"] for k, name in enumerate(inside)} if m else {}
    return found


def _squeezed(line: str) -> str:
    return re.sub(r"\s+", " ", line).strip()


def _is_of_kind(value: str, placeholder: str) -> bool:
    """Tell whether a value can be what the placeholder asks for: a digest is no name."""
    return not _DIGEST_NAME.search(placeholder) or bool(re.fullmatch(r"[0-9a-f]{4,}", value))


def _name(placeholder: str) -> str:
    bare = re.sub(r"^[<{$\s]+|[>}\s]+$", "", placeholder).lower()
    return re.sub(r"\W+|_", "", re.sub(r"^(?:your|my|the|new)[-_ ]+", "", bare))


def _short_name(placeholder: str) -> str:
    """Return a name without what says only that it is one: ``branch-name`` is ``branch``."""
    return re.sub(r"(?<=...)(?:name|word|phrase)$", "", _name(placeholder))


def resolve(text: str, names: Iterable[str], known: KnownValues) -> tuple[str, tuple[str, ...]]:
    """Return a text with its placeholders replaced, and those that have no value."""
    values = {name: known.of(name) for name in names}
    told = {name: value for name, value in values.items() if value is not None}
    longest_first = sorted(told, key=len, reverse=True)
    if told:
        text = re.sub("|".join(map(re.escape, longest_first)), lambda m: told[m[0]], text)
    return text, tuple(name for name in values if name not in told)
