"""The system calls of a sandbox."""

import json

import pytest

from procexec.sandbox.seccomp import profile


def _allowed(*capabilities: str) -> set[str]:
    rules = json.loads(profile(capabilities))["syscalls"]
    return {
        name
        for rule in rules
        if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
        for name in rule["names"]
    }


@pytest.mark.parametrize("name", ["execve", "openat", "read", "kill", "connect", "futex", "wait4"])
def test_what_every_program_needs_is_allowed(name: str) -> None:
    assert name in _allowed()


@pytest.mark.parametrize(
    "name",
    ["mount", "unshare", "setns", "bpf", "keyctl", "io_uring_setup", "userfaultfd", "clone3"],
)
def test_what_reaches_into_the_kernel_is_refused(name: str) -> None:
    assert name not in _allowed()


def test_anything_unknown_is_refused() -> None:
    assert json.loads(profile())["defaultAction"] == "SCMP_ACT_ERRNO"


def test_a_granted_capability_brings_its_calls_and_no_others() -> None:
    assert _allowed("SYS_CHROOT") - _allowed() == {"chroot"}
    assert "process_vm_readv" in _allowed("SYS_PTRACE") - _allowed()
    assert _allowed("NET_BIND_SERVICE") == _allowed()
