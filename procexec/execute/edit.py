"""Edits of a file that exists: the place is found as a person would find it, or not at all. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from procexec.execute.structured import merged_json, merged_yaml
from procexec.model.step import FileEdit, Place

_OPENING, _CLOSING = "([{", ")]}"
_COMMENT = re.compile(r"^\s*(?:#|//|;|--)\s?")
_ELISION = re.compile(r"^\s*(?:#|//|;|--|/\*|<!--)?\s*(?:\.\.\.|…)")
_SECTION = re.compile(r"^\s*\[{1,2}[^\]]+\]{1,2}\s*(?:[#;].*)?$")
_ASSIGNED = re.compile(
    r"""^\s*(?P<key>["']?[A-Za-z_][\w.-]*["']?)\s*(?P<sign>:=|=(?!=)|:(?=\s)|\s(?=.*;\s*$))\s*(?P<value>.*)$"""
)
_IMPORT = re.compile(r"^(?:from\s+\S+\s+)?import\s")
_DEFINED = re.compile(r"^(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")


class UnclearEdit(Exception):  # noqa: N818 - it is no error of ours
    """A person could not tell where in the file the edit belongs."""


def edited(text: str, edit: FileEdit) -> str:
    """Return a file's content after an edit.

    Raises:
        UnclearEdit: the place does not exist, or there is more than one.
    """
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    new = edit.content.rstrip("\n").split("\n") if edit.content else []
    made = _HOW[edit.place](_Edit(lines=lines, new=new, edit=edit))
    return "\n".join(made) + "\n"


@dataclass(frozen=True, slots=True)
class _Edit:
    """A file's lines, the lines that are told, and where they belong."""

    lines: list[str]
    new: list[str]
    edit: FileEdit

    @property
    def is_python(self) -> bool:
        return self.edit.path.endswith(".py")

    def place(self) -> int:
        return find(self.lines, self.edit.anchor)


# --- finding a place ----------------------------------------------------------------------------


def find(lines: Sequence[str], anchor: str) -> int:
    """Return the index of the one line that an author means by some words of it.

    Raises:
        UnclearEdit: no line or several lines fit equally well.
    """
    wanted = _plain(_bare(anchor))
    if not wanted:
        raise UnclearEdit("no line is named")
    for fits in (_is_line, _starts_line, _is_in_line):
        found = [k for k, line in enumerate(lines) if fits(_plain(line), wanted)]
        found = [k for k in found if not _COMMENT.match(lines[k])] or found
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise UnclearEdit(f"{len(found)} lines fit `{anchor}`")
    raise UnclearEdit(f"no line fits `{anchor}`")


def _bare(anchor: str) -> str:
    """Return an anchor without the elided rest of a block: ``location / { ... }``, ``X = [``."""
    first = anchor.strip().split("\n")[0]
    return re.sub(r"\s*(?:[\[{(]\s*(?:\.\.\.|…)\s*[\]})];?|\.\.\.|…)\s*$", "", first)


def _plain(line: str) -> str:
    """Return a line without what an author may spell otherwise: quotes, white space, its end."""
    return re.sub(r"\s+", " ", line.replace('"', "'")).strip().rstrip(",;").rstrip()


def _is_line(line: str, wanted: str) -> bool:
    return line == wanted or line.rstrip(" {[(:=") == wanted.rstrip(" {[(:=")


def _starts_line(line: str, wanted: str) -> bool:
    uncommented = _COMMENT.sub("", line)
    return any(
        s.startswith(wanted) and not s[len(wanted) :][:1].isalnum() for s in (line, uncommented)
    )


def _is_in_line(line: str, wanted: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(wanted)}(?!\w)", line) is not None


def extent(lines: Sequence[str], start: int) -> int:
    """Return the index behind the last line of what begins at a line: a block, section or value."""
    header = lines[start]
    if _SECTION.match(header):
        rest = (k for k in range(start + 1, len(lines)) if _SECTION.match(lines[k]))
        return _without_blanks(lines, start, next(rest, len(lines)))
    depth = _depth(header)
    if depth > 0:
        for k in range(start + 1, len(lines)):
            depth += _depth(lines[k])
            if depth <= 0:
                return k + 1
        return len(lines)
    if header.rstrip().endswith(":"):
        own = _indent(header)
        rest = (
            k for k in range(start + 1, len(lines)) if lines[k].strip() and _indent(lines[k]) <= own
        )
        return _without_blanks(lines, start, next(rest, len(lines)))
    return start + 1


def _without_blanks(lines: Sequence[str], start: int, end: int) -> int:
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _depth(line: str) -> int:
    """Return how many brackets a line leaves open, strings and comments left out."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
    bare = re.sub(r"(?:^|\s)(?:#|//).*", "", bare)
    return sum(bare.count(c) for c in _OPENING) - sum(bare.count(c) for c in _CLOSING)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# --- the kinds of edits -------------------------------------------------------------------------


def _at_end(it: _Edit) -> list[str]:
    gap = [""] if it.lines and it.lines[-1].strip() and len(it.new) > 1 else []
    return [*it.lines, *gap, *it.new]


def _at_top(it: _Edit) -> list[str]:
    first = 1 if it.lines and it.lines[0].startswith("#!") else 0
    return [*it.lines[:first], *it.new, *it.lines[first:]]


def _after(it: _Edit) -> list[str]:
    at = it.place()
    end = extent(it.lines, at) if _opens_block(it.lines[at]) else at + 1
    return [*it.lines[:end], *_fitted(it.new, it.lines[at]), *it.lines[end:]]


def _before(it: _Edit) -> list[str]:
    at = it.place()
    gap = [""] if _SECTION.match(it.lines[at]) and _SECTION.match(it.new[0]) else []
    return [*it.lines[:at], *_fitted(it.new, it.lines[at]), *gap, *it.lines[at:]]


def _opens_block(line: str) -> bool:
    return bool(_SECTION.match(line)) or _depth(line) > 0


def _fitted(new: Sequence[str], neighbour: str) -> list[str]:
    """Return lines at the indentation of their neighbour, as an author's first column means it."""
    least = min((_indent(line) for line in new if line.strip()), default=0)
    shift = max(_indent(neighbour) - least, 0)
    return [" " * shift + line if line.strip() else line for line in new]


def _replace(it: _Edit) -> list[str]:
    at = it.place()
    line = it.lines[at]
    wanted = it.edit.anchor.strip()
    if len(it.new) == 1 and wanted in line and not _is_line(_plain(line), _plain(_bare(wanted))):
        told = _starts_told(line, it.new[0])
        return [
            *it.lines[:at],
            told or line.replace(wanted, it.new[0].strip()),
            *it.lines[at + 1 :],
        ]
    end = extent(it.lines, at)
    end = max(end, at + wanted.count("\n") + 1)
    return [*it.lines[:at], *_fitted(it.new, line), *it.lines[end:]]


def _starts_told(line: str, new: str) -> str:
    """Return the new line if it is a whole one for the same key as the old, or nothing."""
    old_key, new_key = (_ASSIGNED.match(_COMMENT.sub("", text)) for text in (line, new))
    if old_key and new_key and _plain(old_key["key"]) == _plain(new_key["key"]):
        return " " * _indent(line) + new.strip()
    return ""


def _set(it: _Edit) -> list[str]:
    """Give a key its value in the way the file assigns; a new key comes last."""
    key, value = _plain(it.edit.anchor), it.edit.content.strip()
    at = _same_header(it.lines, f"{key} = {value}")
    if at is None:
        sign = ": " if it.edit.path.endswith((".yaml", ".yml", ".json")) else " = "
        told = f'"{key}"{sign}{value}' if it.edit.path.endswith(".json") else f"{key}{sign}{value}"
        return _merge(replace(it, new=[told]))
    line = _COMMENT.sub("", it.lines[at], count=1)
    m = _ASSIGNED.match(line)
    assert m is not None
    end = next((mark for mark in (";", ",") if m["value"].rstrip().endswith(mark)), "")
    return [*it.lines[:at], f"{line[: m.start('value')]}{value}{end}", *it.lines[at + 1 :]]


def _uncomment(it: _Edit) -> list[str]:
    wanted = _plain(it.edit.anchor)
    bare = [
        (k, _COMMENT.sub("", line, count=1))
        for k, line in enumerate(it.lines)
        if _COMMENT.match(line)
    ]
    for fits in (_is_line, _starts_line, _is_in_line):
        found = [(k, text) for k, text in bare if fits(_plain(text), wanted)]
        if len(found) == 1:
            at, text = found[0]
            indent = it.lines[at][: _indent(it.lines[at])]
            return [*it.lines[:at], indent + text.lstrip(), *it.lines[at + 1 :]]
        if found:
            raise UnclearEdit(f"{len(found)} commented lines fit `{it.edit.anchor}`")
    raise UnclearEdit(f"no commented line fits `{it.edit.anchor}`")


def _delete(it: _Edit) -> list[str]:
    at = it.place()
    return [*it.lines[:at], *it.lines[extent(it.lines, at) :]]


def _inside_first(it: _Edit) -> list[str]:
    return _inside(it, last=False)


def _inside_last(it: _Edit) -> list[str]:
    return _inside(it, last=True)


def _inside(it: _Edit, *, last: bool) -> list[str]:
    at = it.place()
    header, end = it.lines[at], extent(it.lines, at)
    if not _opens_block(header) and not header.rstrip().endswith(":"):
        return _inside_line(it, at, last=last)
    closes = not _SECTION.match(header) and _depth(header) > 0
    body = it.lines[at + 1 : end - closes]
    sample = next(
        (line for line in body if line.strip()), " " * (_indent(header) + 4 * closes) + "x"
    )
    new = _fitted(it.new, sample)
    if _SECTION.match(header):
        body = _with_keys(body, new)
    elif last:
        body = [*_comma_ended(body, it), *_with_comma(new, body, it)]
    else:
        body = [*_with_comma(new, body, it), *body]
    return [*it.lines[: at + 1], *body, *it.lines[end - closes :]]


def _inside_line(it: _Edit, at: int, *, last: bool) -> list[str]:
    """Put an entry into a list that stands on one line."""
    m = re.match(r"(.*?[\[{(])(.*)([\]})].*)$", it.lines[at])
    if m is None:
        raise UnclearEdit(f"`{it.edit.anchor}` holds nothing that can be added to")
    entry = " ".join(line.strip() for line in it.new).rstrip(",")
    inner = [part for part in (m[2].strip().rstrip(","),) if part]
    parts = [*inner, entry] if last else [entry, *inner]
    return [*it.lines[:at], m[1] + ", ".join(parts) + m[3], *it.lines[at + 1 :]]


def _takes_commas(body: Sequence[str], it: _Edit) -> bool:
    entries = [line for line in body if line.strip() and not _COMMENT.match(line)]
    if entries:
        return any(line.rstrip().endswith(",") for line in entries)
    return it.is_python or it.edit.path.endswith((".json", ".js", ".mjs", ".cjs", ".toml"))


def _comma_ended(body: Sequence[str], it: _Edit) -> list[str]:
    if not _takes_commas(body, it):
        return list(body)
    last = next(
        (k for k in reversed(range(len(body))) if body[k].strip() and not _COMMENT.match(body[k])),
        None,
    )
    if last is None or body[last].rstrip().endswith((",", "{", "[", "(")):
        return list(body)
    return [*body[:last], body[last].rstrip() + ",", *body[last + 1 :]]


def _with_comma(new: Sequence[str], body: Sequence[str], it: _Edit) -> list[str]:
    if not new or not _takes_commas(body, it) or new[-1].rstrip().endswith((",", ";")):
        return list(new)
    return [*new[:-1], new[-1].rstrip() + ","]


# --- fragments: what is told says itself where it belongs ----------------------------------------


def _merge(it: _Edit) -> list[str]:
    """Put a fragment where its own first lines say it belongs."""
    suffix = it.edit.path.rsplit(".", 1)[-1]
    if suffix == "json" and (told := merged_json(it.lines, it.new)) is not None:
        return told
    if suffix in ("yaml", "yml") and (told := merged_yaml(it.lines, it.new)) is not None:
        return told
    lines = list(it.lines)
    for chunk in _chunks(it.new, python=it.is_python):
        lines = _merge_chunk(lines, chunk, it)
    return lines


def _chunks(new: Sequence[str], *, python: bool) -> Iterator[list[str]]:
    """Yield the parts of a fragment that belong to places of their own: sections, blocks, values."""
    k = 0
    least = min((_indent(line) for line in new if line.strip()), default=0)
    while k < len(new):
        if not new[k].strip():
            k += 1
            continue
        end = extent(new, k)
        decorated = python and new[k].startswith("@")
        if decorated:
            end = extent(new, k + 1) if k + 1 < len(new) else k + 1
        yield [line[least:] if line.strip() else line for line in new[k:end]]
        k = end


def _merge_chunk(lines: list[str], chunk: list[str], it: _Edit) -> list[str]:
    head = chunk[0]
    if _ELISION.match(head):
        return lines
    if it.is_python and _IMPORT.match(head):
        return _with_import(lines, chunk)
    if _SECTION.match(head):
        return _with_section(lines, chunk)
    if any(_ELISION.match(line) for line in chunk[1:]):
        return _with_elided(lines, chunk)
    at = _same_header(lines, head)
    if at is not None:
        return [*lines[:at], *_fitted(chunk, lines[at]), *lines[extent(lines, at) :]]
    if len(chunk) == 1 and _COMMENT.match(head):
        return lines if any(_plain(line) == _plain(head) for line in lines) else [*lines, head]
    gap = [""] if lines and lines[-1].strip() and len(chunk) > 1 else []
    return [*lines, *gap, *chunk]


def _same_header(lines: Sequence[str], head: str) -> int | None:
    """Return the line that begins the same block, or assigns the same key; None: there is none.

    Raises:
        UnclearEdit: there are several.
    """
    same: Callable[[str], bool]
    if m := _DEFINED.match(head):
        name = m["name"]
        same = lambda line: bool((d := _DEFINED.match(line)) and d["name"] == name)
    elif m := _ASSIGNED.match(head):
        key = _plain(m["key"])
        same = lambda line: bool((a := _ASSIGNED.match(line)) and _plain(a["key"]) == key)
    else:
        wanted = _plain(head)
        same = lambda line: _plain(line) == wanted
    found = [k for k, line in enumerate(lines) if not _COMMENT.match(line) and same(line)]
    if not found and _ASSIGNED.match(head):
        found = [
            k
            for k, line in enumerate(lines)
            if _COMMENT.match(line) and same(_COMMENT.sub("", line))
        ]
        found = found[:1]
    least = min((_indent(lines[k]) for k in found), default=0)
    found = [k for k in found if _indent(lines[k]) == least]
    if len(found) > 1:
        raise UnclearEdit(f"{len(found)} lines begin like `{head.strip()}`")
    return found[0] if found else None


def _with_import(lines: list[str], chunk: list[str]) -> list[str]:
    if any(_plain(line) == _plain(chunk[0]) for line in lines):
        return lines
    tops = [k for k, line in enumerate(lines) if _IMPORT.match(line)]
    at = extent(lines, tops[-1]) if tops else _behind_docstring(lines)
    return [*lines[:at], *chunk, *lines[at:]]


def _behind_docstring(lines: Sequence[str]) -> int:
    first = next(
        (k for k, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0
    )
    mark = next((m for m in ('"""', "'''") if lines and lines[first].lstrip().startswith(m)), "")
    if not mark:
        return first
    if lines[first].count(mark) > 1:
        return first + 1
    return next((k + 1 for k in range(first + 1, len(lines)) if mark in lines[k]), first)


def _with_section(lines: list[str], chunk: list[str]) -> list[str]:
    wanted = _plain(chunk[0])
    at = next((k for k, line in enumerate(lines) if _plain(line) == wanted), None)
    body = _without_trailing_blanks(chunk[1:])
    if at is None or chunk[0].lstrip().startswith("[["):
        gap = [""] if lines and lines[-1].strip() else []
        return [*lines, *gap, chunk[0], *body]
    end = extent(lines, at)
    return [*lines[: at + 1], *_with_keys(lines[at + 1 : end], body), *lines[end:]]


def _without_trailing_blanks(lines: list[str]) -> list[str]:
    return lines[: _without_blanks(lines, -1, len(lines))]


def _with_keys(body: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return a section's lines with keys set: an old value is replaced, a new one comes last."""
    made = list(body)
    for line in new:
        m = _ASSIGNED.match(line)
        key = _plain(m["key"]) if m else ""
        same = [
            k
            for k, old in enumerate(made)
            if key and (a := _ASSIGNED.match(_COMMENT.sub("", old))) and _plain(a["key"]) == key
        ]
        live = [k for k in same if not _COMMENT.match(made[k])] or same
        if live:
            made[live[0]] = line
        elif _plain(line) not in map(_plain, made):
            made.append(line)
    return made


def _with_elided(lines: list[str], chunk: list[str]) -> list[str]:
    """Put the new lines of a block whose old ones are elided beside those that are shown."""
    at = find(lines, chunk[0])
    end = extent(lines, at)
    inner = chunk[1:-1] if _depth(chunk[0]) > 0 else chunk[1:]
    body, place = lines[at + 1 : end - 1], 0
    for line in inner:
        if _ELISION.match(line):
            place = len(body)
            continue
        known = next((k for k, old in enumerate(body) if _plain(old) == _plain(line)), None)
        if known is not None:
            place = known + 1
            continue
        sample = next((old for old in body if old.strip()), line)
        body.insert(place, _fitted([line], sample)[0])
        place += 1
    return [*lines[: at + 1], *body, *lines[end - 1 :]]


_HOW: dict[Place, Callable[[_Edit], list[str]]] = {
    Place.MERGE: _merge,
    Place.TOP: _at_top,
    Place.END: _at_end,
    Place.AFTER: _after,
    Place.BEFORE: _before,
    Place.FIRST_INSIDE: _inside_first,
    Place.LAST_INSIDE: _inside_last,
    Place.INSTEAD_OF: _replace,
    Place.SET: _set,
    Place.UNCOMMENT: _uncomment,
    Place.DELETE: _delete,
}
