"""Observed states as facts, and what changed between two of them."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from procexec.model.document import View
from procexec.model.state import Change, Fact, FileFacts, ObservedState, Sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which paths count, and which have their content told by a view."""

    views: tuple[View, ...] = ()
    ignore: tuple[str, ...] = ()

    def counts(self, path: str) -> bool:
        hidden = (*self.ignore, *(g for view in self.views for g in view.hides))
        return not any(_matches(path, glob) for glob in hidden)

    def tells_content(self, path: str) -> bool:
        return any(_matches(path, glob) for view in self.views for glob in view.covers)


@lru_cache(maxsize=65536)
def _matches(path: str, glob: str) -> bool:
    if glob.endswith("/**") and (fnmatchcase(path, glob[:-3])):
        return True
    return fnmatchcase(path, glob)


def changes(earlier: ObservedState, later: ObservedState, scope: Scope) -> tuple[Change, ...]:
    """Return what came to be and what went away between two states of one sandbox, sorted."""
    before, after = Counter(_facts(earlier, later, scope)), Counter(_facts(later, earlier, scope))
    removed = (Change(Sign.REMOVED, fact) for fact in (before - after).elements())
    added = (Change(Sign.ADDED, fact) for fact in (after - before).elements())
    return tuple(sorted((*removed, *added)))


def _facts(state: ObservedState, other: ObservedState, scope: Scope) -> Iterator[Fact]:
    """Yield the facts about all paths that either state has touched, and about the views."""
    for path in sorted(state.files.keys() | other.files.keys()):
        if not scope.counts(path):
            continue
        facts = state.files[path] if path in state.files else other.before.get(path)
        if facts is not None:
            yield from file_facts(path, facts, content=not scope.tells_content(path))
    for name, lines in sorted(state.views.items()):
        yield from view_facts(name, lines)


def file_facts(path: str, facts: FileFacts, *, content: bool) -> Iterator[Fact]:
    """Yield what is true of one path."""
    yield Fact(path, f"is a {facts.type}")
    if facts.mode:
        yield Fact(path, f"mode {facts.mode}")
    if facts.owner:
        yield Fact(path, f"owner {facts.owner}")
    if facts.type == "link":
        yield Fact(path, f"points to {_absolute(path, facts.target)}")
    if facts.type == "file" and content:
        yield from _content(path, facts)


def _absolute(link: str, target: str) -> str:
    """Return where a link leads to, whichever way it is written."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(link), target))


def _content(path: str, facts: FileFacts) -> Iterator[Fact]:
    if facts.text is None:
        yield Fact(path, f"content {facts.digest}")
    else:
        yield from (Fact(path, f"line {line}") for line in facts.text.split("\n") if line)


def view_facts(name: str, lines: Iterable[str]) -> Iterator[Fact]:
    """Yield the facts of a view: one a line; the first word is the subject."""
    for line in lines:
        subject, _, text = line.partition(" ")
        yield Fact(subject, f"[{name}] {text}")


def subjects(found: Sequence[Change]) -> frozenset[str]:
    """Return what the changes are about."""
    return frozenset(change.fact.subject for change in found)
