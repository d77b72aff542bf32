"""Looks at a sandbox from outside its session: files, views, checks."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from procexec.errors import PassingError, SandboxError, WreckedError
from procexec.model.document import Check, View
from procexec.model.state import CheckResult, ObservedState
from procexec.sandbox import SCRATCH, Sandbox

EACH = 20  # seconds for one look; who makes it hang has a look that finds nothing
MORE = 20  # seconds for all that is around them
LOOK_BYTES = 1 << 20  # of what one look prints
TOOLS = frozenset(
    ["/usr/bin/timeout", "/usr/bin/bash", "/bin/bash", "/usr/bin/head", "/etc/ld.so.preload"]
)

EXPORTED = (
    f"grep -E '^declare -[a-zA-Z]*x ' {SCRATCH}/state/shell"
    " | grep -vE '^declare -[a-zA-Z]*x (_|SHLVL|PWD|OLDPWD|LINES|COLUMNS)(=|$)'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What to look at, as whom, where."""

    user: str
    workdir: str
    views: tuple[View, ...] = ()
    checks: tuple[Check, ...] = ()


def observe(sandbox: Sandbox, look: Look) -> ObservedState:
    """Return the state of a sandbox.

    Files come first, then the views, then the checks: a check may change what it looks at.

    Raises:
        SandboxError: the engine failed.
        WreckedError: there is nothing to look with in the sandbox.
    """
    files = sandbox.changes()
    commands = [(f"view {v.name}", v.run, v.user or look.user) for v in look.views]
    commands.append(("exported", EXPORTED, look.user))
    commands += [(f"check {c.id}", _command(c), c.user or look.user) for c in look.checks]
    try:
        told = _run_all(sandbox, commands, look.workdir)
    except PassingError:
        raise
    except SandboxError as e:
        if TOOLS & files.files.keys():
            raise WreckedError(f"what looks are made with was changed: {e.message}") from e
        raise
    return ObservedState(
        files=files.files,
        before=files.before,
        views={v.name: _lines(told[f"view {v.name}"].output) for v in look.views},
        checks=tuple(_held(c, told[f"check {c.id}"]) for c in look.checks),
        cwd=sandbox.cwd,
        exported=_lines(told["exported"].output),
    )


@dataclass(frozen=True, slots=True)
class _Told:
    exit_code: int | None
    output: str


def _lines(output: str) -> tuple[str, ...]:
    return tuple(sorted(line for line in output.split("\n") if line.strip()))


def _command(check: Check) -> str:
    if check.run is not None:
        return check.run
    path = _quoted(check.file or "")
    return f"test -e {path} || exit 1; test ! -f {path} || head -c {LOOK_BYTES} {path} 2>/dev/null"


def _held(check: Check, told: _Told) -> CheckResult:
    if check.file is not None:
        return _file_held(check, told)
    wanted, found = [], []
    if check.exit is not None:
        wanted.append(f"exit code {check.exit}")
        found.append(f"exit code {told.exit_code}")
    if check.stdout is not None:
        wanted.append(repr(check.stdout.strip()))
        found.append(repr(told.output.strip()))
    name = f"{check.run}"
    return CheckResult(
        id=check.id,
        held=wanted == found,
        wanted=f"{name}: {', '.join(wanted)}",
        found=", ".join(found)[:2000],
    )


def _file_held(check: Check, told: _Told) -> CheckResult:
    exists = told.exit_code == 0
    held = exists == check.exists and (not check.contains or check.contains in told.output)
    wanted = f"{check.file} {'exists' if check.exists else 'does not exist'}"
    if check.contains:
        wanted += f" and contains {check.contains!r}"
    found = "it exists" if exists else "it does not exist"
    return CheckResult(id=check.id, held=held, wanted=wanted, found=found)


def _run_all(
    sandbox: Sandbox, commands: Sequence[tuple[str, str, str]], cwd: str
) -> dict[str, _Told]:
    """Run commands, each in a shell of its own; one script for all of a user's."""
    told: dict[str, _Told] = {}
    for user in dict.fromkeys(user for _, _, user in commands):
        mine = [(name, command) for name, command, who in commands if who == user]
        told |= _run_as(sandbox, mine, user, cwd)
    return told


def _run_as(
    sandbox: Sandbox, commands: Sequence[tuple[str, str]], user: str, cwd: str
) -> dict[str, _Told]:
    mark = secrets.token_hex(8)
    lines = [
        f"out=$(/usr/bin/timeout -k 1 {EACH} /bin/bash -c {_quoted(command)} 2>/dev/null </dev/null"
        f" | head -c {LOOK_BYTES}; exit ${{PIPESTATUS[0]}}); "
        f'printf \'%s\\037%s\\036{mark}\' "$?" "$out"'
        for _, command in commands
    ]
    timeout = EACH * len(commands) + MORE
    done = sandbox.execute("\n".join(lines), user=user, cwd=cwd, timeout=timeout)
    records = done.output.split(f"\x1e{mark}")[:-1]
    if done.exit_code is None:
        raise SandboxError(f"looking at the sandbox takes longer than {timeout} s")
    if len(records) != len(commands):
        raise WreckedError(
            f"{len(commands)} looks gave {len(records)} replies: {done.output[-300:]!r}",
            hint="the sandbox may have lost its shell or its timeout program",
        )
    found = {}
    for (name, _), record in zip(commands, records, strict=True):
        status, _, output = record.partition("\x1f")
        found[name] = _Told(int(status) if status.isdigit() else None, output)
    return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
