"""Code blocks to steps: scripts, terminal sessions with prompts and output, program sessions."""

import re
from dataclasses import dataclass, field, replace

from procexec.extract.blocks import Block
from procexec.extract.hints import Hints
from procexec.model.document import SessionProgram
from procexec.model.step import (
    Action,
    AnswerStep,
    Command,
    Input,
    Repair,
    Rule,
    Session,
    Skipped,
    SkipReason,
)
from procexec.shell.parse import parse, placeholders, statements

SHELL = frozenset(
    ["bash", "sh", "shell", "zsh", "ksh", "console", "shell-session", "sh-session"]
) | {
    "terminal",
    "bash-session",
    "shellsession",
    "text",
    "txt",
    "plaintext",
    "plain",
    "",
}
_SESSION = frozenset(["console", "shell-session", "sh-session", "bash-session", "terminal"]) | {
    "shellsession",
}
UNTAGGED = frozenset(["", "text", "txt", "plaintext", "plain"])
OTHER_PLATFORM = frozenset(["powershell", "ps1", "pwsh", "cmd", "bat", "batch", "dos", "doscon"])
_PROMPT = re.compile(
    r"^(?P<prompt>(?:\([\w.+-]+\) ?)?"
    r"(?:\[?[\w.-]+@[\w.-]+(?:[: ][^$#%>\n]*?)?\]?|[~/][\w./~-]*)? ?[$%❯➜]|"
    r"(?:\([\w.+-]+\) ?)?\[?root@[\w.-]+(?:[: ][^$#%>\n]*?)?\]?#|\[root@[^\]]*\]#)(?: +|$)"
)
_BROKEN_CONTINUATION = re.compile(r"\\[ \t]+$", re.MULTILINE)
_MOST_LINES = 400  # of one command typed at a prompt
_ROOT_PROMPT = re.compile(r"^# +(?=\S)")
_OPENS_SHELL = re.compile(
    r"^(?:sudo\s+)?(?:su|newgrp|chroot|ssh)\b|^sudo\s+(?:-\w+\s+)*-\w*[is]\b"
    r"|\s(?:/(?:usr/)?bin/)?(?:ba|da|z|k|a|fi)?sh(?:\s+-[il]+)?$"
)
_OUTPUT_PROSE = re.compile(
    r"(?i)\b(you (?:should|will|would) (?:then )?(?:see|get)|(?:expected |sample |example )?outputs?\b"
    r"(?! to\b)|(?:prints?|shows?|displays?|returns?|answers?|looks?) (?:like|something|this|the following)"
    r"|folgendes sehen|ausgabe (?:ist|lautet|sollte|sieht)|(?:erwartete|beispiel)\w* ?ausgabe|dovresti vedere|vedrai|"
    r"(?:output|risultato) (?:atteso|sarà|è)|siehst du (?:dann|nun|etwa)"
    r"|result(?:s)? (?:is|look|should)|(?:error|message)s?(?: \w+)? (?:is|looks?|reads?)|fails? with)"
)
BACK = re.compile(
    r"(?i)\b(?:back|return|go back|switch(?: back)?)\s+(?:in|to|into|at)\b[^.:]{0,40}\W"
    r"(?:terminal|window|session|shell|tab|console|prompt|client)\b"
    r"|\bin the (?:first|still open|open) \W*(?:terminal|window|session|tab|console)\b"
)
_IN_A_PROGRAM = re.compile(
    r"(?i)\b(?:in|at|inside|into|within|from|using|with)\s+(?:the |an? )?"
    r"(?:`(?P<command>[^`]+)`|(?P<name>[\w.-]+))"
    r"(?:\s+(?:session|shell|prompt|console|client|repl|command[ -]line))?\W*$"
)
_FAILURE = re.compile(
    r"(?i)\b(?:should|will|must|may|expect\w*)\b.*\b(?:no such|not found|fail|error|refus|den(?:y|ied)|"
    r"does not exist|doesn't exist|nothing)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a code block gave: steps and pieces that are none, in reading order."""

    steps: tuple[AnswerStep, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def from_code(block: Block, prose: str, hints: Hints) -> Found:
    """Return the steps of a code block; ``prose`` is the text that leads to it."""
    if block.language in OTHER_PLATFORM:
        return _none(block, SkipReason.OTHER_PLATFORM, block.language)
    if block.language not in SHELL and not _shows_session(block, hints):
        return _none(block, SkipReason.OTHER_LANGUAGE, block.language)
    if _has_prompts(block):
        return _Terminal(block, hints, prose).read()
    if block.language in UNTAGGED and (told := dialogue(block, hints)):
        return Found(steps=told)
    if is_shown(block, prose, hints):
        return _none(block, SkipReason.OUTPUT, last_sentence(prose))
    return _script(block, prose, hints)


def _shows_session(block: Block, hints: Hints) -> bool:
    """Tell whether a block, whatever its tag, shows a program being started and its prompts."""
    first, *rest = [line for line in block.text.split("\n") if line.strip()] or [""]
    spec = hints.session_of(_PROMPT.sub("", first, count=1))
    return spec is not None and any(hints.session_line(line, spec) is not None for line in rest)


def dialogue(block: Block, hints: Hints) -> tuple[AnswerStep, ...]:
    """Return the replies of a block that shows nothing but questions, some with what is typed."""
    lines = [(k, line) for k, line in enumerate(block.text.split("\n")) if line.strip()]
    told = [hints.question_on(line) for _, line in lines]
    if not lines or not all(told) or (len(lines) == 1 and told[0] and not told[0][1]):
        return ()
    return tuple(
        _typed_reply(*asked, line=block.line + k, column=block.column)
        for (k, _), asked in zip(lines, told, strict=True)
        if asked
    )


def is_shown(block: Block, prose: str, hints: Hints) -> bool:
    """Tell whether a block without prompts is output that the text before it announces."""
    announced = _OUTPUT_PROSE.search(last_sentence(prose)) and not _has_prompts(block)
    return bool(announced) and not _starts_known(block.text, hints)


def _none(block: Block, reason: SkipReason, because: str) -> Found:
    piece = Skipped(
        text=block.text, line=block.line, column=block.column, reason=reason, because=because
    )
    return Found(skipped=(piece,))


def last_sentence(prose: str) -> str:
    sentences = re.split(r"(?<=[.!?])\s+", prose.strip())
    return sentences[-1] if sentences else ""


def _has_prompts(block: Block) -> bool:
    lines = [line for line in block.text.split("\n") if line.strip()]
    if not lines:
        return False
    if any(_PROMPT.match(line) for line in lines):
        return (
            block.language in _SESSION
            or bool(_PROMPT.match(lines[0]))
            or bool(re.match(r"^(?:#|\s*$)", lines[0]))
        )
    return block.language in _SESSION and bool(_ROOT_PROMPT.match(lines[0]))


def _starts_known(text: str, hints: Hints) -> bool:
    commands = parse(text).commands
    first = next((c.argv[0] for c in commands if c.argv), "")
    return hints.is_program(first)


def _script(block: Block, prose: str, hints: Hints) -> Found:
    steps: list[AnswerStep] = []
    skipped: list[Skipped] = []
    goes_on = False
    shell, typed = _pasted_session(block.text, hints)
    for s in statements(shell):
        row = block.text.count("\n", 0, s.start)
        column = s.start - (block.text.rfind("\n", 0, s.start) + 1)
        line, at = block.line + row, block.column + column
        known = _starts_known(s.text, hints) or bool(re.match(r"[A-Za-z_]\w*=", s.text))
        meant = known or goes_on
        goes_on = bool(_BROKEN_CONTINUATION.search(s.text))
        if not meant and _is_output(s.text, block, after_steps=bool(steps)):
            reply = hints.reply_on(s.text) if steps and "\n" not in s.text else None
            if reply is None:
                piece = Skipped(
                    text=s.text,
                    line=line,
                    column=at,
                    reason=SkipReason.OUTPUT,
                    because="its first word is no known program, and it is not spelt like one",
                )
                skipped.append(piece)
            else:
                steps.append(_typed_reply(*reply, line=line, column=at + s.text.rfind(reply[1])))
            continue
        steps.append(
            AnswerStep(
                action=Command(text=s.text),
                line=line,
                column=at,
                confidence=0.95 if known and s.complete else 0.6,
                rule=Rule.SCRIPT_LINE,
                prose=prose,
                expects_failure=bool(_FAILURE.search(s.comment)),
                doubts=_doubts(s.text, complete=s.complete and block.closed),
                placeholders=placeholders(s.text),
            )
        )
    if typed and steps:
        steps[-1] = replace(steps[-1], action=Session(program=steps[-1].action.text, lines=typed))
    return Found(steps=tuple(steps), skipped=tuple(skipped))


def _pasted_session(text: str, hints: Hints) -> tuple[str, tuple[str, ...]]:
    """Cut a script behind a line that opens a program where all that follows is for the program."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if hints.session_of(line) is None or not parse(line).complete:
            continue
        rest = [line for line in lines[k + 1 :] if line.strip()]
        if rest and not any(_starts_known(line, hints) for line in rest):
            return "\n".join(lines[: k + 1]), _entered(rest, hints.session_of(line), hints)
    return text, ()


def _entered(lines: list[str], spec: SessionProgram | None, hints: Hints) -> tuple[str, ...]:
    """Return what was typed into a program: what stands behind its prompts, if it has any."""
    typed = (hints.session_line(line, spec) for line in lines)
    entered = tuple(text for text in typed if text is not None)
    return entered or tuple(lines)


def _is_output(text: str, block: Block, *, after_steps: bool) -> bool:
    """Tell whether a line with an unknown first word is output rather than a command."""
    looks_like_table = bool(re.search(r"\S {2,}\S.* {2,}\S|^\S+ {2,}\S+$", text, re.MULTILINE))
    starts_odd = not re.match(r"[a-z_.~/$<{(\[!\"'“]", text)
    if block.language in UNTAGGED:
        return (
            True
            if not after_steps
            else not re.match(r"[a-z][\w.-]*( [\w./<>=:@~$'\"{}-]+)+$", text)
        )
    return looks_like_table or starts_odd


def _doubts(text: str, *, complete: bool) -> tuple[str, ...]:
    doubts = [] if complete else ["the shell text is not complete"]
    if re.search(r"[“”‘’]|(?<=\s)[–—](?=\w)|\u00a0|…", text):
        doubts.append("typographic characters")
    if _BROKEN_CONTINUATION.search(text):
        doubts.append("a blank after the backslash at the end of a line")
    return tuple(doubts)


def _typed_reply(prompt: str, reply: str, *, line: int, column: int) -> AnswerStep:
    return AnswerStep(
        action=Input(keys=(reply + "\r",), prompt=prompt),
        line=line,
        column=column,
        confidence=0.9,
        rule=Rule.TERMINAL_REPLY,
    )


@dataclass(slots=True)
class _Terminal:
    """Reads a copied terminal line by line: prompts, commands, continuations, output."""

    block: Block
    hints: Hints
    prose: str
    steps: list[AnswerStep] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    output_line: int = 0
    session: SessionProgram | None = None
    typed: list[str] = field(default_factory=list)
    deeper: bool = False  # in a shell that a command opened, whose prompt may be another one

    def read(self) -> Found:
        lines = self.block.text.split("\n")
        k = 0
        while k < len(lines):
            prompt = self._prompt(lines[k])
            if prompt:
                self._finish()
                k = self._command(lines, k, prompt)
            else:
                self._other(lines[k], k)
                k += 1
        self._finish()
        return Found(steps=tuple(self.steps), skipped=tuple(self.skipped))

    def _prompt(self, line: str) -> str:
        if m := _PROMPT.match(line):
            return m[0]
        rootish = self.deeper or not self._has_user_prompt()
        bare_root = self.block.language in _SESSION and rootish
        if bare_root and (m := _ROOT_PROMPT.match(line)):
            return m[0] if self._is_command(line[m.end() :]) else ""
        return ""

    def _has_user_prompt(self) -> bool:
        return any(_PROMPT.match(line) for line in self.block.text.split("\n"))

    def _is_command(self, text: str) -> bool:
        return _starts_known(text, self.hints) and parse(text).complete

    def _command(self, lines: list[str], k: int, prompt: str) -> int:
        """Take a command with its continuation lines; return the index of the line after it."""
        start = k
        text = lines[k][len(prompt) :]
        k += 1
        while k < min(len(lines), start + _MOST_LINES) and _goes_on(text):
            if _PROMPT.match(lines[k]):
                break
            text += "\n" + re.sub(r"^> ?", "", lines[k])
            k += 1
        if not text.strip():
            return k
        pieces = statements(text)
        first = pieces[0] if pieces else None
        if first is None:
            return k
        self.session = self.hints.session_of(first.text)
        still = self.deeper and first.text not in ("exit", "logout")
        self.deeper = still or bool(_OPENS_SHELL.search(first.text))
        self.steps.append(
            AnswerStep(
                action=Command(text=first.text if len(pieces) == 1 else text.rstrip()),
                line=self.block.line + start,
                column=self.block.column + len(prompt),
                confidence=0.97,
                rule=Rule.TERMINAL_PROMPT,
                prose=self.prose,
                repairs=(Repair.PROMPT_STRIPPED,),
                expects_failure=bool(_FAILURE.search(pieces[-1].comment)),
                doubts=(*_doubts(text, complete=first.complete), *self._doubts(prompt)),
                placeholders=placeholders(text),
            )
        )
        return k

    def _doubts(self, prompt: str) -> tuple[str, ...]:
        root_or_remark = prompt.startswith("#") and self._has_user_prompt()
        return ("`#` may be a prompt of root or begin a remark",) if root_or_remark else ()

    def _other(self, line: str, k: int) -> None:
        if not self.steps:
            return
        typed = self.hints.session_line(line, self.session)
        if typed is not None and (self.session or self.typed or not line.startswith("> ")):
            self.typed.append(typed)
            return
        reply = self.hints.reply_on(line)
        if reply and not self.typed:
            self._reply(*reply, k)
            return
        self.output_line = self.output_line or self.block.line + k
        self.output.append(line)

    def _reply(self, prompt: str, reply: str, k: int) -> None:
        text = self.block.text.split("\n")[k]
        column = self.block.column + max(text.rfind(reply), 0)
        step = _typed_reply(prompt, reply, line=self.block.line + k, column=column)
        self.steps.append(replace(step, prose=self.prose))

    def _finish(self) -> None:
        """Attach what was typed into a program, and the output, to the last step."""
        if self.steps and self.typed:
            last = self.steps[-1]
            lines = tuple(line for line in self.typed if line.strip())
            program = last.action.text
            self.steps[-1] = replace(last, action=Session(program=program, lines=lines))
        output = "\n".join(self.output).strip("\n")
        if self.steps and output:
            self.steps[-1] = replace(self.steps[-1], output=output)
            self.skipped.append(
                Skipped(
                    text=output,
                    line=self.output_line,
                    column=self.block.column,
                    reason=SkipReason.OUTPUT,
                    because="below what was typed after a prompt",
                )
            )
        self.output, self.typed, self.output_line, self.session = [], [], 0, None


def _goes_on(text: str) -> bool:
    """Tell whether bash would ask for another line (PS2)."""
    if re.search(r"(?<!\\)(\\\\)*\\$", text):
        return True
    script = parse(text)
    if script.complete:
        return bool(re.search(r"(&&|\|\|?)\s*$", text))
    odd_quotes = _open_quote(text)
    open_heredoc = any(not h.closed for c in script.commands for h in c.heredocs)
    open_block = bool(re.search(r"\b(do|then|else|in)\s*$|[{(]\s*$", text))
    in_block = bool(re.match(r"\s*(for|while|until|if|case)\b", text)) and not re.search(
        r"\b(done|fi|esac)\b", text
    )
    return odd_quotes or open_heredoc or open_block or in_block


def _open_quote(text: str) -> bool:
    quote = ""
    escaped = False
    for c in text:
        if escaped:
            escaped = False
        elif c == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
    return bool(quote)


def session_from_payload(
    command: AnswerStep, block: Block, prose: str, hints: Hints
) -> AnswerStep | None:
    """Return the session of a program start and a block of what to type into it, or None.

    Where the program is open, a block that begins with no known command is for the program.
    """
    spec = hints.session_of(_opens(command.action))
    if spec is None or _is_left(command.action, spec):
        return None
    lines = tuple(line for line in block.text.split("\n") if line.strip())
    typed = [hints.session_line(line, spec) for line in lines]
    entered = tuple(t for t in typed if t is not None)
    if entered and not any(t.strip() for t in entered):
        return None
    for_shell = _has_prompts(block) or _starts_known(block.text, hints)
    shown = block.language in SHELL and (for_shell or is_shown(block, prose, hints))
    if shown and not entered:
        return None
    before = command.action.lines if isinstance(command.action, Session) else ()
    action = Session(program=_opens(command.action), lines=(*before, *(entered or lines)))
    return replace(command, action=action)


def goes_on(block: Block, prose: str, spec: SessionProgram, hints: Hints) -> AnswerStep | None:
    """Return what a block types into the program that was left open in another terminal, or None."""
    if not BACK.search(prose) or _has_prompts(block) or _starts_known(block.text, hints):
        return None
    lines = [line for line in block.text.split("\n") if line.strip()]
    return AnswerStep(
        action=Session(program="", lines=_entered(lines, spec, hints)),
        line=block.line,
        column=block.column,
        confidence=0.8,
        rule=Rule.OPEN_PROGRAM,
        prose=prose,
        placeholders=placeholders(block.text),
    )


def session_from_lead(block: Block, prose: str, hints: Hints) -> AnswerStep | None:
    """Return the session of a block that the text before it tells to type into a program, or None.

    Nothing has started the program: whoever is told to work in it starts it.
    """
    m = _IN_A_PROGRAM.search(last_sentence(prose))
    spec = hints.session_of(m["command"] or m["name"]) if m else None
    if m is None or spec is None or _has_prompts(block) or _starts_known(block.text, hints):
        return None
    lines = [line for line in block.text.split("\n") if line.strip()]
    return AnswerStep(
        action=Session(program=m["command"] or m["name"], lines=_entered(lines, spec, hints)),
        line=block.line,
        column=block.column,
        confidence=0.8,
        rule=Rule.NAMED_PROGRAM,
        prose=prose,
        placeholders=placeholders(block.text),
    )


def _opens(action: Action) -> str:
    """Return the command that may have opened a program, or nothing."""
    match action:
        case Command():
            return action.text
        case Session():
            return action.program
        case _:
            return ""


_LEAVES = re.compile(r"(?i)(?:exit|quit|bye)\W*")


def _is_left(action: Action, spec: SessionProgram) -> bool:
    """Tell whether the last line of a session is the program's command to quit."""
    last = action.lines[-1] if isinstance(action, Session) and action.lines else ""
    is_command = bool(spec.commands) and last.startswith(spec.commands)
    is_command = is_command or _LEAVES.fullmatch(last.strip()) is not None
    return is_command and any(re.fullmatch(p, last, re.IGNORECASE) for p in spec.quit)
