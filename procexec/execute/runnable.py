"""Can a command run in a sandbox without a network, an init system, a screen?"""

import re
from collections.abc import Iterator, Sequence

from procexec.shell.canonical import canonical
from procexec.shell.parse import SimpleCommand, parse

_URL = re.compile(
    r"^(?:https?|ftps?|ssh|git|rsync|sftp)://(?:[^@/]*@)?(?P<host>\[?[\w.:<>-]+?\]?)(?::\d+)?(?:/|$)"
)
_REMOTE_PATH = re.compile(r"^(?:[\w.<>{}-]+@)?(?P<host>[\w.<>{}-]{2,}):(?!//)\S*$")
_LOGIN = re.compile(r"^(?:[\w.<>{}-]+@)?(?P<host>[\w.<>{}-]+)$")
_LOOPBACK = re.compile(r"^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|sandbox)$")
_ALL = frozenset[str]()
_TALKERS = {
    **dict.fromkeys(["curl", "wget", "http", "rsync", "scp", "sftp"], _ALL),
    "git": frozenset(["clone", "fetch", "pull", "push", "ls-remote", "submodule"]),
    "pip": frozenset(["install", "download", "wheel"]),
    "npm": frozenset(["install", "i", "ci", "add"]),
    "docker": frozenset(["pull", "push", "build", "run"]),
}
_CLONES = frozenset(["clone", "ls-remote", "submodule"])  # others take references with colons
_COPIERS = frozenset(["scp", "rsync", "sftp"])
_NETWORK_WORDS = re.compile(
    r"(?i)could not resolve (?:host|hostname)|temporary failure (?:in name resolution|resolving)|"
    r"name or service not known|network is unreachable|no route to host"
)
_INIT_WORDS = re.compile(
    r"(?i)system has not been booted with systemd|failed to connect to bus|"
    r"systemctl: command not found|cannot open display|no display"
)


def needs_network(text: str) -> str:
    """Return the host outside the sandbox that a command talks to, or nothing."""
    return next((host for c in parse(text).commands for host in _hosts(c)), "")


def _hosts(command: SimpleCommand) -> Iterator[str]:
    form = canonical(command, {})
    program, *commands = form.path or ("",)
    talks = _TALKERS.get(program)
    if talks is not None and (not talks or talks.intersection(commands)):
        yield from _outside(_URL, form.operands)
        if program in _COPIERS or (program == "git" and _CLONES.intersection(commands)):
            yield from _outside(_REMOTE_PATH, form.operands)
    if program == "ssh":
        yield from _outside(_LOGIN, form.operands[:1])


def _outside(pattern: re.Pattern[str], words: Sequence[str]) -> Iterator[str]:
    for word in words:
        m = pattern.match(word)
        if m and not _LOOPBACK.match(m["host"]):
            yield m["host"]


def blocked_by_sandbox(output: str) -> str:
    """Return what a failed step says about the sandbox rather than about itself, or nothing."""
    for pattern in (_NETWORK_WORDS, _INIT_WORDS):
        if m := pattern.search(output):
            return m[0]
    return ""
