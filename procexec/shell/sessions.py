"""Programs that read statements: which command opens one, and what it hands over by itself."""

import re
from collections.abc import Iterator, Sequence

from procexec.model.document import SessionProgram
from procexec.model.step import Canonical

STATEMENT = "statement"
"""The sub-command of all that is typed into a program."""


def program_of(form: Canonical, sessions: Sequence[SessionProgram]) -> SessionProgram | None:
    """Return the session program that a command runs, in whatever way."""
    return next((s for s in sessions if (s.program,) == form.path), None)


def opened(form: Canonical, sessions: Sequence[SessionProgram]) -> SessionProgram | None:
    """Return the session program that a command starts without giving it statements."""
    spec = program_of(form, sessions)
    if spec is None or form.stdin or form.reads or len(form.operands) > spec.operands:
        return None
    return None if any(name in spec.batch for name in names(form)) else spec


def target_of(form: Canonical, spec: SessionProgram) -> tuple[str, ...]:
    """Return what the statements of a command line are about, or nothing."""
    named = [v for name, values in form.options if name in spec.target for v in values]
    return tuple(named[:1]) or (form.operands[:1] if spec.operands else ())


def handed_over(form: Canonical, spec: SessionProgram) -> list[str]:
    """Return the statements of a command line."""
    rest = list(form.operands[spec.operands :])
    given = [v for name, values in form.options if name in spec.statements for v in values]
    typed = [form.stdin] if form.stdin else []
    if spec.scripts:  # what comes in is for the script, if there is one
        return [*given, *typed] if rest in ([], ["-"]) else given
    if spec.words and rest:
        rest = [" ".join(rest)]
    return [*given, *rest, *typed]


def names(form: Canonical) -> Iterator[str]:
    """Yield the names of a command's options."""
    return (name for name, _ in form.options)


def statements(text: str, spec: SessionProgram) -> Iterator[str]:
    """Yield the statements of what is typed into a program."""
    pending = ""
    for line in text.split("\n"):
        line = _without_comment(line, spec.comment)
        if spec.commands and not pending.strip() and line.lstrip().startswith(spec.commands):
            yield line.strip()
            continue
        *ended, pending = _split_outside_quotes(pending + line + "\n", spec.separator)
        yield from (s.strip() for s in ended if s.strip())
        if pending.strip() and any(re.search(rf"(?:{p})\s*$", pending) for p in spec.ends):
            yield pending.strip()
            pending = ""
    if pending.strip():
        yield pending.strip()


def _without_comment(line: str, mark: str) -> str:
    return _split_outside_quotes(line, mark)[0] if mark else line


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    if not separator:
        return [*text.split("\n")]
    parts, quote, start, k = [], "", 0, 0
    while k < len(text):
        c = text[k]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif text.startswith(separator, k):
            parts.append(text[start:k])
            start = k = k + len(separator)
            continue
        k += 1
    return [*parts, text[start:]]


def normal(statement: str) -> str:
    """Return a statement without what its spelling may vary: white space, and case outside quotes."""
    pieces = re.split(r"('[^']*'|\"[^\"]*\")", statement)
    folded = [p if k % 2 else re.sub(r"\s+", " ", p).lower() for k, p in enumerate(pieces)]
    return re.sub(r"\s*([(),=])\s*", r"\1", "".join(folded)).strip(" ;")
