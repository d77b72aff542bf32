"""Shell text to simple commands, tolerant of placeholders, heredocs and cut-off answers.

tree-sitter-bash is the parser; four of its weak points are worked around: heredocs are lifted
out before parsing (two on one line are an error to it), placeholders like ``<name>`` are
redirections to every shell parser, ``time`` and ``coproc`` come as command names, and characters
beyond ASCII can crash it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import tree_sitter
import tree_sitter_bash

PLACEHOLDER = re.compile(
    r"(?<![<\w=/:@.-])<(?=[A-Za-z])[^<>\n|;&$()\"']{0,40}(?<! )>(?!>)"
    r"|(?<=[\w/:@=.-])<[A-Za-z][\w. -]{0,40}>"
    r"|\{\{\s*[\w.-]+\s*\}\}"
)
_NAMED = re.compile(r"\b(?:YOUR|MY)[-_][A-Z][A-Z0-9_-]*\b|\byour-[a-z][a-z0-9-]*\b")
_HEREDOC = re.compile(
    r"<<(?P<dash>-?)[ \t]*(?:(?P<quote>['\"])(?P<quoted>[^'\"]+)(?P=quote)|(?P<plain>\\?[A-Za-z_][\w.+-]*))"
)
_OPEN, _CLOSE, _BLANK, _HERE = "\ue000", "\ue001", "\ue002", "\ue100"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_WRAPPERS = frozenset(["time", "coproc"])
_SIMPLE = frozenset(["command", "declaration_command", "unset_command", "test_command"])


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


_SHORT = 1000  # characters of a text whose commands are remembered, so that memory stays flat


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _root(source: str) -> tree_sitter.Node:
    """Return the tree of a text; offsets are in characters.

    A dot stands for each character beyond ASCII, a word character like them: the scanner looks
    characters up in a C table of 256 and reads past its end.
    """
    return _parser().parse(_NOT_ASCII.sub(".", source).encode()).root_node


def parse(text: str) -> Script:
    """Return the simple commands of shell text, in order. Never raises."""
    return _remembered(text) if len(text) <= _SHORT else _parsed(text)


@lru_cache(maxsize=512)
def _remembered(text: str) -> Script:
    """An answer's commands are looked at from many sides, each time as the same text."""
    return _parsed(text)


def _parsed(text: str) -> Script:
    lifted = _lift_heredocs(_mask_placeholders(text))
    walk = _walk(text, lifted)
    root = _root(walk.text)
    commands = tuple(walk.statements(root, _Context()))
    closed = all(body.heredoc.closed for body in lifted.bodies)
    return Script(commands=commands, complete=closed and not root.has_error)


def _walk(text: str, lifted: "_Lifted") -> "_Walk":
    """A blank stands for each carriage return at the end of a line, so that offsets stay."""
    source, original = (t.replace("\r\n", " \n") + "\n" for t in (lifted.text, text))
    return _Walk(text=source, original=original, bodies=lifted.bodies)


def placeholders(text: str) -> tuple[str, ...]:
    """Return the placeholders of shell text as they are written, each once.

    What stands in here-documents and looks like a tag is content, not a placeholder.
    """
    outside = _lift_heredocs(text).text
    found = [m[0] for m in PLACEHOLDER.finditer(outside)]
    found += _NAMED.findall(PLACEHOLDER.sub(" ", outside))
    return tuple(dict.fromkeys(p for p in found if f"</{p[1:-1]}>" not in text))


def _mask_placeholders(text: str) -> str:
    def word(m: re.Match[str]) -> str:
        return "".join({"<": _OPEN, ">": _CLOSE}.get(c, _BLANK if c.isspace() else c) for c in m[0])

    return PLACEHOLDER.sub(word, text)


def _unmasked(word: str) -> str:
    return word.replace(_OPEN, "<").replace(_CLOSE, ">").replace(_BLANK, " ")


@dataclass(frozen=True, slots=True)
class _Body:
    """A here-document with the offsets of its operator and of the end of its text."""

    heredoc: Heredoc
    opened: int
    end: int


@dataclass(frozen=True, slots=True)
class _Lifted:
    text: str
    bodies: tuple[_Body, ...]


def _lift_heredocs(text: str) -> _Lifted:
    """Blank the bodies out and write each operator as a redirection from a numbered name.

    All offsets stay as they were.
    """
    out: list[str] = []
    found: list[_Body] = []
    scan = _Scan()
    lines = text.split("\n")
    position, k = 0, 0
    while k < len(lines):
        line = lines[k]
        openings = scan.openings(line)
        out.append(_without_operators(line, openings, len(found)))
        start = position
        position += len(line) + 1
        k += 1
        for m in openings:
            body, used, closed = _body(lines[k:], m)
            skipped = lines[k : k + used]
            out += [" " * len(line) for line in skipped]
            position += sum(len(line) + 1 for line in skipped)
            k += used
            quoted = bool(m["quote"]) or _word(m) != m["plain"]
            end = position - 1 - bool(skipped and skipped[-1].endswith("\r"))
            heredoc = Heredoc(body=body, quoted=quoted, closed=closed)
            found.append(_Body(heredoc, start + m.start(), end))
    return _Lifted("\n".join(out), tuple(found))


_TOKENS = {
    "'": re.compile(r"'"),
    '"': re.compile(r'\\.|"|\$\(\(|\$\('),
    "(": re.compile(r"\\.|['\"]|\(\(|\(|\)|(?:^|(?<=[\s;&|(]))\#.*|<<<|<<|\$\{[^}]*\}"),
    "((": re.compile(r"\(\(|\(|\)\)|\)"),
}


@dataclass(slots=True)
class _Scan:
    """Reads shell text line by line and knows which quotes and brackets are open."""

    open: list[str] = field(default_factory=list)

    def openings(self, line: str) -> list[re.Match[str]]:
        """Return the operators on a line that open here-documents."""
        found: list[re.Match[str]] = []
        at = 0
        while m := _TOKENS[self.open[-1] if self.open else "("].search(line, at):
            at = m.end()
            if m[0] == "<<" and (opening := _HEREDOC.match(line, m.start())):
                found.append(opening)
                at = opening.end()
            else:
                self._take(m[0])
        return found

    def _take(self, token: str) -> None:
        last = self.open[-1] if self.open else ""
        if (token in ("'", '"') and token == last) or (token, last) in ((")", "("), ("))", "((")):
            self.open.pop()
        elif token.lstrip("$") in ("'", '"', "(", "(("):
            self.open.append(token.lstrip("$"))


def _word(m: re.Match[str]) -> str:
    return m["quoted"] or m["plain"].lstrip("\\")


def _without_operators(line: str, openings: list[re.Match[str]], first: int) -> str:
    for k, m in enumerate(openings):
        name = chr(ord(_HERE) + first + k) * (len(m[0]) - 1)
        line = line[: m.start()] + "<" + name + line[m.end() :]
    return line


def _body(lines: list[str], m: re.Match[str]) -> tuple[str, int, bool]:
    word = _word(m)
    for k, line in enumerate(lines):
        if (line.lstrip("\t") if m["dash"] else line).rstrip("\r ") == word and not (
            line.endswith(" ") and not line.endswith(word + " ")
        ):
            return _dedented(lines[:k], m), k + 1, True
    rest = lines[:-1] if lines[-1:] == [""] else lines
    return _dedented(rest, m), len(lines), False


def _dedented(lines: list[str], m: re.Match[str]) -> str:
    kept = [line.lstrip("\t") for line in lines] if m["dash"] else lines
    return "".join(_unmasked(line.removesuffix("\r")) + "\n" for line in kept)


@dataclass(frozen=True, slots=True)
class _Context:
    conditional: bool = False
    loop: bool = False
    function: str = ""


@dataclass(slots=True)
class _Walk:
    """Turns the tree into commands; numbers the pipelines as it meets them.

    ``text`` is what was parsed, ``original`` the same with placeholders and here-documents.
    """

    text: str
    original: str
    bodies: tuple[_Body, ...]
    pipelines: int = 0

    def at(self, offset: int) -> int:
        return min(offset, len(self.text) - 1)  # the last line end is ours

    def source(self, node: tree_sitter.Node) -> str:
        return self.original[self.at(node.start_byte) : self.at(node.end_byte)]

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
            case _:
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
        compound = False
        for child in node.children:
            if child.type.endswith("_redirect"):
                redirects.append(child)
            else:
                found += self.statement(child, context)
                compound = child.type not in _SIMPLE
        if not found:
            found = [replace(self.made(node, context, (), ()), end=self.at(node.start_byte))]
        for child in redirects:
            end = found[-1].end
            changed = self.with_redirect(found[-1], child)
            found[-1] = replace(changed, end=end) if compound else changed
        return found

    def with_redirect(self, command: SimpleCommand, node: tree_sitter.Node) -> SimpleCommand:
        end = max(command.end, self.at(node.end_byte))
        operator = "".join(self.source(c) for c in node.children if not c.is_named)
        words = [c for c in node.children if c.is_named and c.type != "file_descriptor"]
        first, extra = (words[0], words[1:]) if words else (None, [])
        here = self.body(first) if first else None
        argv = (*command.argv, *(self.word(w) for w in extra))
        if here:
            heredocs = (*command.heredocs, here.heredoc)
            return replace(command, argv=argv, heredocs=heredocs, end=max(end, here.end))
        descriptor = next(
            (self.source(c) for c in node.children if c.type == "file_descriptor"), ""
        )
        target = self.word(first) if first else ""
        redirects = (*command.redirects, (descriptor + operator, target))
        return replace(command, argv=argv, redirects=redirects, end=end)

    def body(self, target: tree_sitter.Node) -> _Body | None:
        number = ord(self.text[self.at(target.start_byte)]) - ord(_HERE)
        return self.bodies[number] if 0 <= number < len(self.bodies) else None

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
            elif child.type.endswith("_expression"):
                argv += [self.word(part) for part in _test_words(child)]
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
                return text[1:-1]
            case "string":
                return re.sub(r'\\([$`"\\])', r"\1", text.removeprefix('"').removesuffix('"'))
            case "concatenation":
                return "".join(self.word(child) for child in node.children)
            case "word" | "number":
                return re.sub(r"\\(.)", r"\1", text)
            case "variable_assignment":
                return "=".join(self.pair(node))
            case _:
                return text


def _test_words(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the words of what stands between ``[`` and ``]``."""
    for child in node.children:
        if child.type.endswith("_expression"):
            yield from _test_words(child)
        else:
            yield child


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
    lifted = _lift_heredocs(_mask_placeholders(text))
    walk = _walk(text, lifted)
    root = _root(walk.text)
    spans = list(_line_spans(root, walk))
    return tuple(_statement(text, lifted, start, end) for start, end in spans)


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
    after = bisect_left(lifted.bodies, max(end, start + 1), key=lambda body: body.opened)
    if after and lifted.bodies[after - 1].opened >= start:
        end = max(end, lifted.bodies[after - 1].end)
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
