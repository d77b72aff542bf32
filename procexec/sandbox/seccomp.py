"""The system calls that a sandbox may make: an allow list, kept as data beside this module."""

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from procexec.sandbox.locks import cache_folder

CALLS_OF: Mapping[str, tuple[str, ...]] = {
    "SYS_CHROOT": ("chroot",),
    "SYS_PTRACE": ("kcmp", "process_madvise", "process_vm_readv", "process_vm_writev"),
}
"""What a granted capability is worth nothing without."""


def profile(capabilities: Iterable[str] = ()) -> str:
    """Return the profile as one line of JSON, as an engine's ``seccomp=`` option takes it.

    Compared with the engine's own default it also refuses io_uring, AF_VSOCK, AF_ALG and foreign
    machine modes, and allows ptrace among a sandbox's own processes.
    """
    text = files("procexec.sandbox").joinpath("seccomp.json").read_text(encoding="utf-8")
    document = json.loads(text)
    if names := [call for name in capabilities for call in CALLS_OF.get(name, ())]:
        document["syscalls"].append({"names": names, "action": "SCMP_ACT_ALLOW"})
    return json.dumps(document, separators=(",", ":"))


def profile_file(text: str) -> Path:
    """Return a file with a profile, for an engine on this machine that takes no other."""
    path = cache_folder() / f"seccomp-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        fresh = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    return path
