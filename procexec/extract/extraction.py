"""An answer's Markdown to its steps, in reading order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from procexec.extract.blocks import Block, BlockKind, Span, blocks
from procexec.extract.decline import decline_in
from procexec.extract.editor import keys_of_block
from procexec.extract.edits import Told, edit_of, files_named, looked_for
from procexec.extract.fenced import (
    SHELL,
    UNTAGGED,
    dialogue,
    from_code,
    goes_on,
    is_shown,
    last_sentence,
    session_from_lead,
    session_from_payload,
)
from procexec.extract.hints import Hints
from procexec.extract.places import exact
from procexec.extract.prose import Context, Left, from_prose, from_table, undoes, why_not_run
from procexec.model.document import SessionProgram
from procexec.model.step import (
    AnswerStep,
    Command,
    Extraction,
    FileEdit,
    FileWrite,
    Input,
    Repair,
    Rule,
    Session,
    Skipped,
    SkipReason,
)
from procexec.shell.parse import placeholders

_MOST_LEVELS = 6  # of headings
_TAB = re.compile(r'^={3,}[!+]?\s+"([^"]+)"')
_OUR_PLATFORM = re.compile(
    r"(?i)\b(?:linux|debian|ubuntu|unix|bash|posix|any platform|all platforms)\b"
)
_PLATFORM = re.compile(
    r"(?i)\b(?:windows|powershell|cmd|macos|mac os|os x|mac|homebrew|fedora|rhel|centos|red hat|arch|alpine|"
    r"opensuse|freebsd|linux|debian|ubuntu|unix)\b"
)
_ALTERNATIVE = re.compile(
    r"(?i)^\W*(?:alternatively|or\b(?! else)|otherwise|another (?:way|option|approach)|as an alternative|"
    r"if you(?:'d| would)? (?:rather|prefer)|you can also|the same (?:thing )?(?:with|using)|"
    r"alternativ|oder|ansonsten|stattdessen kannst du|in alternativa|oppure|altrimenti)\b"
)
_ASIDE = re.compile(
    r"(?i)^\W*(?:\d+\W+)?(?:troubleshooting|common (?:errors|problems|mistakes|issues|pitfalls)|faq|undo(?:ing)?|"
    r"roll(?:ing)? ?back|revert(?:ing)?|how to undo|references|see also|further reading|"
    r"fehlerbehebung|häufige (?:fehler|probleme)|rückgängig machen|risoluzione dei problemi|"
    r"(?:errori|problemi) (?:comuni|frequenti)|annullare)\W*$"
)
_ASIDE_HEADING = re.compile(
    r"(?i)^\W*(?:what )?(?:if|when)\b.*\b(?:goes wrong|fails?|does ?n[o']t work)\b"
)
_WAY = re.compile(
    r"(?i)^\W*(?:option|method|approach|alternative|variant|variante|way|solution|opzione|metodo|möglichkeit)\s+"
    r"(?P<number>[A-D]|[1-9])\b"
)
_EDITOR_OPENS = re.compile(
    r"(?i)\beditor (?:\w+ )?(?:opens|appears|starts|comes up)\b|\bopens (?:\w+ ){0,2}editor\b"
)
_SAVED_AS = re.compile(
    r"(?i)^\W*(?:now |then )?(?:save|store|put|write)\s+(?:this|that|it|these \w+|the (?:above|script|statements|lines)\w*)"
    r"(?: \w+)?\s+(?:as|to|in|into)\s+(?:a |the )?(?:file )?(?:called |named )?`(?P<path>[^`\s]+)`"
)
_REPLACES = re.compile(r"(?i)\b(?:replace|substitute|exchange|fill in|adapt|use your|where)\b")
_STANDS_IN = re.compile(
    r"(?i)\b(?:replace|substitute|exchange)\s+`?(?P<name>[\w.@:/-]*\w)`?\s+(?:with|by|for)\s+"
    r"(?:your|the (?:actual|real|name|path|right|correct|number|desired))\b"
)
_BELOW = re.compile(
    r"(?i)^\W*(?:in|to|into|at the (?:end|bottom|top) of) (?:the )?(?:file )?[`*]+[^`*]+[`*]+"
)
_WILL_ASK = re.compile(
    r"(?i)\b(?:when|if|as soon as) (?:you are |it |the \w+ )?(?:asked|prompted|asks|prompts)\b"
)
_MAY_FAIL = re.compile(
    r"(?i)(?:\bthe (?P<which>first|second|third|last)(?: one| command| line)?|`(?P<code>[^`]+)`)\s+"
    r"(?:may|might|can|could|will|is allowed to)\s+(?:\w+ )?(?:fail|complain|remark|warn|report|print|say|exit|return|show)\b"
)
_OUTPUT_LEAD = re.compile(r"(?i)\b(?:output|you (?:should|will|would) (?:then )?see)\b[^.]*:?\s*$")
_OPENS_EDITOR = re.compile(
    r"(?P<editor>sudo -e|sudoedit|(?:sudo (?:-E )?)?(?:nano|vi|vim|nvim|emacs|ed|pico|micro|code|gedit|kate|editor|"
    r"\$\{?(?:EDITOR|VISUAL)\}?))(?: -\w+)* (?P<path>\S+)"
)
_VI = re.compile(r"(?:sudo (?:-E )?)?n?vim?")
_EDITORS = re.compile(r"(?i)\b(?:vi|vim|nano|editor|emacs)\b|--edit\b")


def extract(markdown: str, hints: Hints) -> Extraction:
    """Return the steps of an answer, what looks like a step and is none, and its declining words.

    Never raises: whatever cannot be understood is left as prose.
    """
    found = blocks(markdown)
    reader = _Reader(
        hints, found, tuple(_labels_above(found)), tuple(_asides(found)), tuple(_second_ways(found))
    )
    reader.read()
    declines = decline_in("\n\n".join(block.prose for block in found if block.spans))
    if not reader.steps and not declines:
        reader.take_mentions()
    named = _placeholders_named(found)
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    steps = [exact(_with_placeholders(step, named), lines) for step in reader.steps]
    return Extraction(
        steps=tuple(step for k, step in enumerate(steps) if not _opens_for(step, steps[k + 1 :])),
        skipped=tuple(reader.skipped),
        declines=declines,
    )


def _opens_for(step: AnswerStep, later: list[AnswerStep]) -> bool:
    """Tell whether a command only opens an editor on the file whose change is told next."""
    told = next((s.action for s in later if not isinstance(s.action, Input)), None)
    if not isinstance(step.action, Command) or not isinstance(told, FileEdit | FileWrite):
        return False
    m = _OPENS_EDITOR.fullmatch(step.action.text.strip())
    return m is not None and m["path"].strip("'\"") == told.path


def _is_bare_script(block: Block, hints: Hints) -> bool:
    """Tell whether a paragraph is nothing but commands that somebody did not put into a fence."""
    if block.kind is not BlockKind.PROSE or any(span.code for span in block.spans):
        return False
    lines = [line.strip().removeprefix("$ ") for line in block.text.split("\n")]
    programs = (*hints.programs, "cd")
    commands = all(
        len(w) > 1 and w[0] in programs and w[-1][-1] not in ".,:;?!" for w in map(str.split, lines)
    )
    return commands and (len(lines) > 1 or bool(re.search(r"\s-{1,2}\w", lines[0])))


def _placeholders_named(found: tuple[Block, ...]) -> tuple[str, ...]:
    """Return the words that the answer's prose calls stand-ins for the reader's own."""
    prose = [b.prose for b in found if b.kind is BlockKind.PROSE]
    single = (m["name"] for text in prose for m in _STANDS_IN.finditer(text))
    listed = (
        name
        for text in prose
        if _REPLACES.search(text)
        for name in re.findall(r"`(<[^`<>]+>)`", text)
    )
    return tuple(dict.fromkeys((*single, *listed)))


def _with_placeholders(step: AnswerStep, named: tuple[str, ...]) -> AnswerStep:
    text = step.action.text
    if isinstance(step.action, FileWrite | FileEdit):
        text = f"{step.action.path}\n{step.action.content}"
    more = [n for n in named if n in text and not any(n in p for p in step.placeholders)]
    return replace(step, placeholders=(*step.placeholders, *more)) if more else step


@dataclass(slots=True)
class _Reader:
    hints: Hints
    blocks: tuple[Block, ...]
    labels: tuple[Block | None, ...]
    asides: tuple[bool, ...]
    second_ways: tuple[bool, ...]
    steps: list[AnswerStep] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    lead: str = ""
    lead_item: int = 0
    file: str = ""
    place: str = ""
    announced: tuple[int, ...] = ()

    def read(self) -> None:
        for k, block in enumerate(self.blocks):
            left = self._left_out(k)
            if left:
                self._skip(block, left)
            elif block.kind is BlockKind.CODE:
                self._code(block, self._saved_as(k), self._below(k))
            elif block.kind is BlockKind.TABLE:
                self._take(from_table(block, self._context(k), self.hints))
            elif _is_bare_script(block, self.hints):
                self._code(replace(block, kind=BlockKind.CODE, spans=()), "", "")
            elif block.kind is BlockKind.PROSE and not _TAB.match(block.text):
                self._take(from_prose(block, self._context(k), self.hints))
                self.announced = self._announced(k)
            if block.kind is BlockKind.PROSE:
                self._expect_failure(k)
            if block.kind in (BlockKind.PROSE, BlockKind.HEADING):
                self.lead, self.lead_item = block.prose, block.item
                self._remember_file(block)

    def _remember_file(self, block: Block) -> None:
        """Keep the file that a text names, for blocks that do not; a heading begins anew."""
        named = files_named(block.prose)
        if named or block.kind is BlockKind.HEADING:
            self.file, self.place = (named or [""])[-1], "" if named else self.place

    def take_mentions(self) -> None:
        """Take the whole commands that are only mentioned for steps: the answer has no other."""
        mentioned = [s for s in self.skipped if s.reason is SkipReason.MENTION]
        whole = [s for s in mentioned if len(s.text.split()) > 2]
        self.skipped = [s for s in self.skipped if s not in whole]
        self.steps += [
            AnswerStep(
                action=Command(text=s.text.strip()),
                line=s.line,
                column=s.column,
                confidence=0.5,
                rule=Rule.ONLY_MENTIONS,
                placeholders=placeholders(s.text),
            )
            for s in whole
        ]

    def _left_out(self, k: int) -> Left | None:
        label = self.labels[k]
        if label is not None and _other_platform(self.blocks[k], label):
            return Left(SkipReason.OTHER_PLATFORM, _label(label) or "")
        if self.steps and (self.second_ways[k] or _in_alternative(self.blocks, k)):
            return Left(SkipReason.ALTERNATIVE, _opening(self.blocks, k))
        if self.steps and self.asides[k]:
            return Left(SkipReason.LATER, _heading(self.blocks, k))
        if self.blocks[k].kind is BlockKind.CODE:
            lead = last_sentence(self.lead)
            return why_not_run(lead) or (undoes(lead) if self.steps else None)
        return None

    def _skip(self, block: Block, left: Left) -> None:
        pieces: list[Block | Span] = [span for span in block.spans if span.code]
        if block.kind is BlockKind.CODE:
            pieces = [block]
        self.skipped += [
            Skipped(
                text=piece.text,
                line=piece.line,
                column=piece.column,
                reason=left.reason,
                because=left.because.strip(),
            )
            for piece in pieces
        ]

    def _saved_as(self, k: int) -> str:
        """Return the sentence below a block that tells which file it is, or nothing."""
        below = self.blocks[k + 1] if k + 1 < len(self.blocks) else None
        m = _SAVED_AS.match(below.prose) if below and below.kind is BlockKind.PROSE else None
        return f"Save as `{m['path']}`" if m else ""

    def _announced(self, k: int) -> tuple[int, ...]:
        """Return the lines of a text that leads to a script and says what it will ask for."""
        block, after = self.blocks[k], self.blocks[k + 1] if k + 1 < len(self.blocks) else None
        asks = _WILL_ASK.search(block.prose) and after is not None and after.kind is BlockKind.CODE
        if not asks or after is None or after.language not in SHELL:
            return ()
        return tuple(range(block.line, after.line))

    def _expect_failure(self, k: int) -> None:
        """Mark the step of the block above of which this text says that it may fail."""
        m = _MAY_FAIL.search(self.blocks[k].prose)
        if m is None or not k or self.blocks[k - 1].kind is not BlockKind.CODE:
            return
        start = self.blocks[k - 1].line
        mine = [j for j, s in enumerate(self.steps) if start <= s.line < self.blocks[k].line]
        wanted = {"first": mine[:1], "second": mine[1:2], "third": mine[2:3], "last": mine[-1:]}
        named = [j for j in mine if m["code"] and m["code"] in self.steps[j].action.text]
        for j in named or wanted.get((m["which"] or "").lower(), []):
            self.steps[j] = replace(self.steps[j], expects_failure=True)

    def _reply_after(self) -> None:
        """Move replies that the text before a block announces behind the command that asks."""
        ahead = [
            s
            for s in self.steps
            if isinstance(s.action, Input) and s.prose and s.line in self.announced
        ]
        if ahead and not isinstance(self.steps[-1].action, Input):
            self.steps = [s for s in self.steps if s not in ahead]
            self.steps += ahead
        self.announced = ()

    def _below(self, k: int) -> str:
        """Return the words below a block that say which file it belongs to, or nothing."""
        below = self.blocks[k + 1] if k + 1 < len(self.blocks) else None
        m = _BELOW.match(below.prose) if below and below.kind is BlockKind.PROSE else None
        return m[0] if m else ""

    def _typed(self, block: Block) -> list[AnswerStep]:
        """Return what a fence tells to type into the editor that the last command opened."""
        words = block.text.split()
        shell = block.language in SHELL and block.language not in UNTAGGED
        if shell or not words or words[0] in self.hints.programs:
            return []
        if not self._in_editor(self.lead):
            return []
        return [
            AnswerStep(
                action=Input(keys=(keys,)),
                line=block.line + min(k, block.text.rstrip("\n").count("\n")),
                column=block.column,
                confidence=0.8,
                rule=Rule.EDITOR_KEYS,
                prose=self.lead,
                repairs=(Repair.KEYS_FROM_PROSE,),
            )
            for k, keys in enumerate(keys_of_block(block.text, self.lead))
        ]

    def _code(self, block: Block, saved_as: str, below: str) -> None:
        if typed := self._typed(block):
            self.steps += typed
            return
        last = self.steps[-1] if self.steps else None
        if last and (session := session_from_payload(last, block, self.lead, self.hints)):
            self.steps[-1] = session
            return
        spec = self._left_open()
        if spec and (session := goes_on(block, self.lead, spec, self.hints)):
            self.steps.append(session)
            return
        if session := session_from_lead(block, self.lead, self.hints):
            self.steps.append(session)
            return
        lead = saved_as or self.lead
        if looked_for(lead) and (files_named(lead) or self.file):
            self.place, self.file = block.text, (files_named(lead) or [self.file])[-1]
            return
        if step := edit_of(
            block, lead, Told(file=self.file, place=self.place, below=below), self.hints
        ):
            self.steps.append(step)
            self.file = step.action.path if isinstance(step.action, FileEdit) else self.file
            return
        found = from_code(block, self.lead, self.hints)
        optional = bool(re.match(r"(?i)\W*(?:\d+\.\s*)?\W*optional\b|.*\(optional\)", self.lead))
        self.steps += [replace(s, optional=True) if optional else s for s in found.steps]
        self._reply_after()
        self.skipped += found.skipped

    def _take(self, items: Iterator[AnswerStep | Skipped]) -> None:
        for item in items:
            if isinstance(item, AnswerStep):
                self.steps.append(item)
            else:
                self.skipped.append(item)

    def _context(self, k: int) -> Context:
        last = self.steps[-1] if self.steps else None
        following = self.blocks[k + 1] if k + 1 < len(self.blocks) else None
        block = self.blocks[k]
        leads = (
            following is not None
            and following.kind is BlockKind.CODE
            and following.item == block.item
            and block.prose.rstrip(" *_").endswith(":")
            and following.language in SHELL
            and not is_shown(following, block.prose, self.hints)
            and not dialogue(following, self.hints)
        )
        edited = last is not None and isinstance(last.action, Input)
        return Context(
            last=last,
            in_editor=self._in_editor(block.prose),
            edited=edited,
            leads_to_code=leads,
            session=self._session(),
            file=self.file,
            before_code=following is not None and following.kind is BlockKind.CODE,
        )

    def _session(self) -> SessionProgram | None:
        """Return the program that the last command opens and that still takes statements."""
        commands = [s for s in self.steps if not isinstance(s.action, Input)]
        if not commands or not isinstance(commands[-1].action, Command):
            return None
        return self.hints.session_of(commands[-1].action.text)

    def _left_open(self) -> SessionProgram | None:
        """Return the program of the last session, with a command typed since: it was left open."""
        sessions = [k for k, s in enumerate(self.steps) if isinstance(s.action, Session)]
        if not sessions or sessions[-1] == len(self.steps) - 1:
            return None
        action = self.steps[sessions[-1]].action
        assert isinstance(action, Session)
        return self.hints.session_of(action.program)

    def _in_editor(self, prose: str) -> bool:
        """Tell whether the last command opens an editor, as far as its text and ``prose`` tell."""
        others = (s.action for s in reversed(self.steps) if not isinstance(s.action, Input))
        last = next(others, None)
        if not isinstance(last, Command):
            return False
        opened = _OPENS_EDITOR.fullmatch(last.text.strip())
        if opened and not _VI.fullmatch(opened["editor"]):
            return False  # nobody types its keys: what is told to change is carried out
        return bool(
            _EDITORS.search(last.text)
            or _EDITOR_OPENS.search(prose)
            or any(re.search(pattern, last.text) for pattern in self.hints.editors)
        )


def _asides(all_blocks: tuple[Block, ...]) -> Iterator[bool]:
    """Yield for each block whether it stands in a section about something else than the task."""
    level = 0
    for block in all_blocks:
        if block.kind is BlockKind.HEADING and (not level or block.level <= level):
            aside = _ASIDE.match(block.prose) or _ASIDE_HEADING.match(block.prose)
            level = block.level if aside else 0
        elif _is_label(block) and not level and _ASIDE.match(block.prose):
            level = _MOST_LEVELS
        yield bool(level)


def _is_label(block: Block) -> bool:
    """Tell whether a paragraph is a title of what follows rather than a sentence of its own."""
    words = block.prose
    return (
        block.kind is BlockKind.PROSE and "," not in words and not any(s.code for s in block.spans)
    )


def _second_ways(all_blocks: tuple[Block, ...]) -> Iterator[bool]:
    """Yield for each block whether it belongs to a numbered way other than the first.

    Below a heading that is all until the next one; below a paragraph, until the next paragraph
    that follows code.
    """
    label: Block | None = None
    first, other = "", False
    before: Block | None = None
    for block in all_blocks:
        prose = block.kind in (BlockKind.HEADING, BlockKind.PROSE)
        m = _WAY.match(block.prose) if prose else None
        if m:
            label, first = block, first or m["number"].upper()
            other = m["number"].upper() != first
        elif label is not None and _ends_way(block, before, label):
            label = None
        yield label is not None and other
        before = block


def _ends_way(block: Block, before: Block | None, label: Block) -> bool:
    if block.kind is BlockKind.HEADING:
        return label.kind is not BlockKind.HEADING or block.level <= label.level
    after_code = before is not None and before.kind is BlockKind.CODE
    below_prose = label.kind is BlockKind.PROSE and label.item == block.item == 0
    return below_prose and block.kind is BlockKind.PROSE and after_code


def _labels_above(all_blocks: tuple[Block, ...]) -> Iterator[Block | None]:
    """Yield for each block the platform label that it stands under, if any.

    A heading covers all until the next one; a tab or a bold label the code directly below it.
    """
    heading: Block | None = None
    near: Block | None = None
    within = False  # the tab of the label, whose text is indented
    for block in all_blocks:
        label = _label(block)
        if within and not block.indented:
            near = None
        within = label is None and near is not None and _in_tab(near, block)
        yield None if label is not None else near or heading
        if block.kind is BlockKind.HEADING:
            heading, near = block, None
        elif label is not None:
            near = block
        elif block.kind is not BlockKind.CODE and not block.indented:
            near = None


def _in_tab(label: Block, block: Block) -> bool:
    return block.indented and bool(_TAB.match(label.text))


def _other_platform(block: Block, label: Block) -> bool:
    """Tell whether the label that a block stands under is of another platform and covers it."""
    return _is_other(_label(label) or "") and _covers(label, block)


def _covers(label: Block, block: Block) -> bool:
    if label.kind is BlockKind.HEADING:
        return True
    if _TAB.match(label.text):
        return block.indented or (block.kind is BlockKind.CODE)
    return block.kind is BlockKind.CODE


def _label(block: Block) -> str | None:
    """Return the platform label that a block is, or None."""
    if m := _TAB.match(block.text):
        return m[1]
    text = re.sub(r"[*_:#]", "", block.prose).strip()
    is_label = block.kind is BlockKind.HEADING or (
        block.kind is BlockKind.PROSE and len(text) <= 40 and block.text.strip().startswith("**")
    )
    if block.kind is BlockKind.PROSE and re.match(
        r"(?i)^on (?:windows|macos|linux)[^.]{0,20}:$", block.prose
    ):
        return text
    return (
        text if is_label and (_PLATFORM.search(text) or block.kind is BlockKind.HEADING) else None
    )


def _is_other(label: str) -> bool:
    return bool(_PLATFORM.search(label)) and not _OUR_PLATFORM.search(label)


def _in_alternative(all_blocks: tuple[Block, ...], k: int) -> bool:
    """Tell whether the block is, or directly follows, a paragraph that opens an alternative."""
    block = all_blocks[k]
    if block.kind is BlockKind.PROSE and _ALTERNATIVE.match(block.prose):
        return True
    before = all_blocks[k - 1] if k else None
    return (
        block.kind is BlockKind.CODE
        and before is not None
        and before.kind in (BlockKind.PROSE, BlockKind.HEADING)
        and bool(_ALTERNATIVE.match(before.prose))
    )


def _opening(all_blocks: tuple[Block, ...], k: int) -> str:
    """Return the beginning of the text that a block belongs to: its own, or the one before it."""
    above = [block for block in all_blocks[: k + 1] if block.kind is not BlockKind.CODE]
    return above[-1].prose[:60] if above else ""


def _heading(all_blocks: tuple[Block, ...], k: int) -> str:
    above = (block for block in reversed(all_blocks[: k + 1]) if _ASIDE.match(block.prose))
    return next((block.prose for block in above), _opening(all_blocks, k))
