"""``procexec sandbox shell``: a person's terminal in a fresh sandbox."""

import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.docker


def test_a_shell_starts_from_the_fixture_and_gives_its_exit_status() -> None:
    command = ["-m", "procexec", "sandbox", "shell", "git", "2.47", "--procedure", "git/add-patch"]
    child = pexpect.spawn(sys.executable, command, cwd=str(ROOT), timeout=60, encoding="utf-8")
    child.expect("dev@sandbox")

    child.sendline("git -C cart status --short; whoami; exit 5")
    child.expect("app.py")
    child.expect("dev")
    child.expect(pexpect.EOF)
    child.close()

    assert child.exitstatus == 5


def test_without_a_terminal_it_says_so() -> None:
    command = [sys.executable, "-m", "procexec", "sandbox", "shell", "git", "2.47"]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "standard input is no terminal" in done.stderr
