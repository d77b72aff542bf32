"""A person's terminal on a sandbox's shell, over the engine's socket."""

import os
import select
import shutil
import signal
import sys
import termios
import tty
from contextlib import suppress
from typing import Any

from docker.errors import DockerException

from procexec.errors import UserError
from procexec.sandbox.docker import DockerSandbox


def need_terminal() -> None:
    """Raise UserError if standard input is no terminal."""
    if not sys.stdin.isatty():
        raise UserError("standard input is no terminal", hint="run it in a terminal")


def interact(sandbox: DockerSandbox) -> int:
    """Let the person at standard input work in a login-like shell; return its exit status.

    The engine makes the shell's own terminal: procexec's is only read from and written to.

    Raises:
        UserError: standard input is no terminal.
    """
    need_terminal()
    stream, identity = _opened(sandbox)
    resize = _resizer(sandbox, identity)
    resize()
    before = signal.signal(signal.SIGWINCH, lambda *_: resize())
    settings = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        _relay(stream)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)
        signal.signal(signal.SIGWINCH, before)
        stream.close()
    state = sandbox.client.api.exec_inspect(identity)
    return int(state.get("ExitCode") or 0)


def _opened(sandbox: DockerSandbox) -> tuple[Any, str]:
    """Start a shell on a terminal of the container's own; return its socket and the exec's id."""
    environment = sandbox.environment()
    folder = environment.pop("PROCEXEC_WORKDIR", "/")
    command = 'cd -- "$0" 2>/dev/null; exec /bin/bash -i'
    created = sandbox.client.api.exec_create(
        str(sandbox.container.id),
        ["/bin/bash", "-c", command, folder],
        stdin=True,
        tty=True,
        user=sandbox.request.user,
        workdir="/",
        environment=environment,
    )
    stream = sandbox.client.api.exec_start(created["Id"], tty=True, socket=True)
    raw: Any = getattr(stream, "_sock", stream)
    raw.settimeout(None)
    return raw, str(created["Id"])


def _resizer(sandbox: DockerSandbox, identity: str) -> Any:
    def resize() -> None:
        size = shutil.get_terminal_size()
        with suppress(DockerException):
            sandbox.client.api.exec_resize(identity, height=size.lines, width=size.columns)

    return resize


def _relay(stream: Any) -> None:
    """Copy both ways until the shell's side ends."""
    typed, shown = sys.stdin.fileno(), sys.stdout.fileno()
    while True:
        ready, _, _ = select.select([typed, stream], [], [])
        if stream in ready:
            data = stream.recv(65536)
            if not data:
                return
            os.write(shown, data)
        if typed in ready:
            stream.sendall(os.read(typed, 4096))
