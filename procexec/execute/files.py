"""Files that steps write and edit: as shell text, so that they are their author's own."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from procexec.execute.edit import UnclearEdit, edited
from procexec.model.step import FileEdit, FileWrite, Place, WriteMode
from procexec.sandbox import Sandbox

TIMEOUT = 20.0
LONGEST = 1 << 20
_MAKES_A_FILE = frozenset([Place.MERGE, Place.TOP, Place.END])
_NOWHERE, _SEVERAL = 3, 4

# Finds a file as a reader does: by its path, else the only one of that name below the folder.
_LOOK = r"""
at=PATH
if [ ! -e "$at" ]; then
  n=0
  while IFS= read -r one; do n=$((n + 1)); at=$one; done <<EOF
$(find . -maxdepth 5 -path "*/$at" -type f -not -path '*/.*' -not -path '*/site-packages/*' -not -path '*/node_modules/*')
EOF
  [ -n "$at" ] && [ "$n" = 1 ] || at=PATH
  [ "$n" -le 1 ] || exit 4
  [ -f "$at" ] || exit 3
fi
printf '%s\n' "$at"
cat -- "$at"
"""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is to be edited: where it is, and what it says; None: there is none yet."""

    path: str
    text: str | None


def look_at(edit: FileEdit, sandbox: Sandbox, user: str) -> FoundFile:
    """Return the file that an edit means, as it is now.

    Raises:
        UnclearEdit: several files have that name, or it cannot be read as text.
        SandboxError: the engine failed.
    """
    script = _LOOK.replace("PATH", quoted_path(edit.path))
    done = sandbox.execute(script, user=user, cwd=sandbox.cwd, timeout=TIMEOUT)
    if done.exit_code == _SEVERAL:
        raise UnclearEdit(f"several files are called `{edit.path}`")
    if done.exit_code == _NOWHERE:
        return FoundFile(path=edit.path, text=None)
    path, _, text = done.output.partition("\n")
    if done.exit_code != 0 or "\ufffd" in text or len(text) > LONGEST:
        raise UnclearEdit(f"`{edit.path}` cannot be read as a text of less than 1 MiB")
    return FoundFile(path=path, text=text)


def edit_text(edit: FileEdit, found: FoundFile) -> str:
    """Return shell text that carries out an edit.

    Raises:
        UnclearEdit: the place in the file cannot be told.
    """
    if found.text is None and edit.place not in _MAKES_A_FILE:
        raise UnclearEdit(f"there is no file `{edit.path}`")
    text = edit.content if found.text is None else edited(found.text, edit)
    return file_text(FileWrite(path=found.path, content=text))


def file_text(action: FileWrite, word: Callable[[], str] = lambda: secrets.token_hex(8)) -> str:
    """Return shell text that writes a file as its author's user, in the author's folder."""
    mark = f"END_{word()}"
    operator = ">>" if action.mode is WriteMode.APPEND else ">"
    path = quoted_path(action.path)
    content = action.content if action.content.endswith("\n") else action.content + "\n"
    return f"cat {operator} {path} <<'{mark}'\n{content}{mark}"


def quoted_path(path: str) -> str:
    """Return a path as a shell word in which only a leading ``~`` is expanded."""
    tilde, rest = re.match(r"(~[\w-]*/)?(.*)", path, re.DOTALL).groups()  # type: ignore[union-attr]
    return (tilde or "") + "'" + rest.replace("'", "'\\''") + "'"
