"""Markdown to blocks in reading order, with their lines."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAB = re.compile(r"={3}[!+]?\s")
_ADMONITION = re.compile(r"(?:!{3}|\?{3}\+?)\s")
_TITLE = re.compile(r"^(?P<before>[ >]*)(?P<title>(?:!{3}|\?{3}\+?|={3}[!+]?)\s+\S.*)$")
_MAX_DEPTH = 8
_CODE_TAG = re.compile(r"<(/)?(?:code|kbd|samp|tt)(?:\s[^>]*)?>", re.IGNORECASE)
_PRE = re.compile(
    r"<pre\b(?P<attributes>[^>]*)>(?:[ \t]*<code\b(?P<more>[^>]*)>)?\n?"
    r"(?P<text>.*?)(?:(?P<end></pre\s*>)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight-source|brush:)[-: ]?([\w+-]+)")
_MARKUP = re.compile(r"</?(?:code|span|b|i|em|strong|kbd|samp|var|a|mark|u)\b[^>]*>", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:`{3}|~{3})", re.MULTILINE)


class BlockKind(StrEnum):
    """What a block is to the extractor."""

    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of prose: code or plain text, with its place in the Markdown."""

    text: str
    code: bool
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, heading, code block or table.

    ``line`` is where its text begins, from 1; ``column`` is where the text of its lines begins.
    ``item`` numbers the list item that it stands in, 0 outside lists; ``level`` is the heading's.
    """

    kind: BlockKind
    text: str
    line: int
    column: int = 1
    language: str = ""
    info: str = ""
    item: int = 0
    depth: int = 0
    ordered: bool = False
    quoted: bool = False
    indented: bool = False
    level: int = 0
    closed: bool = True
    spans: tuple[Span, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def prose(self) -> str:
        """The text as a reader sees it, code in backquotes."""
        return "".join(f"`{s.text}`" if s.code else s.text for s in self.spans) or self.text


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def blocks(markdown: str, *, depth: int = 0) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text in reading order. Never raises.

    ``depth`` is how many tabs and admonitions it stands in.
    """
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    titles = frozenset(_titles(lines))
    separated = (_titled(line) if k in titles else line for k, line in enumerate(lines))
    found = _Reader(lines, titles).read(_markdown().parse("\n".join(separated)))
    return tuple(_nested(found, depth) if depth < _MAX_DEPTH else found)


def _titles(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines that begin an admonition or tab whose text follows without a blank line."""
    for k, (line, below) in enumerate(pairwise(lines)):
        m = _TITLE.match(line)
        if m and re.match(rf"{re.escape(m['before'])}(?: {{4}}|\t)\s*\S", below):
            yield k


def _titled(line: str) -> str:
    """Return a line as a heading, so that Markdown does not take the text below into it."""
    return _TITLE.sub(r"\g<before># \g<title>", line)


def _nested(found: Iterable[Block], depth: int) -> Iterator[Block]:
    """Read what is indented below a tab or an admonition as the Markdown that it is."""
    before: Block | None = None
    for block in found:
        if before is not None and _is_markdown(block, below=before):
            for inner in blocks(block.text, depth=depth + 1):
                yield replace(
                    inner,
                    line=inner.line + block.line - 1,
                    column=inner.column + block.column - 1,
                    indented=True,
                    spans=tuple(_moved(span, block) for span in inner.spans),
                )
        else:
            yield block
        before = block


def _is_markdown(block: Block, *, below: Block) -> bool:
    """Tell whether indented text is no code.

    That is all below an admonition, what has fences below a tab, and what begins with a fence below
    a list item, where the blanks before it are too few for the item's long number.
    """
    if block.kind is not BlockKind.CODE or not block.indented:
        return False
    tab = _TAB.match(below.text) and _FENCE.search(block.text)
    in_item = below.item and _FENCE.match(block.text)
    return bool(_ADMONITION.match(below.text) or tab or in_item)


def _moved(span: Span, block: Block) -> Span:
    return replace(span, line=span.line + block.line - 1, column=span.column + block.column - 1)


class _Reader:
    """Walks the token stream; knows the list items and quotes that it is inside."""

    def __init__(self, lines: list[str], titles: frozenset[int]) -> None:
        self.lines = lines
        self.titles = titles
        self.items: list[tuple[int, bool]] = []
        self.lists: list[bool] = []
        self.quotes = 0
        self.count = 0
        self.heading = 0

    def read(self, tokens: list[Token]) -> Iterator[Block]:
        rows: list[list[str]] = []
        table_line = 0
        for token in tokens:
            self._track(token)
            match token.type:
                case "fence" | "code_block":
                    yield self._code(token)
                case "html_block":
                    yield from self._preformatted(token)
                case "table_open":
                    rows, table_line = [], _line(token)
                case "tr_open":
                    rows.append([])
                case "table_close":
                    yield self._table(rows, table_line)
                    rows = []
                case "inline" if rows:
                    rows[-1].append(_plain(token))
                case "inline":
                    yield self._prose(token)
                case _:
                    pass

    def _track(self, token: Token) -> None:
        match token.type:
            case "ordered_list_open" | "bullet_list_open":
                self.lists.append(token.type.startswith("ordered"))
            case "ordered_list_close" | "bullet_list_close":
                self.lists.pop()
            case "list_item_open":
                self.count += 1
                self.items.append((self.count, self.lists[-1]))
            case "list_item_close":
                self.items.pop()
            case "blockquote_open":
                self.quotes += 1
            case "blockquote_close":
                self.quotes -= 1
            case "heading_open":
                self.heading = 0 if _line(token) - 1 in self.titles else int(token.tag[1:])
            case "heading_close":
                self.heading = 0
            case _:
                pass

    def _context(self) -> dict[str, int | bool]:
        item, ordered = self.items[-1] if self.items else (0, False)
        return {
            "item": item,
            "ordered": ordered,
            "depth": len(self.items),
            "quoted": self.quotes > 0,
        }

    def _code(self, token: Token) -> Block:
        first, end = token.map or [0, 0]
        fenced = token.type == "fence"
        start = first + 1 if fenced else first
        last = self.lines[end - 1].lstrip("> \t") if end - 1 > first else ""
        closed = not fenced or last.startswith(token.markup)
        info = token.info.strip()
        return Block(
            kind=BlockKind.CODE,
            text=token.content.removesuffix("\n"),
            line=min(start + 1, len(self.lines)),
            column=self._column(start, token.content),
            language=re.split(r"[\s{,:]", info, maxsplit=1)[0].lower().lstrip("."),
            info=info,
            indented=not fenced,
            closed=closed,
            **self._context(),  # type: ignore[arg-type]
        )

    def _preformatted(self, token: Token) -> Iterator[Block]:
        """Yield what HTML shows as code: the text that a browser would show for it."""
        for m in _PRE.finditer(token.content):
            language = _LANGUAGE.search(f"{m['attributes']} {m['more'] or ''}")
            shown = html.unescape(_MARKUP.sub("", m["text"])).strip("\n")
            before = len(m["text"]) - len(m["text"].lstrip("\n"))
            line = _line(token) + token.content.count("\n", 0, m.start("text") + before)
            yield Block(
                kind=BlockKind.CODE,
                text=shown,
                line=line,
                column=self._column(line - 1, shown),
                language=language[1].lower() if language else "",
                closed=m["end"] is not None,
                **self._context(),  # type: ignore[arg-type]
            )

    def _column(self, start: int, content: str) -> int:
        for k, line in enumerate(content.split("\n")):
            if line.strip() and start + k < len(self.lines):
                at = self.lines[start + k].find(line)
                return at + 1 if at >= 0 else 1
        return 1

    def _table(self, rows: list[list[str]], line: int) -> Block:
        cells = tuple(tuple(row) for row in rows)
        text = "\n".join(" | ".join(row) for row in rows)
        return Block(kind=BlockKind.TABLE, text=text, line=line, rows=cells, **self._context())  # type: ignore[arg-type]

    def _prose(self, token: Token) -> Block:
        spans = tuple(self._spans(token))
        return Block(
            kind=BlockKind.HEADING if self.heading else BlockKind.PROSE,
            text=token.content,
            line=self._first_line(token),
            column=spans[0].column if spans else 1,
            level=self.heading,
            spans=spans,
            **self._context(),  # type: ignore[arg-type]
        )

    def _spans(self, token: Token) -> Iterator[Span]:
        """Yield code and text with their places; code that HTML marks is code, too."""
        text, at, marked = token.content, 0, 0
        for child in token.children or []:
            match child.type:
                case "html_inline":
                    marked = max(0, marked + _html_code(child.content))
                    at = _after(text, child.content, at)
                case "softbreak" | "hardbreak":
                    at = _after(text, "\n", at)
                    yield self._span(token, "\n", at, code=False)
                case "code_inline":
                    at = _code_at(text, child, at)
                    blanks = len(child.content) - len(child.content.lstrip())
                    yield self._span(token, child.content, at + blanks, code=True)
                    at += len(child.content) + len(child.markup)
                case "text":
                    at = _text_at(text, child.content, at)
                    yield self._span(token, child.content, at, code=marked > 0)
                    at = _after(text, child.content, at)
                case _:
                    pass

    def _span(self, token: Token, text: str, at: int, *, code: bool) -> Span:
        before = token.content[:at]
        row = before.count("\n")
        line = self._first_line(token) + row
        within = at - (before.rfind("\n") + 1)
        own = token.content.split("\n")[row]
        return Span(text=text, code=code, line=line, column=self._start(line, own) + within + 1)

    def _first_line(self, token: Token) -> int:
        """Return where a paragraph's text begins: behind lines of blanks that are no ASCII."""
        begin, end = token.map or [0, 0]
        first = token.content.split("\n", 1)[0]
        rows = range(begin, min(end, len(self.lines)))
        return next((k + 1 for k in rows if first in self.lines[k]), begin + 1)

    def _start(self, line: int, own: str) -> int:
        """Return where a paragraph's line begins behind list marks, quote marks and blanks."""
        whole = self.lines[line - 1].rstrip() if line <= len(self.lines) else ""
        if whole.endswith(own.rstrip()):
            return len(whole) - len(own.rstrip())
        return max(whole.find(own.strip()), 0)


def _html_code(tag: str) -> int:
    """Return 1 where a tag begins code, -1 where it ends it."""
    m = _CODE_TAG.fullmatch(tag)
    return 0 if m is None else -1 if m[1] else 1


def _after(text: str, piece: str, at: int) -> int:
    found = text.find(piece, at)
    return at if found < 0 else found + len(piece)


def _code_at(text: str, child: Token, at: int) -> int:
    """Return where a code span's text begins; in the source its blanks may be line ends."""
    flat = text.replace("\n", " ")
    for blank in ("", " "):
        found = flat.find(f"{child.markup}{blank}{child.content}", at)
        if found >= 0:
            return found + len(child.markup) + len(blank)
    return at


def _text_at(text: str, piece: str, at: int) -> int:
    """Return where plain text begins: behind marks, or where its first word does."""
    found = text.find(piece, at)
    word = re.match(r"\W*(\w+)", piece)
    if found < 0 and word:
        found = text.find(word[1], at) - word.start(1)
    return max(found, at)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


def _plain(token: Token) -> str:
    return "".join(
        _quoted(c.content) if c.type == "code_inline" else c.content for c in token.children or []
    )


def _quoted(code: str) -> str:
    return f"`` {code} ``" if "`" in code else f"`{code}`"


def codes(text: str) -> list[str]:
    """Return the code in the text of a table's cell."""
    return [a or b for a, b in re.findall(r"`` (.+?) ``|(?<!`)`([^`]+)`(?!`)", text)]
