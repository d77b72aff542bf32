"""What a user may do in a container, and that nothing of a run stays behind; tests/hostile tries the rest."""

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from docker import DockerClient
from docker.models.containers import Container

from procexec.model.run import Ending
from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import ensure
from procexec.sandbox.grants import DEFAULT, NUMBERS
from procexec.sandbox.images import list_images
from procexec.sandbox.owner import ANSWER, KEPT, RUN, Owner, reap, this_process

pytestmark = pytest.mark.docker

ASKED = sum(1 << NUMBERS[name] for name in DEFAULT)
SECCOMP_FILTER = "2"

HOLD = """
import sys, time
from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider
from procexec.sandbox.engine import ensure
from procexec.sandbox.owner import this_process

run, image = sys.argv[1:]
with DockerProvider(ensure(), this_process(run)).start(SandboxRequest(image=image)) as sandbox:
    sandbox.run("echo ready", timeout=10, dialog=Dialog())
    print(sandbox.container.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(client: DockerClient) -> str:
    return next(str(i.id) for i in list_images(client) if i.tag.startswith("procexec/git:"))


@pytest.fixture(scope="module")
def provider(client: DockerClient) -> DockerProvider:
    return DockerProvider(client, this_process("hardening"))


@pytest.fixture(scope="module")
def sandbox(provider: DockerProvider, image: str) -> Iterator[DockerSandbox]:
    request = SandboxRequest(image=image, user="dev", workdir="/home/dev", label="git/clone#1")
    with provider.start(request) as sandbox:
        yield sandbox


def _step(sandbox: DockerSandbox, text: str) -> str:
    result = sandbox.run(text, timeout=20, dialog=Dialog())
    assert result.ending is Ending.EXITED, result
    return result.output


def _outside(sandbox: DockerSandbox, script: str, user: str = "root") -> str:
    return sandbox.execute(script, user=user, cwd="/", timeout=20).output


def _status(text: str) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (s.partition(":") for s in text.split("\n"))}


# --- what it may do ---------------------------------------------------------------------------


def test_a_user_has_no_capability_and_can_gain_none(sandbox: DockerSandbox) -> None:
    status = _status(_step(sandbox, "cat /proc/self/status"))

    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    assert status["CapBnd"] == f"{ASKED:016x}"


@pytest.mark.parametrize("user", ["root", "dev"])
def test_no_process_gains_privileges_or_makes_any_system_call(
    sandbox: DockerSandbox, user: str
) -> None:
    status = _status(_outside(sandbox, "cat /proc/self/status", user))

    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", SECCOMP_FILTER)


def test_a_step_runs_as_its_user(sandbox: DockerSandbox) -> None:
    assert _step(sandbox, "id -un; id -u; echo $HOME $USER $LOGNAME") == (
        "dev\n1000\n/home/dev dev dev"
    )


def test_the_hosts_environment_stays_outside(
    provider: DockerProvider, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = secrets.token_hex(8)
    for name in ("PROCEXEC_TEST", "HTTP_PROXY", "https_proxy", "BASH_ENV", "API_KEY"):
        monkeypatch.setenv(name, word)

    with provider.start(SandboxRequest(image=image)) as sandbox:
        seen = _step(sandbox, "env") + _outside(sandbox, "env; cat /proc/1/environ")

    assert word not in seen


def test_nothing_of_the_host_is_mounted(sandbox: DockerSandbox) -> None:
    sandbox.container.reload()

    assert sandbox.container.attrs["Mounts"] == []
    assert not sandbox.container.attrs["HostConfig"]["Binds"]
    assert sandbox.container.attrs["HostConfig"]["RestartPolicy"]["Name"] in ("", "no")


def test_no_core_is_dumped_and_no_file_grows_for_ever(sandbox: DockerSandbox) -> None:
    assert _step(sandbox, "ulimit -c; ulimit -f") == f"0\n{(4 << 30) // 1024}"


# --- whose it is ------------------------------------------------------------------------------


def test_a_container_is_labelled_before_it_starts(client: DockerClient, image: str) -> None:
    provider = DockerProvider(client, this_process("labels"))

    container = provider._create(SandboxRequest(image=image, label="git/clone#1"), "procexec-x")
    try:
        container.reload()
        assert container.status == "created"
        assert container.labels.items() >= provider.owner.labels("git/clone#1").items()
        assert container.labels[RUN] == "labels"
        assert container.labels[ANSWER] == "git/clone#1"
    finally:
        provider.remove(container)
        provider.remove(container)  # what is gone already is fine


def test_a_name_tells_run_and_answer(sandbox: DockerSandbox) -> None:
    assert str(sandbox.container.name).startswith("procexec-hardening-git-clone-1-")


def test_a_container_that_cannot_start_is_removed(client: DockerClient, image: str) -> None:
    provider = DockerProvider(client, this_process(_run_id()))
    request = SandboxRequest(image=image, user="nobody-at-all")

    def start() -> None:
        with provider.start(request) as sandbox:
            sandbox.run("echo x", timeout=5, dialog=Dialog())

    with pytest.raises(Exception, match="no shell could be started"):
        start()

    assert _of_run(client, provider.owner.run) == []


def _run_id() -> str:
    return f"test-{secrets.token_hex(4)}"


def _of_run(client: DockerClient, run: str) -> list[Container]:
    return client.containers.list(all=True, sparse=True, filters={"label": f"{RUN}={run}"})


def test_reaping_removes_what_a_killed_run_left_and_nothing_of_a_live_one(
    client: DockerClient, image: str
) -> None:
    run, mine = _run_id(), DockerProvider(client, this_process(_run_id()))
    argv = [sys.executable, "-c", HOLD, run, image]
    with (
        mine.start(SandboxRequest(image=image)) as live,
        subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            name = process.stdout.readline().strip()
            assert name.startswith(f"procexec-{run}-")
            assert name not in reap(client)
        finally:
            process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie is dead, too

        removed = reap(client)

        assert name in removed
        assert str(live.container.name) not in removed
        assert _step(live, "echo ok") == "ok"
    assert _of_run(client, run) == []


def test_what_is_kept_on_purpose_stays(client: DockerClient, image: str) -> None:
    dead = Owner(run=_run_id(), pid=1 << 22, start="1", boot=_boot(), host=socket.gethostname())
    labels = dead.labels("kept")
    kept = client.containers.create(image, ["true"], labels=labels | {KEPT: "1"})
    try:
        left = client.containers.create(image, ["true"], labels=labels)

        removed = reap(client)

        assert str(left.name) in removed
        assert [container.id for container in _of_run(client, dead.run)] == [kept.id]
    finally:
        kept.remove(force=True, v=True)


def test_another_hosts_containers_are_not_ours_to_reap(client: DockerClient, image: str) -> None:
    far = Owner(run=_run_id(), pid=1 << 22, start="1", boot="another", host="another.invalid")
    container = client.containers.create(image, ["true"], labels=far.labels("far"))
    try:
        assert str(container.name) not in reap(client)
    finally:
        container.remove(force=True, v=True)


def _boot() -> str:
    return this_process("x").boot
