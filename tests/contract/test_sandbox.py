"""What every sandbox keeps, whatever engine is below it."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import pytest
from docker import DockerClient

from procexec.errors import FixtureError
from procexec.model.run import CommandResult, Dialogue, Ending
from procexec.model.state import FileFacts
from procexec.model.step import Input
from procexec.sandbox import (
    SCRATCH,
    Changes,
    Dialog,
    FixtureImage,
    Sandbox,
    SandboxProvider,
    SandboxRequest,
    ScriptResult,
)
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import ensure
from procexec.sandbox.images import list_images
from procexec.sandbox.names import FIXTURE
from procexec.sandbox.owner import RUN, this_process
from tests.engines import podman
from tests.fakes import FakeProvider, FakeSandbox, asking, printed

SAY_ENV = 'echo "mode is $MODE"'
SLOW = "echo partial; sleep 60; echo done"
ASK = 'read -r -p "Your name? " name; echo "$name"'
ASK_TWICE = (
    'read -r -p "Your name? " name; read -r -p "Your town? " town; echo "$name"; echo "$town"'
)
WRITE = "mkdir -p /tmp/d; umask 022; printf 'hello\\n' > /tmp/note; chmod 600 /tmp/note"
CHANGE = "echo more >> /home/dev/.profile"
DELETE = "rm /home/dev/.bashrc"

FAKE_COMMANDS: dict[str, CommandResult | Callable[[FakeSandbox], CommandResult]] = {
    "echo hello; echo there; (exit 4)": printed("hello\nthere", 4),
    "pwd": lambda sandbox: printed(sandbox.cwd),
    SAY_ENV: lambda sandbox: printed(f"mode is {sandbox.env.get('MODE', '')}"),
    SLOW: CommandResult(ending=Ending.TIMED_OUT, output="partial", size_bytes=8),
    ASK: asking("Your name? "),
    ASK_TWICE: asking("Your name? ", "Your town? "),
    WRITE: lambda sandbox: sandbox.write("/tmp/note", "hello\n", "600"),
    CHANGE: lambda sandbox: sandbox.write("/home/dev/.profile", "changed\n"),
    DELETE: lambda sandbox: sandbox.remove("/home/dev/.bashrc"),
    "kill -TERM 1": CommandResult(ending=Ending.SANDBOX_DIED),
}
FAKE_SCRIPTS = {
    "id -un": ScriptResult(exit_code=0, output="root\n"),
    "cat /tmp/note": ScriptResult(exit_code=1, output=""),
    "exit 3": ScriptResult(exit_code=3, output=""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A provider, what to ask it for, and how many sandboxes there are that it made."""

    provider: SandboxProvider
    request: SandboxRequest
    count: Callable[[], int]

    def start(self) -> AbstractContextManager[Sandbox]:
        return self.provider.start(self.request)


def _fake() -> World:
    files = {"/home/dev/.profile": "as it was\n", "/home/dev/.bashrc": "\n"}
    provider = FakeProvider(commands=FAKE_COMMANDS, scripts=FAKE_SCRIPTS, files=files)
    request = SandboxRequest(image="fake", user="dev", workdir="/home/dev")
    return World(provider=provider, request=request, count=lambda: len(provider.running))


def _docker(client: DockerClient) -> World:
    owner = this_process("contract")
    request = SandboxRequest(image=_image(client), user="dev", workdir="/home/dev")

    def count() -> int:
        mine = f"{RUN}={owner.run}"
        return len(client.containers.list(all=True, sparse=True, filters={"label": mine}))

    return World(provider=DockerProvider(client, owner), request=request, count=count)


def _image(client: DockerClient) -> str:
    return next(str(i.id) for i in list_images(client) if "procexec/git:" in i.tag)


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture(scope="module")
def other_client(client: DockerClient) -> Iterator[DockerClient]:
    tag = next(i.tag for i in list_images(client) if "procexec/git:" in i.tag)
    with podman(client, tag) as other:
        yield other


ENGINES = [pytest.param(name, marks=pytest.mark.docker) for name in ("docker", "podman")]


@pytest.fixture(params=["fake", *ENGINES])
def world(request: pytest.FixtureRequest) -> World:
    match request.param:
        case "fake":
            return _fake()
        case "docker":
            return _docker(request.getfixturevalue("client"))
        case _:
            return _docker(request.getfixturevalue("other_client"))


@pytest.fixture
def sandbox(world: World) -> Iterator[Sandbox]:
    with world.start() as sandbox:
        yield sandbox


@pytest.fixture
def real(client: DockerClient) -> Iterator[DockerSandbox]:
    with _docker(client).start() as sandbox:
        assert isinstance(sandbox, DockerSandbox)
        yield sandbox


def _run(sandbox: Sandbox, text: str, *replies: Input, timeout: float = 10) -> CommandResult:
    return sandbox.run(text, timeout=timeout, dialog=Dialog(replies=replies))


# --- what all keep ----------------------------------------------------------------------------


def test_a_result_has_exit_code_output_and_directory(sandbox: Sandbox) -> None:
    result = _run(sandbox, "echo hello; echo there; (exit 4)")

    assert result.ending is Ending.EXITED
    assert (result.exit_code, result.output, result.cwd) == (4, "hello\nthere", "/home/dev")
    assert not result.truncated


def test_a_command_that_does_not_exist_is_a_result(sandbox: Sandbox) -> None:
    result = _run(sandbox, "nonesuch --help")

    assert (result.ending, result.exit_code) == (Ending.EXITED, 127)
    assert result.output == "bash: nonesuch: command not found"


def test_the_directory_persists(sandbox: Sandbox) -> None:
    assert sandbox.cwd == "/home/dev"

    assert _run(sandbox, "cd /tmp").cwd == "/tmp"
    assert _run(sandbox, "pwd").output == "/tmp"
    assert sandbox.cwd == "/tmp"


def test_the_environment_persists(sandbox: Sandbox) -> None:
    _run(sandbox, "export MODE=prod")

    assert _run(sandbox, SAY_ENV).output == "mode is prod"


def test_a_timeout_is_a_result_that_keeps_what_was_printed(sandbox: Sandbox) -> None:
    result = _run(sandbox, SLOW, timeout=1)

    assert (result.ending, result.exit_code) == (Ending.TIMED_OUT, None)
    assert result.output == "partial"
    assert not result.succeeded


def test_a_question_that_nobody_answers_is_an_event_with_its_text(sandbox: Sandbox) -> None:
    began = time.monotonic()
    result = _run(sandbox, ASK, timeout=30)

    assert (result.ending, result.exit_code) == (Ending.WAITS_FOR_INPUT, None)
    assert result.prompt == "Your name?"
    assert time.monotonic() - began < 4  # two seconds, and a busy machine


def test_replies_are_typed_in_order(sandbox: Sandbox) -> None:
    replies = (Input(keys=("Ada\r",)), Input(keys=("Kyiv\r",)))

    result = _run(sandbox, ASK_TWICE, *replies)

    assert result.dialogues == (
        Dialogue(prompt="Your name?", reply="Ada"),
        Dialogue(prompt="Your town?", reply="Kyiv"),
    )
    assert result.output.endswith("Ada\nKyiv")


def test_a_reply_that_names_its_question_waits_for_it(sandbox: Sandbox) -> None:
    replies = (Input(keys=("Kyiv\r",), prompt="Your town?"), Input(keys=("Ada\r",), prompt="name"))

    result = _run(sandbox, ASK_TWICE, *replies)

    assert [dialogue.reply for dialogue in result.dialogues] == ["Ada", "Kyiv"]


def test_a_question_after_the_last_reply_is_an_event(sandbox: Sandbox) -> None:
    result = _run(sandbox, ASK_TWICE, Input(keys=("Ada\r",)))

    assert (result.ending, result.prompt) == (Ending.WAITS_FOR_INPUT, "Your town?")
    assert [dialogue.reply for dialogue in result.dialogues] == ["Ada"]


def test_a_shell_that_ends_is_a_result_and_the_next_step_goes_on_in_a_new_one(
    sandbox: Sandbox,
) -> None:
    _run(sandbox, "cd /tmp")
    _run(sandbox, "export MODE=prod")

    ended = _run(sandbox, "exit 3")
    after = _run(sandbox, SAY_ENV)

    assert (ended.ending, ended.exit_code) == (Ending.SHELL_ENDED, 3)
    assert (after.exit_code, after.output, after.cwd) == (0, "mode is prod", "/tmp")
    assert "new shell" in after.note
    assert _run(sandbox, "pwd").note == ""


def test_a_step_that_kills_its_sandbox_is_a_result(world: World) -> None:
    root = replace(world.request, user="root", workdir="/root")
    with world.provider.start(root) as sandbox:
        killed = _run(sandbox, "kill -TERM 1")
        after = _run(sandbox, "pwd")

    # the shell may come back to its prompt before the kernel has ended it
    assert killed.ending in (Ending.SANDBOX_DIED, Ending.EXITED)
    assert after.ending is Ending.SANDBOX_DIED


def test_a_script_is_executed_outside_the_session_as_another_user(sandbox: Sandbox) -> None:
    _run(sandbox, "cd /tmp")

    assert sandbox.execute("id -un", user="root", cwd="/", timeout=10).output == "root\n"
    assert sandbox.execute("exit 3", user="dev", cwd="/", timeout=10).exit_code == 3
    assert sandbox.cwd == "/tmp"


def test_nothing_has_changed_before_the_first_step(sandbox: Sandbox) -> None:
    assert sandbox.changes() == Changes(files={}, before={})


def test_changes_tell_what_was_created_changed_and_deleted(sandbox: Sandbox) -> None:
    for step in (WRITE, CHANGE, DELETE):
        assert _run(sandbox, step).exit_code == 0

    changes = sandbox.changes()

    note = changes.files["/tmp/note"]
    assert note == FileFacts(
        type="file",
        mode="600",
        owner="dev",
        size=6,
        digest=hashlib.sha256(b"hello\n").hexdigest(),
        text="hello\n",
    )
    assert changes.before["/tmp/note"] is None
    assert changes.files["/home/dev/.bashrc"] is None
    assert changes.before["/home/dev/.bashrc"] is not None
    profile, was = changes.files["/home/dev/.profile"], changes.before["/home/dev/.profile"]
    assert profile is not None
    assert was is not None
    assert profile.digest != was.digest
    assert set(changes.files) - {"/tmp/d"} == {
        "/tmp/note",
        "/home/dev/.bashrc",
        "/home/dev/.profile",
    }


def test_the_terminal_is_recorded(sandbox: Sandbox) -> None:
    _run(sandbox, "echo hello; echo there; (exit 4)")

    assert "there" in "".join(event.data for event in sandbox.events if event.kind == "o")


def test_a_sandbox_is_gone_after_its_with(world: World) -> None:
    with world.start() as sandbox:
        _run(sandbox, "pwd")
        assert world.count() == 1

    assert world.count() == 0


def test_a_sandbox_is_gone_after_an_exception(world: World) -> None:
    def fail() -> None:
        with world.start():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert world.count() == 0


def test_two_sandboxes_do_not_see_each_other(world: World) -> None:
    with world.start() as one, world.start() as other:
        _run(one, WRITE)
        _run(one, "export MODE=prod")

        assert world.count() == 2
        assert other.changes().files == {}
        assert _run(other, SAY_ENV).output == "mode is "
        assert other.execute("cat /tmp/note", user="dev", cwd="/", timeout=10).exit_code == 1


def test_an_empty_fixture_is_the_image_itself(world: World) -> None:
    assert world.provider.fixture(world.request, " \n") == FixtureImage(id=world.request.image)


def test_a_fixture_that_fails_is_the_procedures_error(world: World) -> None:
    with pytest.raises(FixtureError, match="exit code 3"):
        world.provider.fixture(world.request, "exit 3")


# --- what takes a real shell ------------------------------------------------------------------


@pytest.mark.docker
def test_functions_aliases_options_and_the_last_status_persist(real: DockerSandbox) -> None:
    _run(real, "f() { echo from f; }\nalias ll='echo from alias'\nset -u\nX=local")

    assert _run(real, "f; ll; echo $X; echo $-; (exit 4)").output.startswith(
        "from f\nfrom alias\nlocal\n"
    )
    assert _run(real, "echo $?").output == "4"
    assert _run(real, "echo $UNSET").exit_code == 1


@pytest.mark.docker
def test_variables_and_functions_are_restored_in_a_new_shell(real: DockerSandbox) -> None:
    _run(real, "f() { echo from f; }; alias ll='echo from alias'; X='a b'; Y=(1 2); umask 027")
    _run(real, "exit 0")

    result = _run(real, "f; ll; echo $X ${Y[1]}; umask")

    assert result.output == "from f\nfrom alias\na b 2\n0027"


@pytest.mark.docker
@pytest.mark.parametrize(
    "step",
    [
        SLOW,
        "trap '' TERM INT HUP; sleep 61 & setsid sleep 62 & while :; do sleep 1; done",
        "(while :; do sleep 63 & wait; done) & read -r x",
    ],
)
@pytest.mark.parametrize("engine", ["client", "other_client"], ids=["docker", "podman"])
def test_no_process_of_a_step_that_is_stuck_survives(
    request: pytest.FixtureRequest, engine: str, step: str
) -> None:
    with _docker(request.getfixturevalue(engine)).start() as sandbox:
        result = _run(sandbox, step, timeout=1.5)

        assert result.ending in (Ending.TIMED_OUT, Ending.WAITS_FOR_INPUT)
        assert _others(sandbox) == []


def _others(sandbox: Sandbox) -> list[str]:
    """Return the command lines of the processes that are not the sandbox's own."""
    script = (
        'for p in /proc/[0-9]*; do [ ${p#/proc/} = $$ ] || tr "\\0" " " < $p/cmdline; echo; done'
    )
    lines = sandbox.execute(script, user="root", cwd="/", timeout=10).output.split("\n")
    own = ("tail -f /dev/null ", "-init -- tail -f /dev/null ")
    return [line for line in lines if line and not line.endswith(own)]


@pytest.mark.docker
def test_a_step_that_ends_while_it_is_looked_at_asks_no_question(real: DockerSandbox) -> None:
    for hundredths in range(38, 50, 2):
        assert _run(real, f"sleep 0.{hundredths}").ending is Ending.EXITED


@pytest.mark.docker
def test_an_interrupt_that_is_typed_ends_the_step_with_its_status(real: DockerSandbox) -> None:
    result = _run(real, "cat", Input(keys=("hello\r",)), Input(keys=("\x03",)))

    assert (result.ending, result.exit_code) == (Ending.EXITED, 130)
    assert _run(real, "echo $?").output == "130"


@pytest.mark.docker
def test_an_end_of_input_is_typed_after_the_last_reply(real: DockerSandbox) -> None:
    replies = (Input(keys=("one\r",)), Input(keys=("two\r",)))

    result = real.run("cat > f", timeout=10, dialog=Dialog(replies=replies, at_end="\x04"))

    assert (result.ending, result.exit_code) == (Ending.EXITED, 0)
    assert _run(real, "cat f").output == "one\ntwo"


@pytest.mark.docker
def test_a_script_that_takes_too_long_has_no_exit_code(real: DockerSandbox) -> None:
    done = real.execute("echo begun; sleep 60", user="dev", cwd="/", timeout=0.5)

    assert (done.exit_code, done.output) == (None, "begun\n")


@pytest.mark.docker
def test_a_script_begins_in_its_folder_or_at_the_root(real: DockerSandbox) -> None:
    assert real.execute("pwd", user="dev", cwd="/tmp", timeout=10).output == "/tmp\n"
    assert real.execute("pwd", user="dev", cwd="/nonesuch", timeout=10).output == "/\n"


@pytest.mark.docker
def test_a_fixture_is_made_once_and_its_files_are_no_changes(client: DockerClient) -> None:
    world = _docker(client)
    script = "echo made > /home/dev/fixture"

    image = world.provider.fixture(world.request, script)
    try:
        assert world.provider.fixture(world.request, script) == image
        with world.provider.start(replace(world.request, image=image.id)) as sandbox:
            assert _run(sandbox, "cat fixture").output == "made"
            assert sandbox.changes().files == {}
    finally:
        client.images.remove(image.id, force=True)

    assert not client.images.list(filters={"label": f"{FIXTURE}={image.id}"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Steps as root, and what changes tell of them: a type for each path, None for a deleted one."""

    name: str
    text: str
    files: Mapping[str, str | None] = field(default_factory=dict)


WORKS = (
    Work(
        name="files",
        text="echo x > /srv/new; chmod 640 /srv/new; echo y >> /etc/issue; rm /etc/motd",
        files={"/srv/new": "file", "/etc/issue": "file", "/etc/motd": None},
    ),
    Work(
        name="folders",
        text="mkdir -p '/srv/a b/c'; rm -r /etc/skel; touch \"/srv/a b/it's\"",
        files={
            "/srv/a b": "directory",
            "/srv/a b/c": "directory",
            "/srv/a b/it's": "file",
            "/etc/skel": None,
        },
    ),
    Work(
        name="a folder that is made anew",
        text="rm -r /etc/skel; mkdir -m 755 /etc/skel; touch /etc/skel/.bashrc",
        files={
            "/etc/skel/.bashrc": "file",
            "/etc/skel/.bash_logout": None,
            "/etc/skel/.profile": None,
        },
    ),
    Work(
        name="links and others",
        text="ln -s /etc/shadow /srv/link; mkfifo /srv/pipe; ln -s nowhere /srv/dangling",
        files={"/srv/link": "link", "/srv/pipe": "other", "/srv/dangling": "link"},
    ),
    Work(
        name="a link instead of the user database",
        text="mkfifo /tmp/p; cp /etc/passwd /tmp/q; ln -sf /tmp/q /etc/passwd",
        files={"/tmp/p": "other", "/tmp/q": "file", "/etc/passwd": "link"},
    ),
    Work(
        name="what belongs to the engine",
        text="echo x > /run/x; echo x > /dev/x; echo x > /dev/shm/x; echo 1.2.3.4 x >> /etc/hosts",
    ),
    Work(
        name="very many files",
        text=f"mkdir /srv/many; cd /srv/many; touch $(seq -f '{'n' * 180}%g' 500)",
        files={"/srv/many": "directory"}
        | {f"/srv/many/{'n' * 180}{k}": "file" for k in range(1, 501)},
    ),
)


@pytest.mark.docker
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_the_overlay_and_the_engine_tell_the_same_changes(client: DockerClient, work: Work) -> None:
    provider = DockerProvider(client, this_process("contract"))
    with provider.start(SandboxRequest(image=_image(client))) as sandbox:
        assert _run(sandbox, work.text, timeout=60).exit_code == 0
        direct, by_engine = sandbox.changes(), sandbox._changes_by_diff()

    assert sandbox.dirs is not None, "the engine's overlay cannot be read here"
    assert {path: facts and facts.type for path, facts in direct.files.items()} == work.files
    assert by_engine.files == {
        path: facts and replace(facts, text=None) for path, facts in direct.files.items()
    }
    assert {path for path, was in by_engine.before.items() if was} == {
        path for path, was in direct.before.items() if was
    }
    assert not any(path.startswith(SCRATCH) for path in (*direct.files, *by_engine.files))


@pytest.mark.docker
def test_only_the_overlay_tells_what_a_file_was(client: DockerClient) -> None:
    with _docker(client).start() as sandbox:
        assert isinstance(sandbox, DockerSandbox)
        _run(sandbox, CHANGE)

        was = sandbox.changes().before["/home/dev/.profile"]
        by_engine = sandbox._changes_by_diff().before["/home/dev/.profile"]

    assert was is not None
    assert was.text is not None
    assert by_engine == FileFacts(type="unknown")
