"""Edits of files: what prose and code tell to change, and where."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from procexec.extract.blocks import Block
from procexec.extract.fenced import OTHER_PLATFORM, SHELL
from procexec.extract.hints import Hints
from procexec.model.step import AnswerStep, FileEdit, FileWrite, Place, Rule
from procexec.shell.parse import parse, placeholders

_SUFFIXES = r"(?:py|toml|ini|cfg|conf|cnf|json|jsonc|ya?ml|m?js|cjs|ts|xml|properties|env|txt|md|rb|php|html|css|sql|service|rules)"
PATH = (
    r"(?:(?:~|\.{1,2})?/[\w./@+<>{}-]*[\w>}]"
    rf"|(?:[\w.@<>{{}}-]+/)+[\w.@<>{{}}-]*[\w>}}]|\.?[\w<>{{}}-][\w.<>{{}}-]*\.{_SUFFIXES}|\.[a-z][\w.-]*\w|[A-Z][A-Za-z]+file)"
)
_NAMED = re.compile(rf"(?:`|\*\*|(?<![\w/`.*:]))(?P<path>{PATH})(?:`|\*\*|(?![\w/`*]))")
_NO_FILE = re.compile(r"^(?:https?:|/(?:admin|blog|api|static|login)?/?$)|://|\.\.\.")

_CREATES = re.compile(
    r"(?i)\b(?:creat\w+|erstelle?n?|lege?n?|crea\w*|salva\w*|new file|make (?:a|the) file|save|store|write (?:this |the following |it )?to)\b"
    r"|\b(?:whole|entire|complete|full) (?:new )?contents?\b|\breplac\w+ (?:the |all )?(?:\w+ )?contents?\b"
    r"|\bwith (?:this|the following|these) (?:version|contents?|lines?)\b(?! (?:at|in|below|above))"
    r"|\b(?:should|must|to) (?:now |then )?(?:look like|contain|read|be)\b"
)
_AT_END = re.compile(
    r"(?i)\bappend\b(?! .{0,40}\bto (?:the )?(?:list|`[A-Z_]{3,}`))|\b(?:at|to) the (?:very )?(?:end|bottom)\b(?! of the list)"
    r"|\b(?:as|e\.g\. the) (?:the )?last lines?\b|\banywhere\b|\bam ende\b|\balla fine\b"
)
_AT_TOP = re.compile(
    r"(?i)\bat the (?:very )?(?:top|beginning|start)\b(?! of the (?:list|block|section))"
)
_FIRST = re.compile(r"(?i)\b(?:first|top|beginning|start)\b")
_LAST = re.compile(r"(?i)\b(?:last|end|bottom|append)\b")
_CODE = r"`(?P<anchor>[^`]+)`"
_WHAT = r"(?:the |that |this )?(?:(?:existing|old|commented|current) )?(?:line|lines|block|comment|entry|setting|section|directive|table|header)?\s*"
_INSTEAD = re.compile(
    rf"(?i)\b(?:replac\w+|chang\w+|exchang\w+|substitut\w+|adjust|modify|edit|set)\s+{_WHAT}"
    rf"(?:(?:that |which )?(?:start(?:s|ing)|begin(?:s|ning)) with )?{_CODE}"
    rf"|\b(?:instead of|in place of|replacing)\s+{_WHAT}{_CODE.replace('anchor', 'other')}"
)
_AFTER = re.compile(
    rf"(?i)\b(?:below|after|under(?:neath)?|beneath|following|behind)\s+{_WHAT}{_CODE}"
)
_BEFORE = re.compile(rf"(?i)\b(?:above|before|in front of|ahead of)\s+{_WHAT}{_CODE}")
_INSIDE = re.compile(
    rf"(?i)\b(?:in|into|inside|within|to|of|under|list)\s+(?:the |your |its )*"
    rf"(?:(?:existing|list|block|section|array|table|dictionary|dict|object|key|setting)\s+)*{_CODE}"
)
_BELOW_IT = re.compile(r"(?i)\b(?:below|after|under|beneath) (?:it|that|this)\b")
_ABOVE_IT = re.compile(r"(?i)\b(?:above|before) (?:it|that|this)\b")
_FOR_IT = re.compile(
    r"(?i)\b(?:replace|change|exchange) (?:it|that|this|them)\b|\bby\W*$|\bto\W*$|\bwith\W*$"
)
_LOOK_FOR = re.compile(
    r"(?i)\b(?:find|look for|locate|search for|go to|scroll to)\s+(?:the |this |these )?"
    r"(?:\w+ )?(?:line|block|section|setting|entry|part)s?\W*$"
)
_EDIT_VERB = re.compile(
    r"(?i)\b(?:creat\w+|make|save|store|add|append|insert|put|place|set|enter|write|paste|include|define|declare|edit|open|change|replace|"
    r"modify|extend|update|adjust|configure|specify|use|select|register|mark|point|tell|in|into|of|to|file|füge|aggiungi|"
    r"erstelle|lege|schreibe|speichere|ergänze|ändere|ersetze|trage|crea|scrivi|salva|inserisci|modifica|cambia|sostituisci)\b"
)
_SHOWN = re.compile(
    r"(?i)\b(?:now|then|already|should|will) (?:contains?|has|have|holds?|looks?|reads?|shows?)\b(?! like this:?$)"
    r"|\b(?:generated|default|original) (?:file|content)\b"
)
_TITLE = re.compile(r"(?:title|filename|file)=[\"']?([^\s\"'}]+)")
_SCRIPTS = frozenset(["bash", "sh", "shell", "zsh", "console", "shell-session"])
_STRONG_VERB = re.compile(
    r"(?i)\b(?:creat\w+|make|add|append|insert|paste|write|save|put|place|store|chang\w+|replac\w+|edit|instead of)\b"
)
_NOT_DONE = re.compile(
    r"(?i)^\W*(?:if|in case|unless|later|should you)\b|\b(?:do ?n[o']t|never|no need)\b"
)
_ELIDED = re.compile(r"(?m)^\s*(?:#|//|;|--|/\*)?\s*(?:\.\.\.|…)")
_ADD = re.compile(
    r"(?i)\b(?:add|append|insert|put|place|enter|write|include|set|register|füge|aggiungi)\s+"
    r"(?:the |this |a |an |these |both )?(?:(?:new|following) )?(?:line |lines |entry |setting |directive |directives |value |option )?"
    r"(?P<lines>`[^`]+`(?:(?:,| and|, and) (?:also )?`[^`]+`)*)"
)
_CHANGE = re.compile(
    rf"(?i)\b(?:replace|change|switch|turn|modify|exchange)\s+{_WHAT}`(?P<old>[^`]+)`(?P<between>[^`]*?(?:`{PATH}`)?[^`]*?)"
    r"\b(?:with|by|to|into|for)\s+`(?P<new>[^`]+)`"
)
_SET = re.compile(r"(?i)\bset\s+(?:the (?:\w+ )?)?`(?P<key>[\w.-]+)`\s+to\s+`(?P<value>[^`]+)`")
_UNCOMMENT = re.compile(
    rf"(?i)\buncomment\s+{_WHAT}{_CODE}|\bremove the (?:`?#`?|comment\w*|hash) (?:\w+ ){{0,4}}{_CODE.replace('anchor', 'other')}"
)
_DELETE = re.compile(rf"(?i)\b(?:remove|delete|drop)\s+{_WHAT}{_CODE}\s+(?:from|in)\b")


def files_named(prose: str) -> list[str]:
    """Return the files that a text names, in its order; those in longer code only if it has no others."""
    return list(_files_named(prose))


@lru_cache(maxsize=64)
def _files_named(prose: str) -> tuple[str, ...]:
    within = re.sub(r"`[^`]*`", lambda m: m[0] if re.fullmatch(f"`{PATH}`", m[0]) else "``", prose)
    for text in (within, re.sub(r"\w+://[^\s`]+", "", prose)):
        found = (m["path"] for m in _NAMED.finditer(text))
        if named := tuple(path for path in found if not _NO_FILE.search(path)):
            return named
    return ()


def looked_for(prose: str) -> bool:
    """Tell whether a text leads to a block that only shows the place to look for."""
    return bool(_LOOK_FOR.search(prose))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What stands around a block: the file of the section, a place that was just looked for."""

    file: str = ""
    place: str = ""
    below: str = ""


def edit_of(block: Block, lead: str, told: Told, hints: Hints) -> AnswerStep | None:
    """Return the file that a block is to become, or the edit that it is, or None."""
    titled = _TITLE.search(block.info) if block.language not in _SCRIPTS else None
    own = titled[1] if titled else _path_of(lead, files_named(f"{lead} {told.below}"))
    path = own or told.file
    if not path or not (titled or _is_meant(block, lead, own, told, hints)):
        return None
    action: FileWrite | FileEdit
    if (titled or _creates(lead, path)) and not _ELIDED.search(block.text):
        action = FileWrite(path=path, content=block.text + "\n")
    else:
        place, anchor = _place(lead, path, block.text, told)
        action = FileEdit(path=path, place=place, content=block.text, anchor=anchor)
    return _step(action, block.line, block.column, lead)


def _is_meant(block: Block, lead: str, own: str, told: Told, hints: Hints) -> bool:
    """Tell whether a block is part of a file, and not a script or an example of output."""
    text = f"{lead} {told.below}"
    if block.language in _SCRIPTS and not own.endswith(".sh"):
        return False
    if block.language in OTHER_PLATFORM and not own:
        return False
    if block.language in SHELL:
        return bool(own and _STRONG_VERB.search(text)) and not _runs(block, hints)
    if _SHOWN.search(lead):
        return False
    return not own or bool(_EDIT_VERB.search(text)) or _is_caption(lead, own)


def _runs(block: Block, hints: Hints) -> bool:
    first = next((c.argv[0] for c in parse(block.text).commands if c.argv), "")
    return hints.is_program(first) or block.text.startswith(("#!", "$ "))


def _path_of(lead: str, named: list[str]) -> str:
    sentences = re.split(r"(?<=[.!?:])\s+(?=[A-Z`*])", lead.strip())
    last = files_named(sentences[-1]) if sentences else []
    return (last or named or [""])[-1]


def _is_caption(lead: str, path: str) -> bool:
    rest = lead.replace(path, "").strip(" *`:.#()0123456789-–—")
    return len(rest) < 25


def _creates(lead: str, path: str) -> bool:
    if re.search(
        rf"(?i)\breplace\s+(?:the |your )?(?:file )?[`*]*{re.escape(path)}[`*]*\s+(?:with|by)\b",
        lead,
    ):
        return True
    m = _CREATES.search(re.sub(r"`[^`]*`", "``", lead))
    return m is not None and not _AT_END.search(lead)


def _place(lead: str, path: str, content: str, told: Told) -> tuple[Place, str]:
    """Return where a block belongs, as the text before it says."""
    if _ELIDED.search(content):
        return Place.MERGE, ""
    if told.place:
        for pattern, place in (
            (_BELOW_IT, Place.AFTER),
            (_ABOVE_IT, Place.BEFORE),
            (_FOR_IT, Place.INSTEAD_OF),
        ):
            if pattern.search(lead):
                return place, told.place
    return _named_place(lead, path, content)


def _named_place(text: str, path: str, content: str) -> tuple[Place, str]:
    for pattern, place in (
        (_INSTEAD, Place.INSTEAD_OF),
        (_AFTER, Place.AFTER),
        (_BEFORE, Place.BEFORE),
    ):
        for m in pattern.finditer(text):
            anchor = next((a for a in m.groupdict().values() if a), "")
            if _is_anchor(anchor, path, content) and (
                place is not Place.INSTEAD_OF or _is_whole(anchor, text)
            ):
                return place, anchor
    for m in _INSIDE.finditer(text):
        if _is_anchor(m["anchor"], path, content):
            first = _FIRST.search(text) or (not _LAST.search(text) and _is_block(m["anchor"]))
            return (Place.FIRST_INSIDE if first else Place.LAST_INSIDE), m["anchor"]
    if _AT_END.search(text):
        return Place.END, ""
    if _AT_TOP.search(text) and not path.endswith(".py"):
        return Place.TOP, ""
    return Place.MERGE, ""


def _is_anchor(anchor: str, path: str, content: str) -> bool:
    return bool(anchor) and anchor.strip("*") != path and anchor not in content.split("\n")


def _is_whole(anchor: str, text: str) -> bool:
    """Tell whether words name a line to be replaced, and not only a key that is to be set."""
    return "set" not in text.lower().split() or bool(re.search(r"[=: ]", anchor.strip()))


def _is_block(anchor: str) -> bool:
    return "{" in anchor or " " in anchor.strip()


def _step(action: FileWrite | FileEdit, line: int, column: int, prose: str) -> AnswerStep:
    words = action.content + (action.anchor if isinstance(action, FileEdit) else "") + action.path
    return AnswerStep(
        action=action,
        line=line,
        column=column,
        confidence=0.8,
        rule=Rule.EDIT_TOLD,
        prose=prose,
        placeholders=placeholders(words) if action.path.endswith(".sh") else _stand_ins(words),
    )


def _stand_ins(text: str) -> tuple[str, ...]:
    """Return the ``<names>`` in the text of a file; what a shell would expand is none there."""
    return tuple(dict.fromkeys(re.findall(r"<[a-z][a-z0-9 _-]*>", text)))


# --- prose alone --------------------------------------------------------------------------------


def edits_in(text: str, file: str, line: int, column: int) -> Iterator[AnswerStep]:
    """Yield the edits that a sentence tells with the code in it; ``file`` is its section's."""
    if _NOT_DONE.search(text):
        return
    named = files_named(text)
    path = (
        next((p for p in reversed(named) if f"`{p}`" in text or "/" in p or "." in p), "") or file
    )
    edit = _edit_in(text, path) if path else None
    if edit is not None:
        yield _step(edit, line, column, text)


def _edit_in(text: str, path: str) -> FileEdit | None:
    if (m := _CHANGE.search(text)) and _is_code(m["old"], path) and _is_code(m["new"], path):
        return FileEdit(path=path, place=Place.INSTEAD_OF, anchor=m["old"], content=m["new"])
    if m := _SET.search(text):
        return FileEdit(path=path, place=Place.SET, anchor=m["key"], content=m["value"])
    if m := _UNCOMMENT.search(text):
        return FileEdit(path=path, place=Place.UNCOMMENT, anchor=m["anchor"] or m["other"])
    if (m := _DELETE.search(text)) and _is_code(m["anchor"], path):
        return FileEdit(path=path, place=Place.DELETE, anchor=m["anchor"])
    if m := _ADD.search(text):
        lines = [line for line in re.findall(r"`([^`]+)`", m["lines"]) if _is_code(line, path)]
        if not lines:
            return None
        content = "\n".join(lines)
        place, anchor = _named_place(text.replace(m["lines"], "it", 1), path, content)
        if place is Place.INSTEAD_OF and not re.search(
            r"(?i)\b(?:replac|chang|instead|in place)", text
        ):
            place, anchor = Place.MERGE, ""
        return FileEdit(path=path, place=place, content=content, anchor=anchor)
    return None


def _is_code(text: str, path: str) -> bool:
    return text != path and not re.fullmatch(PATH, text)
