"""Files that prose and a code block tell to write."""

import re

from procexec.extract.blocks import Block
from procexec.model.step import AnswerStep, FileWrite, WriteMode

_PATH = r"`(?P<path>[~./\w-][\w./~<>{}-]*[\w>}])`"
_CREATE = re.compile(
    rf"(?is)\b(?:create|make|add|append|insert|paste|write|save|put|place|store)\b[^.]*?\b(?:file|as|in|into|to|called|named)\b[^.`]*{_PATH}[^`]*$"
    rf"|\b(?:create|write|save)\s+(?:the |a |your )?{_PATH.replace('path', 'path2')}[^`]*$"
)
_APPEND = re.compile(r"(?i)\b(?:append|to the end|at the end|at the bottom|as the last line)\b")
_TITLE = re.compile(r"(?:title|filename|file)=[\"']?([^\s\"'}]+)")
_SHELL_START = re.compile(r"^(?:#!|\$ )")


def file_step(block: Block, lead: str) -> AnswerStep | None:
    """Return the file that a block is to become, or None."""
    named = _TITLE.search(block.info)
    m = _CREATE.search(lead)
    path = named[1] if named else (m["path"] or m["path2"] if m else "")
    is_script = block.language in ("bash", "sh", "shell", "console") and not path.endswith(".sh")
    if not path or is_script or _looks_like_program(path):
        return None
    append = bool(_APPEND.search(lead))
    return AnswerStep(
        action=FileWrite(
            path=path,
            content=block.text + "\n",
            mode=WriteMode.APPEND if append else WriteMode.CREATE,
        ),
        line=block.line,
        column=block.column,
        confidence=0.8,
        reason="a code block that the text before it calls the content of a file",
        prose=lead,
    )


def _looks_like_program(path: str) -> bool:
    return "." not in path and "/" not in path and not re.match(r"[A-Z]", path)
