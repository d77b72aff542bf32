"""Sentences about an open editor to the keys that a vi user would type.

vi is the editor of the sandboxes; what an author says of an edit is the same in any editor.
"""

import re

from procexec.extract.blocks import Span

ESCAPE = "\x1b"
SAVE = ":wq\r"
_VI_COMMAND = re.compile(r"^:[%$.,\w/^'+-][^\n]*$")
_SAVE = re.compile(r"(?i)\bsave\b|\bclose\b.*\beditor\b|\bwrite and quit\b")
_WHOLE_TEXT = re.compile(
    r"(?i)\b(?:replace|overwrite)\b.*\b(?:whole|entire|all|complete)\b|\bas the (?:new )?(?:commit )?message\b"
    r"|\bdelete everything\b"
)
_NEW_MESSAGE = re.compile(
    r"(?i)\b(?:replace|change|set|edit|write|enter)\b[^.`]*\bmessage\b[^.`]*(?:with|to|by|:)\s*$"
)
_TODO_LINE = re.compile(r"^[a-z]+\s+(?:[0-9a-f]{4,40}|<[^<>]+>)(?:\s|$)")
_WORD_BEFORE = re.compile(r"(?i)\bword (?:in front of|before)\b|\bin front of\b.*\bto\s*$")
_AT_END = re.compile(r"(?i)\b(?:at|to) the (?:end|bottom)\b")
_DELETE_LINE = re.compile(r"(?i)\b(?:remove|delete|drop)\b[^`]*\bline")
_PRESS = re.compile(r"(?i)\b(?:press|hit|type)\s*$")
_WRITE = re.compile(r"(?i)\b(?:write|type|insert|enter)\s*$")
_GOES_ON = re.compile(r"(?i)^(?:\W|and|then|next)*$")
_ESCAPE_AFTER = re.compile(r"(?i)^\W*(?:,|and|then|press|hit|\s)*\besc(?:ape)?\b")


def editor_keys(spans: tuple[Span, ...]) -> tuple[str, ...]:
    """Return the keys for one sentence, given as its spans; nothing if it says no edit."""
    text = "".join("`" + s.text + "`" if s.code else s.text for s in spans)
    codes = [s.text for s in spans if s.code]
    literal = _literal_keys(spans)
    if any(_VI_COMMAND.match(c) for c in codes) or literal:
        return literal
    edit = _edit(text, codes)
    save = (SAVE,) if _SAVE.search(re.sub(r"`[^`]*`", "", text)) else ()
    return (*edit, *save)


def keys_of_block(text: str, lead: str) -> tuple[str, ...]:
    """Return the keys for a fence below ``lead`` about an open editor; nothing if it is no edit.

    Lines of commands are typed as they stand; a list of commits tells the word that each of its
    lines is to begin with; below words about the whole text the fence is the new one.
    """
    lines = [line.strip() for line in text.strip().split("\n")]
    if all(_VI_COMMAND.match(line) for line in lines):
        return tuple(line + "\r" for line in lines)
    if all(_TODO_LINE.match(line) for line in lines):
        words = (line.split()[0] for line in lines)
        return (*(rf":{k}s/^\S\+/{word}/" + "\r" for k, word in enumerate(words, 1)), SAVE)
    if _WHOLE_TEXT.search(lead) or _NEW_MESSAGE.search(lead):
        return (":%d\r", "i" + "\r".join(lines) + ESCAPE, SAVE)
    return ()


def _literal_keys(spans: tuple[Span, ...]) -> tuple[str, ...]:
    keys: list[str] = []
    for k, span in enumerate(spans):
        if not span.code:
            continue
        before = spans[k - 1].text if k else ""
        after = spans[k + 1].text if k + 1 < len(spans) else ""
        escape = ESCAPE if _ESCAPE_AFTER.match(after) else ""
        if _VI_COMMAND.match(span.text):
            keys.append(span.text + "\r")
        elif _is_pressed(span.text, before, after_keys=bool(keys)):
            keys.append(span.text + escape)
    return tuple(keys)


def _is_pressed(text: str, before: str, *, after_keys: bool) -> bool:
    if after_keys and _WRITE.search(before):
        return True
    return len(text) <= 2 and bool(_PRESS.search(before) or (after_keys and _GOES_ON.match(before)))


def _edit(text: str, codes: list[str]) -> tuple[str, ...]:
    if not codes:
        return ()
    if _WHOLE_TEXT.search(text):
        return (":%d\r", "i" + codes[-1] + ESCAPE)
    if _WORD_BEFORE.search(text) and len(codes) > 1:
        *subjects, word = _after(text, _WORD_BEFORE)
        return tuple(rf":g/ {_escaped(s)}\s*$/s/^\S\+/{_escaped(word)}/" + "\r" for s in subjects)
    if _AT_END.search(text):
        return ("Go" + "\r".join(codes) + ESCAPE,)
    if _DELETE_LINE.search(text):
        return (f":g/{_escaped(codes[0])}/d\r",)
    return ()


def _after(text: str, pattern: re.Pattern[str]) -> list[str]:
    m = pattern.search(text)
    return re.findall(r"`([^`]+)`", text[m.start() :] if m else text)


def _escaped(text: str) -> str:
    return re.sub(r"([/\\.*$^\[\]~])", r"\\\1", text)
