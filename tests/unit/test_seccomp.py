"""The system calls of a sandbox."""

import json

import pytest

from procexec.sandbox.seccomp import profile


def _allowed() -> set[str]:
    rules = json.loads(profile())["syscalls"]
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
