"""Sentences with code in them: commands, replies to prompts, keys for editors, directories."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from procexec.extract.blocks import Block, Span, codes
from procexec.extract.editor import SAVE, editor_keys
from procexec.extract.edits import edits_in, files_named
from procexec.extract.hints import Hints
from procexec.model.document import SessionProgram
from procexec.model.step import (
    AnswerStep,
    Command,
    Input,
    Manual,
    Repair,
    Rule,
    Skipped,
    SkipReason,
)
from procexec.shell.parse import parse, placeholders

_IMPERATIVE = re.compile(
    r"(?i)(?:\b(?:run|execute|use|type|enter|start|call|do|try|issue|invoke|launch|with|via|then|"
    r"first|next|finally|afterwards|by|check|verify|inspect|confirm|and|"
    r"esegui(?:re)?|usa|lancia|digita|scrivi|crea|verifica|controlla|con|poi|prima|quindi|infine|"
    r"führen? sie|führe|starte|nutze|verwende|prüfe|gib|mit|dann|danach|zuerst|anschließend|und|bitte|jetzt|heute|nun|ora|oggi)"
    r"|[:\u2014\u2013])[\s*_(,]*$"
)
_NEGATED = re.compile(
    r"(?i)\b(?:do ?n[o']t|never|avoid|instead of|rather than|without|not|no need to|no longer|"
    r"needn't|must not|should ?n[o']t|unlike|non|mai|evita|senza|invece di|anziché|"
    r"nicht|nie|niemals|vermeide|ohne|statt|anstatt|anstelle)\b[^.;:]*$"
)
_NEGATED_AFTER = re.compile(r"(?i)^\s*(?:\w+ )?(?:nicht|nie|niemals)\b[^.,;:]*\b(?:aus|ein)\b")
_HISTORY = re.compile(
    r"(?i)\b(?:previously|used to|formerly|in the past|in older versions)\b[^.;:]*$"
    r"|\b(?:older|old|earlier|before(?!\s+(?:you|we|i|they|it|the|that|this|\w+ing)\b))(?:\s+[\w.]+){0,3}\s*:\s*$"
    r"|\b(?:früher|ehemals|in älteren versionen|bis version|in precedenza|versioni precedenti|una volta|un tempo)\b"
    r"(?![^.;:]*\b(?:heute|jetzt|nun|oggi|ora|adesso)\b)[^.;:]*$"
)
_CONDITIONAL = re.compile(
    r"(?i)^\W*(?:if|in case|should you|unless|falls|se|nel caso|qualora"
    r"|(?:wenn|sollte)\b(?=[^,]*\b(?:fehl\w*|nicht|kein\w*)))\b"
)
_IF_WANTED = re.compile(
    r"(?i)you (?:like|want|prefer)|\b(?:du|sie) (?:magst|möchtest?n?|willst|wollen)\b|\bse (?:vuoi|preferisci)\b"
)
_OPTIONAL = re.compile(
    r"(?i)\boptional|\bif you like|\bif you want|\bfacoltativ|\bopzional|\bse (?:vuoi|preferisci)\b"
    r"|\bwenn (?:du|sie) (?:magst|möchten|möchtest|willst|wollen)\b"
)
_LATER = re.compile(
    r"(?i)\b(?:later|to (?:undo|revert|roll ?back|cancel|abort|give up|start over|back out)|"
    r"when you(?:'re| are) (?:done|finished|through)|once you no longer)\b"
)
_BACK_OUT = re.compile(
    r"(?i)\bwhen you(?:'re| are) (?:done|finished|through)\b"
    r"|\bto (?:get|go|come|return) (?:back )?to (?:your|the) (?:normal|old|previous|original|usual|own|first) shell\b"
    r"|\bto leave the (?:virtual ?)?(?:environment|env|venv)\b"
)
_LOOKED_AT_WITH = re.compile(
    r"(?i)\b(?:check|verify|look|confirm|inspect|see|make sure|list|show)\b[^.;:`]*\b(?:with|using|via|by running)\W*$"
)
_STATEMENT_AFTER = re.compile(
    r"(?i)^\s*(?:now |then |also |only |still |just )*(?:is|are|was|does|doesn't|shows?|means?|takes?|names?|"
    r"prints|lists|would|can|cannot|can't|wipes?|leaves|writes|makes|reads|creates|deletes|removes|"
    r"needs|refuses|opens)\b"
)
_NOW_TELLS = re.compile(
    r"(?i)^\s*(?:now|then) (?:prints|shows|lists|reports|gives|returns|works|passes)\b"
)
_STEP_HEADER = re.compile(r"(?i)(?:#|no\.?|nr\.?|steps?|schritte?|passo|passi)$")
_THEN_AFTER = re.compile(
    r"(?i)^\s*[,;]?\s*(?:and |und |e )?(?:then|followed by|afterwards|dann|danach|poi|quindi)\b(?! \w+s\b)"
)
_IS_SAID = re.compile(r"(?i)^\s*(?:is|are|was|would|means?|can|cannot|does not|doesn't)\b")
_SHOULD_AFTER = re.compile(r"(?i)^\s*(?:should|will|must)\b")
_DIRECTORY = re.compile(
    r"(?i)\b(?:(?:change|switch|cd)\s+(?:\w+\s+)?(?:into|to)|(?:go|step|move|navigate|jump)\s+(?:into|to|inside))\s+"
    r"(?:the |your )?(?:\w+ )?(?:folder |directory |repository |project |repo )?$"
    r"|\b(?:enter|open)\s+(?:the |your )?(?:\w+ )?(?:folder|directory) $"
)
_REPLY_VERB = re.compile(
    r"(?i)(?<!should )(?<!will )(?<!would )(?<!must )(?<!to )"
    r"\b(?:type|enter|answer(?:ing)?|reply|say|respond|press|choose|pick|hit|give|confirm|input|"
    r"leave|quit|exit|finish|close|digita|rispondi|premi|conferma|tippe|antworte|drücke|bestätige)\b"
)
_REPLY_LEAD = re.compile(
    r"(?i)(?:\b(?:type|enter|answer|reply|say|respond|press|choose|pick|hit|give|with|then|and|or|by|"
    r"quit with|use|input|digita|rispondi|premi|con|tippe|antworte|drücke|bestätige|mit|(?:the|this|your) (?:\w+ )?(?:pass ?phrase|password|pin|value|text)|again)"
    r"|[:\u2192])\s*[\"'(]?$"
)
_TIMES = re.compile(
    r"(?i)^\s*(?:\([^)]*\)\s*)?(?:twice|two times|both times|three times|at both prompts|"
    r"(?:when asked,? )?and (?:once more|again)\b)"
)
_PRESS_ENTER = re.compile(r"(?i)\b(?:press|hit)\s+(?:the\s+)?(?:enter|return)\b")
_DEFAULT = re.compile(r"(?i)\b(?:accept|default|skip|leave|empty|just press)\b")
_MANUAL_HEAD = re.compile(
    r"(?i)^\W*(?:[\w ]{1,20} [–—-] |[\w ]{1,20}: )?(?:then |next,? |now |finally,? )?(?:open|click|select|go to|navigate to|tap|log ?in|sign ?in|"
    r"scroll|drag|toggle|tick|untick|plug|unplug|scan|restart your|reboot|ask your|contact|"
    r"öffne|klicke?|wähle|gehe? (?:zu|auf|in)|melde|logge|apri|clicca|seleziona|vai (?:a|su|in|nel\w*)|accedi|riavvia)\b"
)
_BY_HAND = re.compile(
    r"(?i)^\W*(?:then |next,? |now |finally,? )?(?:write|define|register|implement|configure|adjust|edit|update)\b"
    r"(?=(?:\W+\w+){6,}).*\.\s*$"
)
_GUI = re.compile(
    r"(?i)\b(?:web ?(?:panel|console|site|interface|page|ui)|browser|dashboard|control panel|portal|"
    r"vs ?code|visual studio|pycharm|menu|button|dialog|settings page|tab|gui|"
    r"einstellungen|schaltfläche|menü|fenster|oberfläche|impostazioni|pulsante|pannello|finestra|scheda)\b|\b(?:ctrl|cmd|shift)\+"
)
_LOOKS = re.compile(
    r"(?i)^\W*(?:then |now |next,? |finally,? )?(?:open|visit|go to|browse to|navigate to)\b"
    r".*(?:https?://|\bbrowser\b)"
)
_LOOKS_INTO = re.compile(
    r"(?i)^\W*(?:(?:always|then|now|next,?|finally,?|afterwards,?|please|first,?|also|and) ){0,2}(?:have a look (?:at|into)|take a look (?:at|into)|look (?:at|into|through)|read(?: through)?|"
    r"review|inspect|examine|proofread)\s+(?:the |your )?[^.;:]*`[^`]*[./][^`]*`"
)
_ACTS = re.compile(
    r"(?i)\b(?:click|press|choose|select|pick|add|enter|create|change|log ?in|sign ?in|set|install|upload|tick|drag)\b"
)
_FILE = r"(?:[~./\w-]*[./][\w./-]*\w|[A-Z][\w.-]+)"
_EDITED_BY_HAND = re.compile(
    r"(?i)\b(?:edit|change|modify|fix|adjust|open|add|make|write)\b[^.]*"
    r"\b(?:in|with|using) (?:an?|your|the|any) (?:\w+ )?editor\b"
    rf"|^\W*(?:then |now |next,? )?(?:edit|open|modify)\s+(?:the file |the |your )?`?(?-i:{_FILE})`?[\s,].*"
    r"\b(?:add|append|insert|change|replace|set|remove|delete|uncomment|fix)\b"
    r"|^\W*(?:then |now |next,? )?(?:open|go to|visit|log ?in|sign ?in|in)\b.*\b(?:click|tap|tick|press|select|choose)\b"
    r"|^(?=.*`)\W*(?:\w+ )?(?:ändere|ersetze|füge|trage|ergänze|entferne|bearbeite|kommentiere|"
    r"cambia|modifica|sostituisci|aggiungi|rimuovi|inserisci|imposta)\b"
    r"|^(?=.*`).*\b(?:einfügen|eintragen|ändern|ersetzen|hinzufügen|ergänzen|entfernen|bearbeiten|"
    r"(?:e|poi) (?:aggiungi|inserisci|modifica|cambia|rimuovi))\b"
)
_NOT_NOW = re.compile(
    r"(?i)^\W*(?:if|in case|should you|unless|later|falls|wenn|se)\b"
    r"|\b(?:opens|instead of|do ?n[o']t|never|nicht|niemals|non|mai)\b"
)
_FULL_STOP = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])(?:\s+|$)")
_TICK_BOX = re.compile(r"^\[[ xX]\] ")
_FAR = 600  # characters before and after code that can say what it is for
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


_UNDOES = re.compile(
    r"(?i)\b(?:undo|revert|cancel|abort|remove|delete|roll ?back|go back)\b[^.]*"
    r"\b(?:again|later|afterwards)[\s*_:]*$"
    r"|^\W*(?:to )?(?:undo|revert|roll ?back|cancel|abort)[\s*_:]*$"
    r"|^\W*if (?:you|ever)\b[^.]*\b(?:undo|revert|cancel|abort|roll ?back|go back)\b"
    r"|\b(?:made a mistake|changed? your mind|(?:goes|went) wrong)\b"
    r"|^\W*(?:zum (?:rückgängig|zurück)\w*|um (?:das|dies|es|alles)\b[^.]*\b(?:rückgängig|zurück)\w*|"
    r"per (?:annullare|tornare indietro|ripristinare|disfare))\b"
)
_ABOUT_ITS_CODE = re.compile(r"`[^`]+`.*\.[\s*_]*$")
_FORBIDDEN = re.compile(
    r"(?i)\b(?:do ?n[o']t|never|must not|should ?n[o']t|avoid)\s+(?:ever |just |simply |try to )*"
    r"(?:run|use|execut|type|enter|call|copy|past|do)(?:e|ing|ning)?\b"
    r"|\b(?:führe?n?|gib|verwende|nutze|kopiere|nimm)\b[^.:]{0,40}\b(?:nicht|nie|niemals)\b"
    r"|\b(?:nicht|nie|niemals) (?:ausführen|eingeben|kopieren|verwenden|nutzen)\b"
    r"|\b(?:non|mai|evita di) (?:esegui|usa|lancia|digita|copia)\w*"
)
_IF_IT_FAILS = re.compile(
    r"(?i)^\W*(?:if|in case|should)\b[^,:]*\b(?:fails?|failed|wrong|error\w*|does ?n[o']t work|trouble)\b"
    r"|^\W*(?:falls|wenn|sollte)\b[^,:]*\b(?:fehl\w*|schief\w*|nicht (?:klappt|funktioniert|geht))\b"
    r"|^\W*(?:se|nel caso)\b[^,:]*\b(?:errore|non funziona|fallisce|va male)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What came before a block: the last step, and whether there are steps at all."""

    last: AnswerStep | None
    in_editor: bool
    edited: bool
    leads_to_code: bool
    session: SessionProgram | None = None
    file: str = ""
    before_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """A code span with the text around it in its sentence."""

    span: Span
    before: str
    after: str
    whole: str
    starts_item: bool


def from_prose(block: Block, context: Context, hints: Hints) -> Iterator[AnswerStep | Skipped]:
    """Yield the steps of a paragraph or list item, and the code in it that is no step."""
    if context.in_editor:
        typed = tuple(_typed_in_editor(block, context, hints))
        if typed:
            yield from typed
            return
    edits = tuple(_edits(block, context))
    sure = [edit for edit in edits if not isinstance(edit.action, Manual)]
    told = sorted([*sure, *_steps_of(block, context, hints)], key=lambda i: (i.line, i.column))
    yield from told
    if any(isinstance(item, AnswerStep) for item in told):
        return
    by_hand = () if context.leads_to_code else edits
    yield from by_hand or _without_code(block, context)


def _steps_of(block: Block, context: Context, hints: Hints) -> Iterator[AnswerStep | Skipped]:
    """Yield the steps of the code in a block's sentences, and the code that is no step."""
    last = context.last
    for sentence in _sentences(block):
        item = _step_of(sentence, block, last, context, hints)
        if isinstance(item, AnswerStep):
            last = item
            yield from _repeated(item, sentence)
        elif item is not None:
            yield item


def from_table(block: Block, context: Context, hints: Hints) -> Iterator[AnswerStep | Skipped]:
    """Yield the replies of a table of prompts, or the commands in the cells of another table."""
    if _is_reply_table(block) and context.last is not None:
        for k, row in enumerate(block.rows[1:], 2):
            reply = row[1].strip()
            typed = next(iter(codes(reply)), "" if _PRESS_ENTER.search(reply) else reply)
            yield AnswerStep(
                action=Input(keys=(typed + "\r",), prompt=row[0].replace("`", "").strip()),
                line=block.line + k,
                column=1,
                confidence=0.9,
                rule=Rule.REPLY_TABLE,
                prose=" | ".join(row),
            )
        return
    numbered = block.rows and _STEP_HEADER.match(block.rows[0][0].strip(" *"))
    for k, row in enumerate(block.rows[1:], 2):
        for cell in row:
            for code in map(str.strip, codes(cell)):
                if not _is_command(code, hints):
                    continue
                line = block.line + k
                if numbered:
                    yield AnswerStep(
                        action=Command(text=code),
                        line=line,
                        column=1,
                        confidence=0.8,
                        rule=Rule.STEP_TABLE,
                        prose=" | ".join(row),
                        placeholders=placeholders(code),
                    )
                else:
                    yield Skipped(text=code, line=line, column=1, reason=SkipReason.MENTION)


@dataclass(frozen=True, slots=True)
class Left:
    """Why something is left out, and the words that say so."""

    reason: SkipReason
    because: str = ""


def why_not_run(lead: str) -> Left | None:
    """Return why a block is not to be run, as the sentence that leads to it says, or None.

    A sentence that ends behind code of its own is about that code, not the block below it.
    """
    if _ABOUT_ITS_CODE.search(lead):
        return None
    if m := _FORBIDDEN.search(lead):
        return Left(SkipReason.NEGATED, m[0])
    if m := _HISTORY.search(lead.rstrip(" :")) or _HISTORY.search(lead):
        return Left(SkipReason.HISTORY, m[0])
    return Left(SkipReason.CONDITIONAL, m[0]) if (m := _IF_IT_FAILS.match(lead)) else None


def undoes(lead: str) -> Left | None:
    """Return why a block is for later: its sentence leads to what takes back the steps before it."""
    m = _UNDOES.search(lead)
    return Left(SkipReason.LATER, m[0]) if m else None


def _typed_in_editor(block: Block, context: Context, hints: Hints) -> Iterator[AnswerStep]:
    """Yield what the sentences of a block tell to type into the open editor."""
    if any(s.code and _is_command(s.text, hints) for s in block.spans):
        return
    edited = context.edited
    for spans in _split_sentences(block.spans):
        keys_of_sentence = editor_keys(spans)
        if not edited and set(keys_of_sentence) == {SAVE} and not any(s.code for s in spans):
            continue  # nothing says what to change before saving
        edited |= bool(keys_of_sentence)
        for keys in keys_of_sentence:
            place = next((s for s in spans if s.code), spans[0])
            yield AnswerStep(
                action=Input(keys=(keys,)),
                line=place.line,
                column=place.column,
                confidence=0.8,
                rule=Rule.EDITOR_KEYS,
                prose="".join(s.text for s in spans).strip(),
                repairs=(Repair.KEYS_FROM_PROSE,),
            )


def _split_sentences(spans: Sequence[Span]) -> Iterator[tuple[Span, ...]]:
    sentence: list[Span] = []
    for span in spans:
        pieces = [span.text] if span.code else re.split(_FULL_STOP, span.text)
        for k, piece in enumerate(pieces):
            if k and sentence:
                yield tuple(sentence)
                sentence = []
            if piece:
                sentence.append(replace(span, text=piece))
    if sentence:
        yield tuple(sentence)


def _is_reply_table(block: Block) -> bool:
    if not block.rows or len(block.rows[0]) != 2:
        return False
    left, right = (cell.lower() for cell in block.rows[0])
    asks = re.search(r"question|prompt|field|asks?|dialog", left)
    replies = re.search(r"type|answer|reply|enter|input|value|response", right)
    return bool(asks and replies)


def _sentences(block: Block) -> Iterator[_Sentence]:
    pieces = [f"`{s.text}`" if s.code else s.text for s in block.spans]
    text = "".join(pieces)
    breaks = [m.span() for m in _SENTENCE.finditer(text)]
    end = 0
    for span, piece in zip(block.spans, pieces, strict=True):
        start, end = end, end + len(piece)
        if not span.code:
            continue
        k = bisect_right(breaks, start, key=lambda pair: pair[1])
        before = text[max(breaks[k - 1][1] if k else 0, start - _FAR) : start]
        k = bisect_left(breaks, end, key=lambda pair: pair[0])
        after = text[end : min(breaks[k][0] if k < len(breaks) else len(text), end + _FAR)]
        yield _Sentence(
            span=span,
            before=before,
            after=after,
            whole=f"{before}{piece}{after}",
            starts_item=bool(block.item) and not _TICK_BOX.sub("", text[:start]).strip(" *_"),
        )


def _step_of(
    s: _Sentence, block: Block, last: AnswerStep | None, context: Context, hints: Hints
) -> AnswerStep | Skipped | None:
    if context.session is not None and _is_typed(s, block, hints):
        return _input(s, (s.span.text + "\r",), Rule.TYPED_INTO_PROGRAM)
    if _is_directory(s, hints):
        return _directory(s)
    if _is_command(s.span.text, hints):
        return _command_or_mention(s, block, last, context, hints)
    if (last is not None or context.before_code) and (keys := _reply(s)) is not None:
        return _input(s, keys, Rule.TOLD_REPLY)
    return None


def _is_typed(s: _Sentence, block: Block, hints: Hints) -> bool:
    """Tell whether code is a line for the program that is open: no command, and told to be typed."""
    first = s.span.text.split(" ", 1)[0]
    if hints.is_program(first) or _why_not(s, None) is not None:
        return False
    return _is_told(s, block) and bool(block.item)


def _command_or_mention(
    s: _Sentence, block: Block, last: AnswerStep | None, context: Context, hints: Hints
) -> AnswerStep | Skipped:
    left = _why_not(s, last)
    below = context.leads_to_code and hints.session_of(s.span.text) is None
    if left is None and below and not _LOOKED_AT_WITH.search(s.before):
        left = Left(SkipReason.MENTION, "the block below says it in full")
    if left is None and not (_is_told(s, block) or _is_opened(s, hints)):
        left = Left(SkipReason.MENTION, s.whole.strip())
    if left is not None:
        return Skipped(
            text=s.span.text,
            line=s.span.line,
            column=s.span.column,
            reason=left.reason,
            because=left.because.strip(),
        )
    bare = len(s.span.text.split()) == 1
    return AnswerStep(
        action=Command(text=s.span.text.strip()),
        line=s.span.line,
        column=s.span.column,
        confidence=0.7 if bare else 0.9,
        rule=Rule.TOLD_TO_RUN,
        prose=s.whole,
        optional=bool(_OPTIONAL.search(s.whole)),
        expects_failure=bool(
            re.search(r"(?i)\b(?:should|will) (?:fail|answer:? ?no such)", s.after)
        ),
        placeholders=placeholders(s.span.text),
    )


def _why_not(s: _Sentence, last: AnswerStep | None) -> Left | None:
    forbids = _FORBIDDEN.search(s.before) if s.before.rstrip(" *_").endswith(":") else None
    if m := forbids or _NEGATED.search(s.before) or _NEGATED_AFTER.match(s.after):
        return Left(SkipReason.NEGATED, m[0])
    if m := _HISTORY.search(s.before):
        return Left(SkipReason.HISTORY, m[0])
    if last is not None and (m := _LATER.search(s.before)):
        return Left(SkipReason.LATER, m[0])
    conditional = _CONDITIONAL.match(s.before)
    if last is not None and conditional and not _IF_WANTED.search(s.whole):
        return Left(SkipReason.CONDITIONAL, s.before)
    return None


def _is_told(s: _Sentence, block: Block) -> bool:
    if not s.before.strip(" *_(") and _THEN_AFTER.match(s.after):
        return True
    if s.starts_item and (block.ordered or not _IS_SAID.match(s.after)):
        return True
    if _NOW_TELLS.match(s.after) and not s.before.strip(" *_("):
        return True
    if _STATEMENT_AFTER.match(s.after):
        return False
    if s.starts_item:
        return True
    if block.item and re.search(r"(?i)\b(?:e\.g\.|i\.e\.|for example|such as)\W*$", s.before):
        return False
    if _IMPERATIVE.search(s.before) or (block.item and s.before.endswith("(")):
        return True
    only_code = not s.before.strip(" *_(") and not s.after.strip(" *_.)!")
    return only_code or (bool(_SHOULD_AFTER.match(s.after)) and bool(block.item))


def _is_opened(s: _Sentence, hints: Hints) -> bool:
    """Tell whether what follows is told to be typed into the program that the code starts."""
    within = re.search(
        r"(?i)\b(?:in|inside|within|into)\s+(?:(?:an?|one|the|a single|your)\s+)*$", s.before
    )
    leads = re.match(r"(?i)\s*(?:session|shell|prompt|console|client|terminal)?\s*:\s*$", s.after)
    return bool(within and leads) and hints.session_of(s.span.text) is not None


def _is_command(text: str, hints: Hints) -> bool:
    script = parse(text)
    if not script.commands or "\n" in text or text.strip().startswith("["):
        return False
    argv = script.commands[0].argv
    if not argv:
        return bool(script.commands[0].assignments) and bool(script.commands[1:])
    if len(argv) == 1 and not script.commands[0].redirects:
        return bool(hints.session_of(text)) or argv[0] in ("make", "cd") or argv[0].startswith("./")
    return hints.is_program(argv[0])


def _is_directory(s: _Sentence, hints: Hints) -> bool:
    """Tell whether it is a directory to change to, and no ``cd`` in the same sentence says so."""
    path_like = re.fullmatch(r"[~./\w<>-]+/?", s.span.text) is not None
    path_like = path_like and "`cd " not in s.whole
    return path_like and not _is_command(s.span.text, hints) and bool(_DIRECTORY.search(s.before))


def _directory(s: _Sentence) -> AnswerStep:
    return AnswerStep(
        action=Command(text=f"cd {s.span.text}"),
        line=s.span.line,
        column=s.span.column,
        confidence=0.8,
        rule=Rule.TOLD_TO_CHANGE_DIRECTORY,
        prose=s.whole,
        repairs=(Repair.DIRECTORY_FROM_PROSE,),
        placeholders=placeholders(s.span.text),
    )


def _reply(s: _Sentence) -> tuple[str, ...] | None:
    """Return the keys of a reply, or None if the code is not what is to be typed."""
    words = re.sub(r"`[^`]*`", "``", s.before)
    if not _REPLY_VERB.search(words) or _NEGATED.search(words):
        return None
    if not _REPLY_LEAD.search(s.before) or _BACK_OUT.search(s.whole):
        return None
    if _STATEMENT_AFTER.match(s.after) or _CONDITIONAL.match(s.before):
        return None
    return (s.span.text + "\r",)


def _repeated(step: AnswerStep, s: _Sentence) -> Iterator[AnswerStep]:
    yield step
    if isinstance(step.action, Input) and _TIMES.match(s.after):
        times = 2 if "three" in s.after else 1
        yield from [step] * times


def _input(s: _Sentence, keys: tuple[str, ...], rule: Rule) -> AnswerStep:
    return AnswerStep(
        action=Input(keys=keys, prompt=_quoted_prompt(s.before) or _prompt_in(s.before)),
        line=s.span.line,
        column=s.span.column,
        confidence=0.8,
        rule=rule,
        prose=s.whole,
        repairs=(Repair.KEYS_FROM_PROSE,),
    )


def _quoted_prompt(before: str) -> str:
    """Return the prompt that a sentence quotes: several words, or one that ends like a prompt."""
    quoted = re.findall(r"`([^`]{4,})`", before)
    return next((q for q in reversed(quoted) if " " in q or q.endswith((":", "?", ">"))), "")


def _prompt_in(before: str) -> str:
    asked = re.search(
        r"(?i)\b(?:asked for|asks for|prompted for|at the|for the)\s+(?:an? |the )?([^,`]+?)(?:,| question| prompt|$)",
        before,
    )
    return asked[1].strip() if asked else ""


def _edits(block: Block, context: Context) -> Iterator[AnswerStep]:
    """Yield the edits of files that the sentences tell; what only a person can carry out, too."""
    file = context.file
    for spans in _split_sentences(block.spans):
        text = "".join(f"`{s.text}`" if s.code else s.text for s in spans).strip()
        file = next(iter(reversed(files_named(text))), file)
        if text.endswith(":"):
            continue
        told = tuple(edits_in(text, file, spans[0].line, spans[0].column))
        yield from told
        if context.before_code and block.prose.rstrip().endswith(text.rstrip()):
            continue
        if not told and _EDITED_BY_HAND.search(text) and not _NOT_NOW.search(text):
            yield AnswerStep(
                action=Manual(text=text),
                line=spans[0].line,
                column=spans[0].column,
                confidence=0.7,
                rule=Rule.TOLD_TO_EDIT,
                prose=text,
            )


def _without_code(block: Block, context: Context) -> Iterator[AnswerStep]:
    text = block.prose
    plain = not re.search(r"`", text)
    if context.last is not None and _PRESS_ENTER.search(text) and _DEFAULT.search(text) and plain:
        yield AnswerStep(
            action=Input(keys=("\r",), prompt=_prompt_in(text)),
            line=block.line,
            column=block.column,
            confidence=0.6,
            rule=Rule.DEFAULT_REPLY,
            prose=text,
        )
        return
    for sentence, line, column in _placed_sentences(block):
        leads_on = sentence.rstrip(" *_").endswith(":")
        told = (plain and (block.ordered or "Then open" in sentence)) or _GUI.search(sentence)
        by_hand = _BY_HAND.match(sentence) and block.ordered and plain and not context.before_code
        looks = not leads_on and _only_looks(sentence)
        if by_hand or looks or (_MANUAL_HEAD.match(sentence) and told and not leads_on):
            yield AnswerStep(
                action=Manual(text=sentence.strip(), looks=looks),
                line=line,
                column=column,
                confidence=0.6,
                rule=Rule.BY_HAND,
                prose=sentence.strip(),
            )


def _only_looks(sentence: str) -> bool:
    """Tell whether a sentence tells a person to look at a page or a file, and to do no more."""
    looks = _LOOKS.match(sentence) or _LOOKS_INTO.match(sentence)
    return bool(looks) and not _ACTS.search(sentence) and not _NOT_NOW.search(sentence)


def _placed_sentences(block: Block) -> Iterator[tuple[str, int, int]]:
    """Yield the sentences of a block, each with its line and column."""
    text = block.prose
    starts = [0, *(m.end() for m in _SENTENCE.finditer(text))]
    ends = [*(m.start() for m in _SENTENCE.finditer(text)), len(text)]
    for start, end in zip(starts, ends, strict=True):
        yield text[start:end], *_place_of(block, start)


def _place_of(block: Block, offset: int) -> tuple[int, int]:
    """Return the line and column of a place in a block's prose."""
    for span in block.spans:
        width = len(span.text) + 2 * span.code
        if offset < width:
            return span.line, span.column + max(offset - span.code, 0)
        offset -= width
    return block.line, block.column
