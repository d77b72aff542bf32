"""A step that fails is told from a sandbox that somebody else touched, step by step."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from docker import DockerClient
from docker.models.containers import Container

from procexec.errors import PassingError, SandboxError
from procexec.model.run import CommandResult, Ending
from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import connect, ensure
from procexec.sandbox.owner import RUN, this_process
from tests.hostile.bench import image_tag
from tests.hostile.fault_proxy import Fault, FaultProxy, How
from tests.hostile.private_engine import PrivateEngine, can_run

pytestmark = pytest.mark.docker

OWNER = this_process("who-did-it")
on_this_host = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may kill what the engine started"
)
CREATE, START = r"^POST \S*/containers/create", r"^POST \S*/containers/\w+/start"
EXEC_START = r"^POST \S*/exec/\w+/start"


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture(scope="module")
def request_(client: DockerClient) -> SandboxRequest:
    image = client.images.get(image_tag(client))
    return SandboxRequest(image=str(image.id), user="dev", workdir="/home/dev")


@pytest.fixture
def sandbox(client: DockerClient, request_: SandboxRequest) -> Iterator[DockerSandbox]:
    with DockerProvider(client, OWNER).start(request_) as sandbox:
        run(sandbox, "true")
        yield sandbox


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[FaultProxy]:
    with FaultProxy(tmp_path / "p.sock", "/var/run/docker.sock") as proxy:
        yield proxy


@contextmanager
def through(
    proxy: FaultProxy, patch: pytest.MonkeyPatch, timeout: int = 60
) -> Iterator[DockerProvider]:
    """Give a provider whose engine is reached through the proxy."""
    patch.setenv("DOCKER_HOST", proxy.url)
    client = connect(timeout=timeout)
    try:
        yield DockerProvider(client, OWNER)
    finally:
        client.close()


def run(sandbox: DockerSandbox, text: str, timeout: float = 10) -> CommandResult:
    return sandbox.run(text, timeout=timeout, dialog=Dialog())


@contextmanager
def meanwhile(action: Callable[[], object], after: float = 0.5) -> Iterator[None]:
    timer = threading.Timer(after, action)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def left(client: DockerClient) -> list[Container]:
    ours: dict[str, str | list[str] | bool] = {"label": f"{RUN}={OWNER.run}"}
    return client.containers.list(all=True, sparse=True, filters=ours)


# --- somebody else ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "act"),
    [
        ("killed", lambda c: c.kill()),
        ("killed", lambda c: c.kill(signal="TERM")),
        ("killed", lambda c: c.stop(timeout=0)),
        ("killed", lambda c: c.remove(force=True)),
    ],
    ids=["kill", "terminate", "stop", "remove"],
)
def test_e10_a_sandbox_that_somebody_ends_in_a_step_is_nobodys_failure(
    sandbox: DockerSandbox, word: str, act: Callable[[Container], None]
) -> None:
    began = time.monotonic()

    with meanwhile(lambda: act(sandbox.container)), pytest.raises(PassingError) as caught:
        run(sandbox, "sleep 20", timeout=30)

    assert f"somebody {word} the sandbox" in str(caught.value)
    assert time.monotonic() - began < 8


def test_e10_a_sandbox_that_somebody_pauses_in_a_step_is_nobodys_time_out(
    sandbox: DockerSandbox,
) -> None:
    try:
        with meanwhile(sandbox.container.pause), pytest.raises(PassingError, match="paused"):
            run(sandbox, "for i in {1..100}; do sleep 0.1; echo $i; done", timeout=3)
    finally:
        sandbox.container.unpause()


def test_e10_a_sandbox_that_somebody_ends_between_the_steps_is_nobodys_failure(
    sandbox: DockerSandbox,
) -> None:
    sandbox.container.kill()

    with pytest.raises(PassingError, match="somebody killed"):
        run(sandbox, "echo x")


def kill_on_the_host(sandbox: DockerSandbox) -> None:
    """Kill PID 1 past the engine, as the kernel does for the host's want of memory."""
    sandbox.container.reload()
    os.kill(sandbox.container.attrs["State"]["Pid"], signal.SIGKILL)


@on_this_host
def test_e10_a_sandbox_that_the_host_kills_in_a_step_is_nobodys_failure(
    sandbox: DockerSandbox,
) -> None:
    with (
        meanwhile(lambda: kill_on_the_host(sandbox)),
        pytest.raises(PassingError, match="ended from outside: dev cannot end it"),
    ):
        run(sandbox, "sleep 20", timeout=30)


@on_this_host
def test_e10_a_sandbox_that_the_host_kills_between_steps_is_nobodys_failure(
    sandbox: DockerSandbox,
) -> None:
    kill_on_the_host(sandbox)

    with pytest.raises(PassingError, match="ended from outside"):
        run(sandbox, "echo x")


@on_this_host
def test_e10_a_look_at_a_sandbox_that_the_host_kills_finds_nothing_missing(
    sandbox: DockerSandbox,
) -> None:
    with meanwhile(lambda: kill_on_the_host(sandbox)), pytest.raises(PassingError):
        sandbox.execute("sleep 20; test -e /nonesuch", user="root", cwd="/", timeout=30)


@pytest.mark.parametrize("step", ["kill -9 -1", "kill -9 1", "pkill -9 tail"])
def test_e10_a_step_of_an_ordinary_user_cannot_end_its_sandbox(
    sandbox: DockerSandbox, step: str
) -> None:
    run(sandbox, f"{step}; true")

    assert run(sandbox, "echo x").output == "x"


def test_e10_a_look_at_a_sandbox_that_somebody_ends_finds_nothing_missing(
    sandbox: DockerSandbox,
) -> None:
    with meanwhile(sandbox.container.kill), pytest.raises(PassingError, match="somebody killed"):
        sandbox.execute("sleep 20; test -e /nonesuch", user="root", cwd="/", timeout=30)


@contextmanager
def engine_on_a_small_disk(space: int) -> Iterator[PrivateEngine]:
    engine = PrivateEngine()
    data = engine.folder / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={space}", "small", str(data)], check=True)
    with engine:
        yield engine


def fill(folder: Path) -> None:
    """Take all the space that is left on a folder's disk."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))


@pytest.mark.nightly
@pytest.mark.skipif(not can_run(), reason="needs a dockerd of its own")
def test_e13_a_step_that_meets_a_full_disk_of_the_engine_is_nobodys_failure(
    client: DockerClient, request_: SandboxRequest
) -> None:
    step = "head -c 10M /dev/zero > big"
    image = client.images.get(image_tag(client))
    with engine_on_a_small_disk(4 * int(image.attrs["Size"])) as engine:
        engine.load(client, image_tag(client))
        with closing(engine.client()) as its:
            provider = DockerProvider(its, OWNER)
            with provider.start(replace(request_, scripts=(step, "true"))) as sandbox:
                run(sandbox, "true")
                fill(engine.folder / "data")

                with pytest.raises(PassingError, match=r"disk is full|no space left"):
                    run(sandbox, step)

                (engine.folder / "data" / "filler").unlink()


def test_e13_a_step_that_only_says_that_the_disk_is_full_fails_itself(
    sandbox: DockerSandbox,
) -> None:
    result = run(sandbox, "echo x > /dev/full")

    assert "No space left on device" in result.output
    assert (result.ending, result.exit_code) == (Ending.EXITED, 1)


# --- four causes of 137 -----------------------------------------------------------------------


def test_e11_a_process_that_kills_itself_fails_by_itself(sandbox: DockerSandbox) -> None:
    result = run(sandbox, "bash -c 'kill -9 $$'")

    assert (result.ending, result.exit_code) == (Ending.EXITED, 137)


def test_e11_a_shell_that_kills_itself_ends_by_itself(sandbox: DockerSandbox) -> None:
    result = run(sandbox, "kill -9 $$")

    assert (result.ending, result.exit_code) == (Ending.SHELL_ENDED, 137)


HOG = "perl -e '$x = \"a\" x (1 << 29)'"


@pytest.mark.parametrize("hog", [HOG, f"exec {HOG}"], ids=["program", "shell"])
def test_e11_memory_that_runs_out_is_told(
    client: DockerClient, request_: SandboxRequest, hog: str
) -> None:
    with DockerProvider(client, OWNER).start(replace(request_, memory="64m")) as sandbox:
        before = run(sandbox, "bash -c 'kill -9 $$'")
        result = run(sandbox, hog)
        after = run(sandbox, "bash -c 'kill -9 $$'")

    assert (result.ending, result.exit_code) == (Ending.OUT_OF_MEMORY, 137)
    assert (before.ending, after.ending) == (Ending.EXITED, Ending.EXITED)


def test_e11_memory_that_runs_out_below_a_program_that_goes_on_is_noted(
    client: DockerClient, request_: SandboxRequest
) -> None:
    with DockerProvider(client, OWNER).start(replace(request_, memory="64m")) as sandbox:
        result = run(
            sandbox, f"sh -c '{HOG.replace(chr(39), chr(34))} || exit 2'".replace('"$', "$")
        )
        hidden = run(sandbox, 'perl -e \'system($^X, "-e", q{$x = "a" x (1 << 29)}); exit 2\'')

    assert result.exit_code != 0
    assert (hidden.ending, hidden.exit_code) == (Ending.EXITED, 2)
    assert "ran out of memory" in hidden.note


def test_e11_a_step_that_kills_its_sandbox_did_it_itself(
    client: DockerClient, request_: SandboxRequest
) -> None:
    root = replace(request_, user="root", workdir="/root")
    with DockerProvider(client, OWNER).start(root) as sandbox:
        result = run(sandbox, "kill -9 -1; sleep 5")
        after = run(sandbox, "true")

    assert Ending.SANDBOX_DIED in (result.ending, after.ending)


def test_e11_a_sandbox_that_we_end_is_a_time_out(sandbox: DockerSandbox) -> None:
    result = run(sandbox, "sleep 60", timeout=0.5)

    assert result.ending is Ending.TIMED_OUT


# --- replies that are late, lost, wrong, cut or stalled ----------------------------------------


def test_e05_a_container_whose_making_is_not_confirmed_is_not_left(
    proxy: FaultProxy,
    client: DockerClient,
    request_: SandboxRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy.faults.append(Fault(on=CREATE, how=How.LOST, times=2))

    with through(proxy, monkeypatch) as provider, provider.start(request_) as sandbox:
        assert run(sandbox, "echo x").output == "x"
        assert len(left(client)) == 1

    assert proxy.hits() == 2
    assert left(client) == []


def test_e06_a_name_that_is_taken_is_not_fought_for(
    client: DockerClient, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = DockerProvider(client, OWNER)
    names = iter(["procexec-taken", "procexec-free"])
    monkeypatch.setattr(DockerProvider, "_name", lambda _self, _request: next(names))
    stranger = client.containers.create(request_.image, ["true"], name="procexec-taken")
    try:
        with provider.start(request_) as sandbox:
            assert sandbox.container.name == "procexec-free"
        stranger.reload()
        assert stranger.status == "created"
    finally:
        stranger.remove(force=True)


@pytest.mark.parametrize(
    "what",
    [CREATE, START, r"^GET \S*/containers/\w+/json", r"^GET \S*/exec/\w+/json", "^DELETE "],
    ids=["create", "start", "inspect", "inspect-exec", "remove"],
)
def test_e07_server_errors_that_pass_are_waited_out(
    proxy: FaultProxy,
    client: DockerClient,
    request_: SandboxRequest,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    proxy.faults.append(Fault(on=what, how=How.WRONG, times=2))

    with through(proxy, monkeypatch) as provider, provider.start(request_) as sandbox:
        assert run(sandbox, "echo x").output == "x"
        assert sandbox.execute("exit 3", user="dev", cwd="/", timeout=5).exit_code == 3

    assert proxy.hits() == 2
    assert left(client) == []


def test_e07_server_errors_that_stay_are_the_engines(
    proxy: FaultProxy,
    client: DockerClient,
    request_: SandboxRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy.faults.append(Fault(on=START, how=How.WRONG))

    with through(proxy, monkeypatch) as provider, pytest.raises(PassingError, match="injected"):
        provider.start(request_).__enter__()

    assert left(client) == []


def test_e07_a_request_that_is_wrong_is_not_repeated(
    proxy: FaultProxy, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = replace(request_, image="sha256:" + "0" * 64)

    with through(proxy, monkeypatch) as provider, pytest.raises(SandboxError) as caught:
        provider.start(request).__enter__()

    assert not isinstance(caught.value, PassingError)
    assert proxy.count(CREATE) == 1


def test_e08_a_terminal_that_is_cut_is_nobodys_failure(
    proxy: FaultProxy, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = "echo x >> /tmp/times; for i in {1..90}; do echo 'a line of text'; sleep 0.05; done"

    with through(proxy, monkeypatch) as provider, provider.start(request_) as sandbox:
        proxy.faults.append(Fault(on=EXEC_START, how=How.CUT, after=1200, times=1))
        with pytest.raises(PassingError, match="cut the terminal"):
            run(sandbox, talk, timeout=20)

        proxy.faults.clear()
        times = sandbox.execute("cat /tmp/times", user="dev", cwd="/", timeout=5)
        assert times.output == "x\n"


@pytest.mark.parametrize("after", [300, 303], ids=["between-frames", "in-a-frame"])
def test_e08_a_look_that_is_cut_is_no_look(
    proxy: FaultProxy, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    with through(proxy, monkeypatch) as provider, provider.start(request_) as sandbox:
        proxy.faults.append(Fault(on=EXEC_START, how=How.CUT, after=after))

        with pytest.raises(PassingError):
            sandbox.execute(
                "for i in {1..80}; do echo a line; sleep 0.02; done",
                user="dev",
                cwd="/",
                timeout=20,
            )


def test_e09_a_terminal_that_stalls_after_the_steps_end_is_nobodys_time_out(
    proxy: FaultProxy, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = "for i in {1..100}; do echo 'a line that takes its place'; done"
    began = time.monotonic()

    with through(proxy, monkeypatch) as provider, provider.start(request_) as sandbox:
        proxy.faults.append(Fault(on=EXEC_START, how=How.STALLED, after=3000, times=1))
        with pytest.raises(PassingError, match="held back"):
            run(sandbox, talk, timeout=4)

    assert time.monotonic() - began < 15


def test_e09_a_look_that_stalls_ends_in_time(
    proxy: FaultProxy, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with through(proxy, monkeypatch) as provider, provider.start(request_) as sandbox:
        proxy.faults.append(Fault(on=EXEC_START, how=How.STALLED, after=600))

        done = sandbox.execute("seq 1000", user="dev", cwd="/", timeout=1)

    assert done.exit_code is None
