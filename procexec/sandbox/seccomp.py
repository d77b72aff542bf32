"""The system calls that a sandbox may make: an allow list, kept as data beside this module."""

import json
from importlib.resources import files


def profile() -> str:
    """Return the profile as one line of JSON, as an engine's ``seccomp=`` option takes it.

    Compared with the engine's own default it also refuses io_uring, AF_VSOCK, AF_ALG and foreign
    machine modes, and allows ptrace among a sandbox's own processes.
    """
    text = files("procexec.sandbox").joinpath("seccomp.json").read_text(encoding="utf-8")
    return json.dumps(json.loads(text), separators=(",", ":"))
