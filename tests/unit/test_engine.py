"""Where engines are looked for, and what is said when none answers."""

from pathlib import Path

import pytest

from procexec.errors import SandboxError
from procexec.sandbox import engine
from procexec.sandbox.engine import Endpoint, connect, endpoints, ensure


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No engine listens anywhere, and none may be installed."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(engine, "can_install", lambda: False)
    monkeypatch.setattr(
        engine, "endpoints", lambda _environment: iter([Endpoint(f"unix://{tmp_path}/none.sock")])
    )


def test_the_usual_sockets_are_tried_in_order() -> None:
    found = [endpoint.url for endpoint in endpoints({"XDG_RUNTIME_DIR": "/run/user/7"})]

    assert found == [
        "unix:///var/run/docker.sock",
        "unix:///run/user/7/docker.sock",
        "unix:///run/user/7/podman/podman.sock",
        "unix:///run/podman/podman.sock",
    ]


def test_without_a_runtime_folder_only_the_systems_sockets_are_tried() -> None:
    assert [endpoint.url for endpoint in endpoints({})] == [
        "unix:///var/run/docker.sock",
        "unix:///run/podman/podman.sock",
    ]


def test_who_names_an_engine_gets_that_one_or_none() -> None:
    found = list(endpoints({"DOCKER_HOST": "unix:///srv/d.sock", "XDG_RUNTIME_DIR": "/run/user/7"}))

    assert found == [Endpoint("unix:///srv/d.sock")]


@pytest.mark.parametrize(
    "url",
    [
        "tcp://build.example:2375",
        "tcp://10.0.0.7:2375",
        "http://build.example:2375",
        "build.example:2375",
        "tcp://127.0.0.1.example:2375",
        "tcp://localhost@build.example:2375",
    ],
)
def test_an_open_connection_to_another_machine_is_refused(url: str) -> None:
    with pytest.raises(SandboxError, match="open connection") as raised:
        list(endpoints({"DOCKER_HOST": url}))

    assert "DOCKER_TLS_VERIFY=1" in raised.value.hint


@pytest.mark.parametrize(
    "url",
    ["tcp://127.0.0.1:2375", "tcp://[::1]:2375", "tcp://localhost:2375", "ssh://ci@build.example"],
)
def test_a_connection_that_nobody_else_can_read_is_allowed(url: str) -> None:
    assert list(endpoints({"DOCKER_HOST": url})) == [Endpoint(url)]


def test_missing_certificates_are_named_with_what_to_look_at(tmp_path: Path) -> None:
    environment = {
        "DOCKER_HOST": "tcp://build.example:2376",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": str(tmp_path),
    }

    with pytest.raises(SandboxError, match="TLS settings") as raised:
        list(endpoints(environment))

    assert "ca.pem" in raised.value.hint


@pytest.mark.usefixtures("no_engine")
def test_nothing_answering_says_what_was_tried_and_what_to_type() -> None:
    with pytest.raises(SandboxError) as raised:
        connect()

    assert "no container engine answers" in raised.value.message
    assert "none.sock: no such socket" in raised.value.message
    assert "apt-get install -y docker.io mmdebstrap" in raised.value.hint


@pytest.mark.usefixtures("no_engine")
def test_who_may_not_install_is_told_the_same() -> None:
    with pytest.raises(SandboxError, match="no container engine answers"):
        ensure()


def test_a_named_engine_that_is_silent_is_never_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr(engine, "can_install", lambda: True)

    with pytest.raises(SandboxError) as raised:
        ensure()

    assert raised.value.hint == "start that engine, or: unset DOCKER_HOST"
