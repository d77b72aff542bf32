"""Shell text to simple commands, tolerant of placeholders, heredocs and cut-off answers.

tree-sitter-bash is the parser; three of its weak points are worked around: heredocs are lifted
out before parsing (two on one line are an error to it), placeholders like ``<name>`` are
redirections to every shell parser, and ``time`` and ``coproc`` come as command names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import tree_sitter
import tree_sitter_bash

PLACEHOLDER = re.compile(
    r"(?<![<\w=/:@.-])<(?=[A-Za-z])[^<>\n|;&$()\"']{0,40}(?<! )>(?!>)"
    r"|(?<=[\w/:@=.-])<[A-Za-z][\w. -]{0,40}>"
    r"|\{\{\s*[\w.-]+\s*\}\}"
)
_NAMED = re.compile(r"\b(?:YOUR|MY)[-_][A-Z][A-Z0-9_-]*\b|\byour-[a-z][a-z0-9-]*\b")
_HEREDOC = re.compile(r"<<(?P<dash>-?)\s*(?P<quote>['\"]?)(?P<word>\\?[A-Za-z_]\w*)(?P=quote)")
_OPEN, _CLOSE, _BLANK, _HERE = "\ue000", "\ue001", "\ue002", "\ue100"
_WRAPPERS = frozenset(["time", "coproc"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Heredoc:
    """The body of a here-document; ``quoted``: nothing in it is expanded."""

    body: str
    quoted: bool
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """One simple command: words as they reach the program, quotes removed where static.

    ``start`` and ``end`` are character offsets of the text it was parsed from, its
    here-documents included. ``operator`` joins it to the next: ``&&``, ``||``, ``;``, ``|``,
    ``&``. ``pipeline`` numbers the pipeline that it is a stage of.
    """

    argv: tuple[str, ...]
    assignments: tuple[tuple[str, str], ...] = ()
    redirects: tuple[tuple[str, str], ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    start: int = 0
    end: int = 0
    operator: str = ""
    pipeline: int = 0
    conditional: bool = False
    loop: bool = False
    function: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Parsed shell text; ``complete`` is False if the parser saw an error or a cut-off."""

    commands: tuple[SimpleCommand, ...]
    complete: bool


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(text: str) -> Script:
    """Return the simple commands of shell text, in order. Never raises."""
    lifted = _lift_heredocs(_mask_placeholders(text.replace("\r\n", " \n")))
    source = lifted.text + "\n"
    tree = _parser().parse(source.encode())
    walk = _Walk(text=source, heredocs=lifted.heredocs)
    commands = tuple(walk.statements(tree.root_node, _Context()))
    closed = all(heredoc.closed for heredoc, _ in lifted.heredocs)
    return Script(commands=commands, complete=closed and not tree.root_node.has_error)


def placeholders(text: str) -> tuple[str, ...]:
    """Return the placeholders of shell text as they are written, each once.

    What stands in here-documents and looks like a tag is content, not a placeholder.
    """
    outside = _lift_heredocs(text).text
    found = [m[0] for m in PLACEHOLDER.finditer(outside)]
    found += [m[0] for m in _NAMED.finditer(outside)]
    return tuple(dict.fromkeys(p for p in found if f"</{p[1:-1]}>" not in text))


def _mask_placeholders(text: str) -> str:
    def word(m: re.Match[str]) -> str:
        return "".join({"<": _OPEN, ">": _CLOSE}.get(c, _BLANK if c.isspace() else c) for c in m[0])

    return PLACEHOLDER.sub(word, text)


def unmask(word: str) -> str:
    """Return a word with its placeholders as they were written."""
    return word.replace(_OPEN, "<").replace(_CLOSE, ">").replace(_BLANK, " ")


@dataclass(frozen=True, slots=True)
class _Lifted:
    text: str
    heredocs: tuple[tuple[Heredoc, int], ...]


def _lift_heredocs(text: str) -> _Lifted:
    """Blank the bodies out and write each operator as a redirection from a numbered name.

    All offsets stay as they were. The number beside a body is where the body ends.
    """
    out: list[str] = []
    found: list[tuple[Heredoc, int]] = []
    lines = text.split("\n")
    position, k = 0, 0
    while k < len(lines):
        line = lines[k]
        openings = [m for m in _HEREDOC.finditer(line) if _is_operator(line, m.start())]
        out.append(_without_operators(line, openings, len(found)))
        position += len(line) + 1
        k += 1
        for m in openings:
            body, used, closed = _body(lines[k:], m)
            out += [" " * len(skipped) for skipped in lines[k : k + used]]
            position += sum(len(skipped) + 1 for skipped in lines[k : k + used])
            k += used
            quoted = bool(m["quote"]) or m["word"].startswith("\\")
            found.append((Heredoc(body=body, quoted=quoted, closed=closed), position - 1))
    return _Lifted("\n".join(out), tuple(found))


def _is_operator(line: str, at: int) -> bool:
    before = line[:at]
    if before.endswith("<") or line[at : at + 3] == "<<<":
        return False
    quotes = re.sub(r"\\.", "", before)
    return quotes.count('"') % 2 == 0 and quotes.count("'") % 2 == 0 and "((" not in before


def _without_operators(line: str, openings: list[re.Match[str]], first: int) -> str:
    for k, m in enumerate(openings):
        name = chr(ord(_HERE) + first + k) * (len(m[0]) - 1)
        line = line[: m.start()] + "<" + name + line[m.end() :]
    return line


def _body(lines: list[str], m: re.Match[str]) -> tuple[str, int, bool]:
    word = m["word"].lstrip("\\")
    for k, line in enumerate(lines):
        if (line.lstrip("\t") if m["dash"] else line).rstrip("\r ") == word and not (
            line.endswith(" ") and not line.endswith(word + " ")
        ):
            return _dedented(lines[:k], m), k + 1, True
    return _dedented(lines, m), len(lines), False


def _dedented(lines: list[str], m: re.Match[str]) -> str:
    kept = [line.lstrip("\t") for line in lines] if m["dash"] else lines
    return "".join(unmask(line) + "\n" for line in kept)


@dataclass(frozen=True, slots=True)
class _Context:
    conditional: bool = False
    loop: bool = False
    function: str = ""


@dataclass(slots=True)
class _Walk:
    """Turns the tree into commands; numbers the pipelines as it meets them."""

    text: str
    heredocs: tuple[tuple[Heredoc, int], ...]
    pipelines: int = 0
    _offsets: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.text.isascii():
            for k, c in enumerate(self.text):
                self._offsets += [k] * len(c.encode())
            self._offsets.append(len(self.text))

    def at(self, byte: int) -> int:
        return self._offsets[byte] if self._offsets else byte

    def source(self, node: tree_sitter.Node) -> str:
        return self.text[self.at(node.start_byte) : self.at(node.end_byte)]

    def statements(self, node: tree_sitter.Node, context: _Context) -> Iterator[SimpleCommand]:
        found: list[SimpleCommand] = []
        for child in node.children:
            if child.type in ("&&", "||", ";", "&", "|", "|&", "\n") and found:
                found[-1] = replace(found[-1], operator=child.type)
            else:
                found += self.statement(child, context)
        yield from found

    def statement(self, node: tree_sitter.Node, context: _Context) -> list[SimpleCommand]:
        match node.type:
            case "command" | "declaration_command" | "unset_command" | "test_command":
                return [self.command(node, context)]
            case "variable_assignment" | "variable_assignments":
                return [self.assignment(node, context)]
            case "redirected_statement":
                return self.redirected(node, context)
            case "pipeline":
                return self.pipeline(node, context)
            case "list":
                return self.and_or(node, context)
            case "negated_command":
                return list(self.statements(node, replace(context, conditional=True)))
            case "if_statement" | "case_statement" | "case_item" | "elif_clause" | "else_clause":
                return list(self.statements(node, replace(context, conditional=True)))
            case "for_statement" | "while_statement" | "c_style_for_statement":
                return list(self.statements(node, replace(context, loop=True)))
            case "function_definition":
                name = node.child_by_field_name("name")
                inner = replace(context, function=self.source(name) if name else "?")
                return list(self.statements(node, inner))
            case "program" | "compound_statement" | "subshell" | "do_group" | "ERROR":
                return list(self.statements(node, context))
        return []

    def pipeline(self, node: tree_sitter.Node, context: _Context) -> list[SimpleCommand]:
        found = list(self.statements(node, context))
        number = found[0].pipeline if found else 0
        return [replace(command, pipeline=number) for command in found]

    def and_or(self, node: tree_sitter.Node, context: _Context) -> list[SimpleCommand]:
        found: list[SimpleCommand] = []
        inner = context
        for child in node.children:
            if child.type in ("&&", "||"):
                if found:
                    found[-1] = replace(found[-1], operator=child.type)
                inner = replace(context, conditional=True) if child.type == "||" else inner
            else:
                found += self.statement(child, inner)
        return found

    def redirected(self, node: tree_sitter.Node, context: _Context) -> list[SimpleCommand]:
        found: list[SimpleCommand] = []
        redirects: list[tree_sitter.Node] = []
        for child in node.children:
            if child.type.endswith("_redirect"):
                redirects.append(child)
            else:
                found += self.statement(child, context)
        if not found:
            found = [SimpleCommand(argv=(), start=self.at(node.start_byte), end=0)]
        for child in redirects:
            found[-1] = self.with_redirect(found[-1], child)
        return found

    def with_redirect(self, command: SimpleCommand, node: tree_sitter.Node) -> SimpleCommand:
        end = max(command.end, self.at(node.end_byte))
        operator = "".join(self.source(c) for c in node.children if not c.is_named)
        words = [c for c in node.children if c.is_named and c.type != "file_descriptor"]
        first, extra = (words[0], words[1:]) if words else (None, [])
        target = self.word(first) if first else ""
        here = self.heredoc(target)
        argv = (*command.argv, *(self.word(w) for w in extra))
        if here:
            body, body_end = here
            return replace(
                command,
                argv=argv,
                heredocs=(*command.heredocs, body),
                end=max(end, body_end),
            )
        descriptor = next(
            (self.source(c) for c in node.children if c.type == "file_descriptor"), ""
        )
        redirects = (*command.redirects, (descriptor + operator, target))
        return replace(command, argv=argv, redirects=redirects, end=end)

    def heredoc(self, target: str) -> tuple[Heredoc, int] | None:
        number = ord(target[0]) - ord(_HERE) if target else -1
        return self.heredocs[number] if 0 <= number < len(self.heredocs) else None

    def command(self, node: tree_sitter.Node, context: _Context) -> SimpleCommand:
        argv: list[str] = []
        assignments: list[tuple[str, str]] = []
        pending: list[tree_sitter.Node] = []
        for child in node.children:
            if child.type == "variable_assignment" and not argv and node.type == "command":
                assignments.append(self.pair(child))
            elif child.type.endswith("_redirect"):
                pending.append(child)
            elif child.type == "command_name":
                argv += [self.word(c) for c in child.children]
            else:
                argv.append(self.word(child))
        if argv and argv[0] in _WRAPPERS:
            argv = argv[1:]
        command = self.made(node, context, tuple(argv), tuple(assignments))
        for child in pending:
            command = self.with_redirect(command, child)
        return command

    def made(
        self,
        node: tree_sitter.Node,
        context: _Context,
        argv: tuple[str, ...],
        assignments: tuple[tuple[str, str], ...],
    ) -> SimpleCommand:
        self.pipelines += 1
        return SimpleCommand(
            argv=argv,
            assignments=assignments,
            start=self.at(node.start_byte),
            end=self.at(node.end_byte),
            pipeline=self.pipelines,
            conditional=context.conditional,
            loop=context.loop,
            function=context.function,
        )

    def assignment(self, node: tree_sitter.Node, context: _Context) -> SimpleCommand:
        parts = [node] if node.type == "variable_assignment" else list(node.children)
        return self.made(node, context, (), tuple(self.pair(part) for part in parts))

    def pair(self, node: tree_sitter.Node) -> tuple[str, str]:
        name, _, _ = self.source(node).partition("=")
        value = node.child_by_field_name("value")
        return name, self.word(value) if value else ""

    def word(self, node: tree_sitter.Node) -> str:
        """Return a word with its static quotes removed."""
        text = self.source(node)
        match node.type:
            case "raw_string":
                return unmask(text[1:-1])
            case "string":
                return unmask(
                    re.sub(r'\\([$`"\\])', r"\1", text.removeprefix('"').removesuffix('"'))
                )
            case "concatenation":
                return "".join(self.word(child) for child in node.children)
            case "word" | "number":
                return unmask(re.sub(r"\\(.)", r"\1", text))
            case "variable_assignment":
                return "=".join(self.pair(node))
        return unmask(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A piece of shell text that is typed as one: whole lines, with here-documents.

    ``comment`` is the remark at the end of its last line; ``complete`` as in Script.
    """

    text: str
    start: int
    complete: bool
    comment: str = ""


def statements(text: str) -> tuple[Statement, ...]:
    """Split shell text into what a reader types at one prompt each; comment lines fall out."""
    normal = text.replace("\r\n", " \n")
    lifted = _lift_heredocs(_mask_placeholders(normal))
    source = lifted.text + "\n"
    root = _parser().parse(source.encode()).root_node
    walk = _Walk(text=source, heredocs=lifted.heredocs)
    spans = list(_line_spans(root, walk))
    return tuple(_statement(normal, lifted, start, end) for start, end in spans)


def _line_spans(root: tree_sitter.Node, walk: _Walk) -> Iterator[tuple[int, int]]:
    """Yield the spans of the statements that begin on a line of their own."""
    start = end = -1
    last_row = -1
    for node in root.children:
        if node.type in ("comment", "\n") or not walk.source(node).strip():
            continue
        if start >= 0 and node.start_point.row > last_row and not node.type.startswith(";"):
            yield start, end
            start = -1
        if start < 0:
            start = walk.at(node.start_byte)
        end, last_row = walk.at(node.end_byte), node.end_point.row
    if start >= 0:
        yield start, end


def _statement(text: str, lifted: _Lifted, start: int, end: int) -> Statement:
    end = max((e for _, e in lifted.heredocs if _opens_in(lifted, e, start, end)), default=end)
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    remark = re.match(r"\s+#+\s*(.*)", rest)
    kept = end if remark or not rest.strip(" \t\r") else end + len(rest.rstrip())
    if text[kept - 1 : kept + 1] in ("\\ ", "\\\t"):
        kept += 1  # the blank that breaks a continuation belongs to the text
    piece = text[start:kept]
    complete = parse(piece).complete
    return Statement(
        text=piece, start=start, complete=complete, comment=remark[1] if remark else ""
    )


def _opens_in(lifted: _Lifted, body_end: int, start: int, end: int) -> bool:
    """Tell whether the here-document that ends there was opened between start and end."""
    number = next(k for k, (_, e) in enumerate(lifted.heredocs) if e == body_end)
    opened = lifted.text.find(chr(ord(_HERE) + number))
    return start <= opened < max(end, start + 1)
