"""Can a command run in a sandbox without a network, an init system, a screen?"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import msgspec
import yaml

from procexec.model.step import Canonical
from procexec.shell.canonical import canonical
from procexec.shell.parse import SimpleCommand, parse

_URL = re.compile(
    r"^(?:https?|ftps?|ssh|git|rsync|sftp)://(?:[^@/]*@)?(?P<host>\[?[\w.:<>-]+?\]?)(?::\d+)?(?:/|$)"
)
_REMOTE_PATH = re.compile(r"^(?:[\w.<>{}-]+@)?(?P<host>[\w.<>{}-]{2,}):(?!//)\S*$")
_LOGIN = re.compile(r"^(?:[\w.<>{}-]+@)?(?P<host>[\w.<>{}-]+)$")
_LOOPBACK = re.compile(r"^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|sandbox)$")


@cache
def _talkers() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return what network.yaml says: by way of naming a host, the programs and sub-commands."""
    text = (files("procexec.execute") / "network.yaml").read_text()
    return msgspec.convert(yaml.safe_load(text), dict[str, dict[str, tuple[str, ...]]])


def needs_network(text: str) -> str:
    """Return the host outside the sandbox that a command talks to, or nothing."""
    return next((host for c in parse(text).commands for host in _hosts(c)), "")


def _hosts(command: SimpleCommand) -> Iterator[str]:
    form = canonical(command, {})
    if _talks(form, "urls"):
        yield from _outside(_URL, form.operands)
    if _talks(form, "paths"):
        yield from _outside(_REMOTE_PATH, form.operands)
    if _talks(form, "logins"):
        yield from _outside(_LOGIN, form.operands[:1])


def _talks(form: Canonical, way: str) -> bool:
    program, *commands = form.path or ("",)
    narrowed = _talkers()[way].get(program)
    return narrowed is not None and (not narrowed or bool(set(narrowed) & set(commands)))


def _outside(pattern: re.Pattern[str], words: Sequence[str]) -> Iterator[str]:
    for word in words:
        m = pattern.match(word)
        if m and not _LOOPBACK.match(m["host"]):
            yield m["host"]
