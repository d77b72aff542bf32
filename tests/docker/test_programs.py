"""Programs that stay: servers, sessions in another terminal, shells in the shell; and services."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from docker import DockerClient

from procexec.cli.engine import recipe_of
from procexec.errors import SandboxError
from procexec.model.document import Grant, Service
from procexec.model.run import CommandResult, Ending
from procexec.model.step import Input
from procexec.read.sandboxes import SandboxFolder, read_sandboxes
from procexec.sandbox import INTERRUPT, Dialog, Sandbox, SandboxRequest
from procexec.sandbox.docker import DockerProvider
from procexec.sandbox.engine import ensure
from procexec.sandbox.images import ensure_image
from procexec.sandbox.owner import this_process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture(scope="module")
def provider(client: DockerClient) -> DockerProvider:
    return DockerProvider(client, this_process("programs"))


def _folder(product: str, version: str) -> SandboxFolder:
    sandboxes, errors = read_sandboxes(ROOT / "sandboxes")
    assert not errors
    return sandboxes[product, version]


def _request(client: DockerClient, folder: SandboxFolder) -> SandboxRequest:
    image = ensure_image(client, recipe_of(folder)).id
    sessions = tuple(f"(?:{p}) ?$" for s in folder.spec.sessions for p in s.prompts)
    return SandboxRequest(
        image=image, user="root", workdir="/root", services=folder.spec.services, prompts=sessions
    )


@pytest.fixture
def redis(client: DockerClient, provider: DockerProvider) -> Iterator[Sandbox]:
    with provider.start(replace(_request(client, _folder("redis", "7.0")), services=())) as made:
        yield made


@pytest.fixture
def postgresql(client: DockerClient, provider: DockerProvider) -> Iterator[Sandbox]:
    with provider.start(_request(client, _folder("postgresql", "15"))) as made:
        yield made


def _typed(*lines: str) -> tuple[Input, ...]:
    return tuple(Input(keys=(line + "\r",)) for line in lines)


def _run(sandbox: Sandbox, text: str, *lines: str, hold: bool = False) -> CommandResult:
    return sandbox.run(text, timeout=20, dialog=Dialog(replies=_typed(*lines), hold=hold))


def test_a_server_in_the_foreground_stays_and_the_next_step_has_a_terminal_of_its_own(
    redis: Sandbox,
) -> None:
    assert _run(redis, "cd /tmp && redis-server --save ''").ending is Ending.STAYS

    asked = _run(redis, "redis-cli ping; pwd")
    assert (asked.output, asked.note) == ("PONG\n/root", "")


def test_ctrl_c_ends_the_server_and_gives_its_terminal_back(redis: Sandbox) -> None:
    _run(redis, "cd /tmp && redis-server --save ''")
    ended = redis.go_on(timeout=20, dialog=Dialog(replies=(Input(keys=(INTERRUPT,)),)))

    assert ended.ending is Ending.EXITED
    assert _run(redis, "pwd; redis-cli ping >/dev/null 2>&1 || echo down").output == "/tmp\ndown"


def test_a_session_stays_open_while_another_terminal_is_used(postgresql: Sandbox) -> None:
    opened = _run(postgresql, "sudo -u postgres psql -At", "SELECT pg_backend_pid();", hold=True)
    assert opened.ending is Ending.STAYS

    assert _run(postgresql, "id -un").output == "root"
    dialog = Dialog(replies=_typed("SELECT 40 + 2;", "\\q"))
    went_on = postgresql.go_on(timeout=20, dialog=dialog)
    assert went_on.ending is Ending.EXITED
    assert "42" in went_on.output


def test_the_services_of_a_sandbox_run_from_the_start(postgresql: Sandbox) -> None:
    assert _run(postgresql, "sudo -u postgres psql -Atc 'SELECT 1'").output.endswith("1")


@pytest.mark.parametrize("command", ["bash", "su", "su dev", "sudo -i", "sudo -u dev bash"])
def test_the_next_steps_run_in_a_shell_that_a_step_opens(redis: Sandbox, command: str) -> None:
    assert _run(redis, command).ending is Ending.ENTERED
    assert _run(redis, "cd /tmp && pwd").output == "/tmp"
    assert _run(redis, "exit 3").exit_code == 3

    assert _run(redis, "pwd").output == "/root"


def test_sudo_is_no_reader_while_its_command_works(redis: Sandbox) -> None:
    assert _run(redis, "sudo sh -c 'sleep 2; echo done'").output == "done"


def test_a_question_to_repeat_gets_the_same_reply(redis: Sandbox) -> None:
    ask = "read -r -s -p 'New password: ' a; echo; read -r -s -p 'Re-type new password: ' b; echo"
    told = _run(redis, f'{ask}; [ "$a" = "$b" ] && echo same', "s3cret")

    assert told.output.endswith("same")


@pytest.mark.parametrize(
    ("command", "exit_code", "words"),
    [
        ("systemctl start redis-server && systemctl is-active redis-server", 0, "active"),
        ("systemctl restart redis-sentinel", 5, "Unit redis-sentinel.service not found"),
        ("systemctl edit redis-server", 69, "this sandbox has no systemd"),
        ("systemctl status redis-server", 3, "inactive"),
        ("systemctl reload redis-server", 1, "not active"),
    ],
)
def test_systemctl_acts_on_init_scripts(
    redis: Sandbox, command: str, exit_code: int, words: str
) -> None:
    result = _run(redis, command)

    assert result.exit_code == exit_code
    assert words in result.output


def test_what_a_fixture_leaves_running_runs_again_with_what_it_held(
    client: DockerClient, provider: DockerProvider
) -> None:
    request = _request(client, _folder("redis", "7.0"))
    script = "service redis-server start >/dev/null; sleep 0.5; redis-cli set kept 1 >/dev/null"
    made = provider.fixture(request, script)
    try:
        assert made.running == ("redis-server",)
        with provider.start(replace(request, image=made.id)) as sandbox:
            assert _run(sandbox, "redis-cli get kept").output == '"1"'
    finally:
        client.images.remove(made.id, force=True)


def test_a_service_that_does_not_come_up_is_the_test_beds(
    client: DockerClient, provider: DockerProvider
) -> None:
    never = Service(name="never", start="true", stop="true", ready="false", timeout=1)
    request = replace(_request(client, _folder("redis", "7.0")), services=(never,))
    start: AbstractContextManager[Sandbox] = provider.start(request)

    with pytest.raises(SandboxError, match="service never did not come up"), start:
        pass


@pytest.mark.parametrize(
    ("granted", "command", "exit_code"),
    [
        (True, "sudo id -un | grep -qx root", 0),
        (True, "sudo echo x > /etc/made", 1),  # the redirection is dev's, as for any reader
        (True, "echo x | sudo tee /etc/made", 0),
        (False, "sudo id -un", 1),
    ],
)
def test_sudo_of_an_ordinary_user_is_a_matter_of_a_grant(
    client: DockerClient, provider: DockerProvider, granted: bool, command: str, exit_code: int
) -> None:
    grant = Grant(knob="new-privileges", value="yes", reason="dev may use sudo")
    request = replace(
        _request(client, _folder("redis", "7.0")),
        user="dev",
        workdir="/home/dev",
        services=(),
        grants=(grant,) if granted else (),
    )
    with provider.start(request) as sandbox:
        allow = "echo 'dev ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/dev"
        sandbox.execute(allow, user="root", cwd="/", timeout=10)

        assert _run(sandbox, command).exit_code == exit_code
