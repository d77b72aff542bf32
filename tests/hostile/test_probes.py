"""What must be refused inside a sandbox, tried as root there; and that nothing leaks in."""

import errno
import hashlib
import json
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import DockerClient

from procexec.model.run import CommandResult, Ending
from procexec.sandbox import Dialog, Sandbox, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.grants import DEFAULT, names_of
from tests.hostile.catalogue import FOLDER

pytestmark = pytest.mark.docker

# By case: what is tried, and the errors that count as refused.
REFUSED = {
    "X01": {"EPERM", "EACCES", "EINVAL"},
    "X02": {"EPERM", "EACCES", "ENOSYS"},
    "X04": {"EROFS", "ENOENT", "EACCES", "EPERM"},
    "X05": {"EPERM", "EACCES", "EAFNOSUPPORT"},
    "X06": {"EPERM"},  # the profile answers before the kernel looks whether it has such a thing
    "X10": {"EPERM", "EACCES", "ENOENT"},
    "X12": {"EPERM", "ENOSYS"},
    "X13": {"EPERM", "EACCES", "ENOSYS"},
    "X14": {"EPERM", "EACCES"},
}
COUNTS = {"X01": 4, "X02": 7, "X04": 7, "X05": 3, "X06": 3, "X10": 3, "X12": 3, "X13": 10, "X14": 2}


@pytest.fixture(scope="module")
def inside(provider: DockerProvider, git_request: SandboxRequest) -> Iterator[DockerSandbox]:
    """A container of which root looks for a way out."""
    with provider.start(SandboxRequest(image=git_request.image)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def probed(inside: DockerSandbox) -> dict[str, str]:
    script = f"perl - <<'END_OF_PROBE'\n{(FOLDER / 'probe.pl').read_text()}\nEND_OF_PROBE\n"
    told = inside.execute(script, user="root", cwd="/", timeout=30).output
    rows = (line.rpartition(" ") for line in told.strip().split("\n"))
    return {name: errno.errorcode.get(int(number), "allowed") for name, _, number in rows}


@pytest.mark.parametrize("case", REFUSED)
def test_root_of_a_sandbox_is_refused(probed: dict[str, str], case: str) -> None:
    found = {name: result for name, result in probed.items() if name.startswith(case)}

    assert len(found) == COUNTS[case]
    assert {name: result for name, result in found.items() if result not in REFUSED[case]} == {}


def _run(sandbox: Sandbox, text: str, timeout: float = 20) -> CommandResult:
    return sandbox.run(text, timeout=timeout, dialog=Dialog())


def test_x03_tracing_the_session_changes_no_result(inside: DockerSandbox) -> None:
    trace = "perl -e 'print syscall(101, 0x4206, $_, 0, 0) for getppid, 1; exit 3'"

    assert _run(inside, trace).exit_code == 3
    assert _run(inside, "(exit 4)").exit_code == 4


def test_x07_x23_no_address_can_be_reached(inside: DockerSandbox, client: DockerClient) -> None:
    addresses = {"169.254.169.254", "172.17.0.1", "10.0.0.1", *_own_addresses()}
    for address in sorted(addresses):
        began = time.monotonic()
        result = _run(inside, f"echo > /dev/tcp/{address}/80")

        assert result.exit_code == 1
        assert "Network is unreachable" in result.output
        assert time.monotonic() - began < 1
    assert _run(inside, "ls /sys/class/net").output == "lo"
    inside.container.reload()
    assert inside.container.attrs["HostConfig"]["NetworkMode"] == "none"


def _own_addresses() -> set[str]:
    """Return this machine's address, as a route to elsewhere would show it; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return set()
        return {str(probe.getsockname()[0])}


def test_x08_no_name_is_found_and_the_hosts_resolver_is_not_told(inside: DockerSandbox) -> None:
    began = time.monotonic()
    result = _run(inside, "getent hosts example.com")

    assert result.exit_code == 2
    assert time.monotonic() - began < 5
    resolver = _run(inside, "grep ^nameserver /etc/resolv.conf").output
    assert resolver == "nameserver 127.0.0.1"
    assert (
        socket.gethostname()
        not in _run(inside, "cat /etc/hosts /etc/hostname /etc/resolv.conf").output
    )


def test_x09_no_engine_can_be_talked_to(inside: DockerSandbox) -> None:
    found = _run(
        inside, "find / -xdev \\( -name '*docker*.sock' -o -name 'podman*.sock' \\) 2>/dev/null"
    )

    assert found.output == ""
    inside.container.reload()
    assert inside.container.attrs["Mounts"] == []


def test_x11_a_setuid_program_gives_no_other_user(
    provider: DockerProvider, git_request: SandboxRequest
) -> None:
    with provider.start(git_request) as sandbox:
        made = sandbox.execute(
            "cp /usr/bin/id /tmp/id; chmod 6755 /tmp/id; ls -l /tmp/id",
            user="root",
            cwd="/",
            timeout=10,
        )
        result = _run(sandbox, "/tmp/id -u; /tmp/id -ru")

    assert made.output.startswith("-rwsr-sr-x 1 root root")
    assert result.output == "1000\n1000"


@pytest.mark.parametrize("process", ["self", "1"])
def test_x15_the_kernel_tells_exactly_what_was_asked_for(
    inside: DockerSandbox, process: str
) -> None:
    told = inside.execute(f"cat /proc/{process}/status", user="root", cwd="/", timeout=10).output
    status = dict(line.split(":\t", 1) for line in told.split("\n") if ":\t" in line)

    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert names_of(int(status[name], 16)) == DEFAULT
    assert int(status["CapAmb"], 16) == 0
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")


def test_x15_the_engine_has_the_profile_that_was_sent(inside: DockerSandbox) -> None:
    inside.container.reload()
    options = inside.container.attrs["HostConfig"]["SecurityOpt"]

    profile = next(o.removeprefix("seccomp=") for o in options if o.startswith("seccomp="))
    assert json.loads(profile)["defaultAction"] == "SCMP_ACT_ERRNO"


def test_x18_processes_start_in_the_root_whatever_the_working_folder_is(
    provider: DockerProvider, git_request: SandboxRequest
) -> None:
    with provider.start(git_request) as sandbox:
        sandbox.execute(
            "rm -rf /home/dev; ln -s /proc/self/fd/7 /home/dev", user="root", cwd="/", timeout=10
        )
        first = _run(sandbox, "pwd -P; ls -d /..")
        looked = sandbox.execute(
            "readlink /proc/$PPID/cwd; pwd -P", user="dev", cwd="/home/dev", timeout=10
        )
        assert isinstance(sandbox, DockerSandbox)
        started = sandbox.client.api.exec_inspect(sandbox.exec_id)

    assert first.output.split("\n")[0] == "/"
    assert looked.output.strip().split("\n")[-1] == "/"
    assert started["ContainerID"] == sandbox.container.id


def test_x19_running_the_engines_own_program_does_not_change_it(root: DockerSandbox) -> None:
    programs = [path for name in ("runc", "crun", "docker-init") if (path := shutil.which(name))]
    before = {path: _digest(path) for path in programs}
    evil = "ln -sf /proc/self/exe /bin/evil; cp /bin/evil /tmp/copy; : > /proc/self/exe"

    _run(root, evil)
    created = root.client.api.exec_create(
        root.container.id, ["/bin/evil", "--version"], workdir="/"
    )
    root.client.api.exec_start(created["Id"])

    assert before
    assert {path: _digest(path) for path in programs} == before
    assert _run(root, "echo next").output == "next"


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_x20_pushed_keys_are_at_worst_the_answers_own_next_line(root: DockerSandbox) -> None:
    push = "perl -e 'ioctl(STDIN, 0x5412, $_) for split //, qq(echo pushed; exit 9\\n)'"

    first = _run(root, push)
    second = _run(root, "(exit 7)")
    third = _run(root, "(exit 8)")

    assert first.ending in (Ending.EXITED, Ending.SHELL_ENDED)
    assert (second.exit_code, third.exit_code) == (7, 8)


LEAVE = """
echo secret-of-the-first > /tmp/left; echo secret-of-the-first > /dev/shm/left
perl -e 'use IO::Socket; my $l = IO::Socket::INET->new(LocalAddr => "0.0.0.0", LocalPort => 7777, Listen => 1); sleep 60' &
flock -n /tmp/lock sleep 60 &
perl -e 'print shmget(7777, 4096, 0666 | 512) // "none", "\\n"'
"""


def test_x21_x22_two_sandboxes_know_nothing_of_each_other(
    provider: DockerProvider, git_request: SandboxRequest
) -> None:
    with provider.start(git_request) as first, provider.start(git_request) as second:
        assert isinstance(first, DockerSandbox)
        left = _run(first, LEAVE)
        until = "until (: < /dev/tcp/127.0.0.1/7777) 2>/dev/null; do sleep 0.05; done; echo listens"
        here = _run(first, until)
        looks = (
            "ls /tmp/left", "ls /dev/shm/left", ": < /dev/tcp/127.0.0.1/7777",
            ": < /dev/tcp/172.17.0.2/7777",
            "perl -e 'exit !defined shmget(7777, 4096, 0)'",
            "pgrep sleep || ps | grep sleep",
        )  # fmt: skip
        seen = {look: _run(second, look) for look in looks}
        lock = _run(second, "flock -n /tmp/lock true")

    assert "none" not in left.output
    assert here.output == "listens"
    assert {look: r.output for look, r in seen.items() if r.exit_code == 0} == {}
    assert lock.exit_code == 0
