"""Commands that write a text to a file, as the file that they write."""

import re
from collections.abc import Sequence

from procexec.model.step import Canonical, FileWrite, WriteMode
from procexec.shell.parse import SimpleCommand

WRITE = "write"
"""The program of all that only writes a text to a file."""
_EXPANDED = re.compile(
    r"\\(?P<literal>[$`\\])|\$\{[^}]*\}|\$\w+|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\\\n"
)
_MODES = {">": WriteMode.CREATE, ">|": WriteMode.CREATE, ">>": WriteMode.APPEND}


def file_written(stages: Sequence[SimpleCommand], forms: Sequence[Canonical]) -> FileWrite | None:
    """Return what a pipeline does to a file, if it does nothing but write a text to it.

    What the shell puts in place of variables and commands is not known, it counts as nothing.
    """
    said = _literal(stages[0], forms[0])
    if said is None or len(stages) > 2:
        return None
    writes = [(op, path) for op, path in stages[0].redirects if op in _MODES]
    if len(stages) == 1 and forms[0].path != ("tee",):
        return _file(writes[0][1], _MODES[writes[0][0]], said) if len(writes) == 1 else None
    tee = forms[-1]
    if tee.path != ("tee",) or len(tee.operands) != 1 or tee.writes or (writes and len(stages) > 1):
        return None
    names = {name for name, _ in tee.options}
    if not names <= {"--append"}:
        return None
    return _file(tee.operands[0], WriteMode.APPEND if names else WriteMode.CREATE, said)


def _file(path: str, mode: WriteMode, content: str) -> FileWrite | None:
    return None if re.search(r"[$`*?]", path) else FileWrite(path=path, content=content, mode=mode)


def _literal(command: SimpleCommand, form: Canonical) -> str | None:
    """Return the text that a command prints or hands on, if the shell leaves it as it is."""
    if form.path == ("cat",) and not form.operands and not form.options:
        return _handed_in(command, form)
    if form.path == ("tee",):
        return _handed_in(command, form)
    return said_by(form)


def _handed_in(command: SimpleCommand, form: Canonical) -> str | None:
    if not form.stdin or form.reads:
        return None
    expanded = any(not h.quoted for h in command.heredocs)
    return _EXPANDED.sub(lambda m: m["literal"] or "", form.stdin) if expanded else form.stdin


def said_by(form: Canonical) -> str | None:
    """Return what a command prints that only prints its operands, or None."""
    text = " ".join(form.operands)
    if form.options or not text or re.search(r"[$`%]", text):
        return None
    if form.path == ("echo",):
        return text + "\n"
    if form.path == ("printf",) and len(form.operands) == 1:
        return text.replace("\\n", "\n")
    return None
