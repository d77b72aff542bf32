"""Markdown to blocks in reading order, with their lines."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAB = re.compile(r"={3}[!+]?\s")
_ADMONITION = re.compile(r"(?:!{3}|\?{3}\+?)\s")
_MAX_DEPTH = 8
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
    normal = markdown.replace("\r\n", "\n").replace("\r", "\n")
    found = _Reader(normal.split("\n")).read(_markdown().parse(normal))
    return tuple(_nested(found, depth) if depth < _MAX_DEPTH else found)


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
    """Tell whether indented text is no code: all below an admonition, what has fences below a tab."""
    if block.kind is not BlockKind.CODE or not block.indented:
        return False
    tab = _TAB.match(below.text) and _FENCE.search(block.text)
    return bool(_ADMONITION.match(below.text) or tab)


def _moved(span: Span, block: Block) -> Span:
    return replace(span, line=span.line + block.line - 1, column=span.column + block.column - 1)


class _Reader:
    """Walks the token stream; knows the list items and quotes that it is inside."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
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
                self.heading = int(token.tag[1:])
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
            line=_line(token),
            column=spans[0].column if spans else 1,
            level=self.heading,
            spans=spans,
            **self._context(),  # type: ignore[arg-type]
        )

    def _spans(self, token: Token) -> Iterator[Span]:
        line, column = _line(token), 0
        for child in token.children or []:
            text = "\n" if child.type in ("softbreak", "hardbreak") else child.content
            if child.type not in ("text", "code_inline", "softbreak", "hardbreak"):
                continue
            if child.type == "code_inline":
                line, column = self._find(text, line, column)
                yield Span(text=text, code=True, line=line, column=column + 1)
                column += len(text)
            else:
                line += text == "\n"
                column = 0 if text == "\n" else self._column_of(text, line, column)
                yield Span(text=text, code=False, line=line, column=column + 1)
                column += 0 if text == "\n" else len(text)

    def _column_of(self, text: str, line: int, column: int) -> int:
        """Return where plain text stands on its line; where it was unescaped, the best guess."""
        at = self.lines[line - 1].find(text, column) if line <= len(self.lines) else -1
        return at if at >= 0 else column

    def _find(self, text: str, line: int, column: int) -> tuple[int, int]:
        """Return the place of a code span: the next one with this text after the last."""
        for k in range(line - 1, min(line + 40, len(self.lines))):
            at = self.lines[k].find(text, column if k == line - 1 else 0)
            while at > 0 and self.lines[k][at - 1] not in "` ":
                at = self.lines[k].find(text, at + 1)
            if at >= 0:
                return k + 1, at
        return line, column


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


def _plain(token: Token) -> str:
    return "".join(
        f"`{c.content}`" if c.type == "code_inline" else c.content for c in token.children or []
    )
