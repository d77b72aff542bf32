"""A script as Markdown, in the styles in which people and assistants write."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.mutation.script import Block, Line, blocks
from procexec.model.document import SessionProgram
from procexec.model.step import Action, Command, FileWrite, Input, WriteMode

LAYOUTS = ("plain", "numbered", "bullets", "headings", "one block", "inline", "bold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """The sentences between the commands, in one language."""

    before: str = "Here is how to do it:"
    run: tuple[str, ...] = ("Run this:",)
    inline: tuple[str, ...] = ("Run `{}`.",)
    create: str = "Create the file `{}` with this content:"
    append: str = "Add the following lines at the end of the file `{}`:"
    reply: str = "When it asks `{}`, type `{}` and press Enter."
    enter: str = "When it asks `{}`, press Enter."
    editor: str = "An editor opens. In the editor type:"
    after: str = "That is all."


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How an answer is written down. ``outputs`` are shown below the commands of a session."""

    layout: str = "plain"
    fence: str = "```"
    tag: str = "bash"
    prompt: str = ""
    prose: Prose = field(default_factory=Prose)
    outputs: dict[str, str] = field(default_factory=dict)
    heredocs: bool = False
    chained: bool = False
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A written answer; ``spans`` has the first and last line (from 1) of each line of the script."""

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Writer:
    lines: list[str] = field(default_factory=list)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, text: str, indent: str = "") -> tuple[int, int]:
        first = len(self.lines) + 1
        self.lines += [(indent + line).rstrip() if line else "" for line in text.split("\n")]
        return first, len(self.lines)

    def mark(self, positions: Sequence[int], span: tuple[int, int]) -> None:
        for k in positions:
            self.spans[k] = span


def write(lines: Sequence[Line], style: Style, programs: Sequence[SessionProgram] = ()) -> Page:
    """Return an answer in a style; ``programs`` tell which prompts are those of a session."""
    out = _Writer()
    if style.prose.before:
        out.add(style.prose.before + "\n")
    if style.layout == "one block":
        _one_block(out, lines, style, programs)
    else:
        for number, block in enumerate(blocks(lines), 1):
            _block(out, lines, block, number, style, programs)
    for text in style.extra:
        out.add(text + "\n")
    if style.prose.after:
        out.add(style.prose.after)
    spans = tuple(out.spans.get(k, (0, 0)) for k in range(len(lines)))
    return Page(text="\n".join(out.lines) + "\n", spans=spans)


def _head(style: Style, number: int, sentence: str) -> tuple[str, str]:
    """Return the words above a block, and how far the block is indented."""
    match style.layout:
        case "numbered":
            return f"{number}. {sentence}\n", "   "
        case "bullets":
            return f"- {sentence}\n", "  "
        case "headings":
            return f"### {number}. {sentence.rstrip(':.')}\n", ""
        case "bold":
            return f"**{number}**\n\n{sentence}\n", ""
        case _:
            return f"{sentence}\n", ""


def _sentence(prose: Prose, action: Action, number: int) -> str:
    if isinstance(action, FileWrite):
        told = prose.append if action.mode is WriteMode.APPEND else prose.create
        return told.format(action.path)
    return prose.run[number % len(prose.run)]


def _block(
    out: _Writer,
    lines: Sequence[Line],
    block: Block,
    number: int,
    style: Style,
    programs: Sequence[SessionProgram],
) -> None:
    first = lines[block.first]
    alone = len(block.lines) == 1 and isinstance(first.action, Command)
    if style.layout == "inline" and alone and _fits_inline(first.action.text):
        told = style.prose.inline[number % len(style.prose.inline)].format(first.action.text)
        out.mark(block.lines, out.add(f"{number}. {told}"))
        return
    if style.layout == "inline":
        style = replace(style, layout="numbered")
    action = first.action
    if isinstance(action, FileWrite) and style.heredocs:
        action = Command(text=heredoc(action))
    head, indent = _head(style, number, _sentence(style.prose, action, number))
    out.add(head)
    if _is_session(lines, block, programs):
        _session(out, lines, block, style, indent)
        return
    content = action.content.removesuffix("\n") if isinstance(action, FileWrite) else action.text
    if isinstance(action, FileWrite):
        shown = Style(fence=style.fence, tag="")
        span = _fence(out, content, shown, indent)
    else:
        span = _fence(out, content, style, indent, style.outputs.get(first.step, ""))
    out.mark((block.first,), span)
    _replies(out, lines, block, style, indent)


def _fits_inline(text: str) -> bool:
    return "\n" not in text and "`" not in text


def heredoc(action: FileWrite) -> str:
    """Return the command that writes a file as people type it."""
    operator = ">>" if action.mode is WriteMode.APPEND else ">"
    return f"cat {operator} {action.path} <<'EOF'\n{action.content.removesuffix(chr(10))}\nEOF"


def _fence(out: _Writer, text: str, style: Style, indent: str, output: str = "") -> tuple[int, int]:
    marks = style.fence
    while marks in text:
        marks += marks[0]
    out.add(f"{marks}{style.tag}", indent)
    shown = _prompted(text, style.prompt) if style.prompt else text
    span = out.add(shown, indent)
    if style.prompt and output.strip():
        out.add(output.rstrip("\n"), indent)
    out.add(marks, indent)
    out.add("")
    return span


def _prompted(text: str, prompt: str) -> str:
    first, *rest = text.split("\n")
    heredoc_follows = "<<" in first
    return "\n".join([prompt + first, *(line if heredoc_follows else "> " + line for line in rest)])


def _prompt_of(action: Action) -> str:
    return action.prompt if isinstance(action, Input) else ""


def _is_session(lines: Sequence[Line], block: Block, programs: Sequence[SessionProgram]) -> bool:
    prompts = {_prompt_of(lines[k].action) for k in block.lines[1:]}
    known = [p for program in programs for p in program.prompts]
    return bool(prompts) and all(any(re.fullmatch(k, p) for k in known) for p in prompts)


def _session(out: _Writer, lines: Sequence[Line], block: Block, style: Style, indent: str) -> None:
    out.add(f"{style.fence}console", indent)
    out.mark((block.first,), out.add("$ " + lines[block.first].action.text, indent))
    for k in block.lines[1:]:
        text = f"{_prompt_of(lines[k].action)} {lines[k].action.text}"
        out.mark((k,), out.add(text, indent))
    out.add(style.fence, indent)
    out.add("")


def _replies(out: _Writer, lines: Sequence[Line], block: Block, style: Style, indent: str) -> None:
    for prompt, positions in _by_prompt(lines, block):
        texts = [lines[k].action.text for k in positions]
        if any(text.startswith(":") for text in texts):
            out.add(style.prose.editor + "\n", indent)
            span = _fence(out, "\n".join(texts), Style(fence=style.fence, tag="text"), indent)
            out.mark(positions, span)
            continue
        for k, text in zip(positions, texts, strict=True):
            told = style.prose.reply if text else style.prose.enter
            out.mark((k,), out.add(told.format(prompt, text), indent))
            out.add("")


def _by_prompt(lines: Sequence[Line], block: Block) -> Iterator[tuple[str, list[int]]]:
    """Yield the replies by question, where neighbours answer the same one."""
    group: list[int] = []
    for k in block.lines[1:]:
        if group and lines[group[0]].step != lines[k].step:
            yield _prompt_of(lines[group[0]].action), group
            group = []
        group.append(k)
    if group:
        yield _prompt_of(lines[group[0]].action), group


def _one_block(
    out: _Writer, lines: Sequence[Line], style: Style, programs: Sequence[SessionProgram]
) -> None:
    """Write what follows each other and asks nothing into one fence; the rest as it must be."""
    run: list[Block] = []

    def flush() -> None:
        if not run:
            return
        out.add(style.prose.run[0] + "\n")
        _shared_fence(out, lines, [b.first for b in run], style)
        run.clear()

    for number, block in enumerate(blocks(lines), 1):
        if len(block.lines) == 1 and isinstance(lines[block.first].action, Command):
            run.append(block)
        else:
            flush()
            _block(out, lines, block, number, replace(style, layout="plain"), programs)
    flush()


def _shared_fence(out: _Writer, lines: Sequence[Line], positions: list[int], style: Style) -> None:
    out.add(f"{style.fence}{style.tag}")
    texts = [lines[k].action.text for k in positions]
    if style.chained and all("\n" not in t and not re.search(r"[|;&]|<<", t) for t in texts):
        out.mark(positions, out.add(" && ".join(texts)))
    else:
        for k, text in zip(positions, texts, strict=True):
            out.mark((k,), out.add(_prompted(text, style.prompt) if style.prompt else text))
    out.add(style.fence)
    out.add("")
