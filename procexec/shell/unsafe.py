"""Steps that nobody should be told to run: found in the text of actions by kinds that are data."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from procexec.model.document import Unsafe
from procexec.model.evidence import DocumentedAtom
from procexec.model.step import Action, Command, FileEdit, FileWrite, Place, Session

_PIECE = 16 << 10  # characters


@dataclass(frozen=True, slots=True)
class Hit:
    """A kind, and the words that are of it."""

    kind: Unsafe
    words: str


def hits(action: Action, kinds: Sequence[Unsafe]) -> Iterator[Hit]:
    """Yield what is unsafe about an action: in a command, or in what it writes to a file."""
    match action:
        case Command() | Session():
            yield from _hits(action.text, kinds)
        case FileWrite():
            yield from _hits(action.content, _of_files(kinds))
        case FileEdit():
            yield from _hits(_written(action), _of_files(kinds))
        case _:
            return


def documented_hits(atom: DocumentedAtom, kinds: Sequence[Unsafe]) -> Iterator[Hit]:
    """Yield what is unsafe about an atom of a documented step."""
    yield from _hits(atom.content, _of_files(kinds)) if atom.is_file else _hits(atom.text, kinds)


@dataclass(frozen=True, slots=True)
class Risk:
    """A documented step that is unsafe."""

    step: str
    kind: str
    reason: str


def documented_risks(atoms: Sequence[DocumentedAtom], kinds: Sequence[Unsafe]) -> tuple[Risk, ...]:
    """Return what is unsafe about a documented procedure, each kind once a step."""
    found = (
        Risk(atom.step, hit.kind.name, hit.kind.reason)
        for atom in atoms
        for hit in documented_hits(atom, kinds)
    )
    return tuple(dict.fromkeys(found))


def _of_files(kinds: Sequence[Unsafe]) -> list[Unsafe]:
    return [kind for kind in kinds if kind.in_files]


def _written(edit: FileEdit) -> str:
    match edit.place:
        case Place.SET:
            return f"{edit.anchor} {edit.content}"
        case Place.UNCOMMENT:
            return edit.content or edit.anchor.lstrip("#; ")
        case _:
            return edit.content


def _hits(text: str, kinds: Sequence[Unsafe]) -> Iterator[Hit]:
    for kind in kinds:
        words = (" ".join(found.split()) for found in _found(kind.pattern, text))
        yield from (Hit(kind, found) for found in dict.fromkeys(words))


def _found(pattern: str, text: str) -> Iterator[str]:
    """Yield what matches; long text is looked at in pieces that overlap by half.

    Backtracking may take the square of a piece's length, never that of the whole.
    """
    compiled = re.compile(pattern)
    for start in range(0, max(len(text) - _PIECE // 2, 1), _PIECE // 2):
        end = min(start + _PIECE, len(text))
        for found in compiled.finditer(text, start, end):
            if found.end() < end or end == len(text):  # at a cut, the next piece tells
                yield found[0]
