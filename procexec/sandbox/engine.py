"""The container engine: find the one that answers, or set one up."""

import os
import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import docker
from docker import DockerClient
from docker.errors import DockerException
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException
from urllib3.util import Retry

from procexec.errors import SandboxError
from procexec.sandbox.locks import Tell, cache_folder, locked, silent

TIMEOUT = 60
AGAIN = Retry(
    total=4,
    read=1,
    status=3,
    status_forcelist=(500, 502, 503, 504),
    allowed_methods=("GET", "HEAD"),
    backoff_factor=0.2,
    raise_on_status=False,
)
PING_TIMEOUT = 5
START_TIMEOUT = 60.0
INSTALL_TIMEOUT = 1800.0
PACKAGES = ("docker.io", "mmdebstrap", "debian-archive-keyring")
WITHOUT_NETWORK = ("--bridge=none", "--iptables=false", "--ip6tables=false")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine may listen."""

    url: str
    tls: TLSConfig | None = None


def connect(*, timeout: int = TIMEOUT, pool_size: int = 10) -> DockerClient:
    """Return a client of the first engine that answers.

    Raises SandboxError with everything that was tried and what to type.
    """
    tried: list[str] = []
    for endpoint in endpoints(os.environ):
        try:
            return _client(endpoint, timeout, pool_size)
        except (DockerException, RequestException, OSError) as error:
            tried.append(f"{endpoint.url}: {_reason(error)}")
    raise SandboxError(
        "no container engine answers\n" + "\n".join(f"  tried {line}" for line in tried),
        hint=_hint(tried, os.environ),
    )


def ensure(tell: Tell = silent, *, timeout: int = TIMEOUT, pool_size: int = 10) -> DockerClient:
    """Return a client as ``connect`` does; as root on Debian or Ubuntu, set up an engine first.

    Raises SandboxError if none answers and none may or can be set up.
    """
    try:
        return connect(timeout=timeout, pool_size=pool_size)
    except SandboxError:
        if os.environ.get("DOCKER_HOST") or not can_install():
            raise
    with locked("engine", tell):
        return _set_up(tell, timeout, pool_size)


@contextmanager
def sandbox_errors(doing: str) -> Iterator[None]:
    """Turn what the engine's client raises into a SandboxError that says what we were doing."""
    try:
        yield
    except (DockerException, RequestException) as error:
        raise SandboxError(
            f"could not {doing}: {_words(error)}", hint="does the engine answer? docker info"
        ) from error


# --- where engines listen ---------------------------------------------------------------------


def endpoints(environment: Mapping[str, str]) -> Iterator[Endpoint]:
    """Yield where to look, in order; who sets DOCKER_HOST means that engine and no other.

    Raises SandboxError for an address that anyone on the way could take over.
    """
    if environment.get("DOCKER_HOST"):
        yield _configured(environment)
        return
    yield Endpoint("unix:///var/run/docker.sock")
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        yield Endpoint(f"unix://{runtime}/docker.sock")
        yield Endpoint(f"unix://{runtime}/podman/podman.sock")
    yield Endpoint("unix:///run/podman/podman.sock")


def _configured(environment: Mapping[str, str]) -> Endpoint:
    url = environment["DOCKER_HOST"]
    tls = _tls(environment)
    if tls is None and not _is_private(url):
        raise SandboxError(
            f'DOCKER_HOST "{url}" would hand this machine\'s containers over an open connection',
            hint="use unix://, ssh:// or TLS: "
            "export DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=<folder of ca.pem, cert.pem, key.pem>",
        )
    return Endpoint(url, tls)


def _tls(environment: Mapping[str, str]) -> TLSConfig | None:
    try:
        return kwargs_from_env(environment).get("tls")
    except DockerException as error:
        raise SandboxError(
            f"the TLS settings of DOCKER_HOST cannot be used: {_words(error)}",
            hint='ls "${DOCKER_CERT_PATH:-$HOME/.docker}"  # ca.pem, cert.pem, key.pem',
        ) from error


def _is_private(url: str) -> bool:
    parts = urlsplit(url if "://" in url else f"tcp://{url}")
    return parts.scheme not in {"tcp", "http"} or _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _client(endpoint: Endpoint, timeout: int, pool_size: int) -> DockerClient:
    _knock(endpoint)
    client = DockerClient(
        base_url=endpoint.url,
        tls=endpoint.tls or False,
        timeout=PING_TIMEOUT,
        max_pool_size=pool_size,
        use_ssh_client=True,
    )
    try:
        client.ping()
    except BaseException:
        client.close()
        raise
    client.api.timeout = timeout
    _ask_again(client)
    return client


def _ask_again(client: DockerClient) -> None:
    """Let what only looks be asked again, with growing pauses; what does something never is."""
    adapter = client.api.get_adapter(client.api.base_url)
    if isinstance(adapter, HTTPAdapter):
        adapter.max_retries = AGAIN


def _knock(endpoint: Endpoint) -> None:
    """Raise OSError where no local socket takes calls: clearer, and docker-py would leak one."""
    if endpoint.url.startswith("unix:"):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PING_TIMEOUT)
            line.connect(urlsplit(endpoint.url).path)


def _reason(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "no such socket"
        case PermissionError():
            return "permission denied"
        case ConnectionRefusedError():
            return "connection refused"
        case _:
            return _words(error)


def _words(error: Exception) -> str:
    """Return the engine's own words, without the client's wrapping."""
    if isinstance(error, docker.errors.APIError) and error.explanation:
        return str(error.explanation)
    return str(error)


def _hint(tried: Sequence[str], environment: Mapping[str, str]) -> str:
    if any(line.endswith("permission denied") for line in tried):
        return 'sudo usermod -aG docker "$USER"  # then log in again'
    if environment.get("DOCKER_HOST"):
        return "start that engine, or: unset DOCKER_HOST"
    return (
        "as root on Debian or Ubuntu, type:\n"
        f"    apt-get update && apt-get install -y {' '.join(PACKAGES)}\n"
        "    systemctl start docker    # without systemd: nohup dockerd >/var/log/dockerd.log 2>&1 &\n"
        "  or, for Podman as a user: systemctl --user start podman.socket"
    )


# --- setting one up ---------------------------------------------------------------------------


def can_install() -> bool:
    """Tell whether we are root on a distribution whose packages we know by name."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None and _is_debian()


def install(packages: Sequence[str], tell: Tell = silent) -> None:
    """Install packages of the distribution; only where ``can_install``."""
    tell(f"installing {' '.join(packages)} from the distribution's packages")
    run(["apt-get", "update", "-q"], tell, required=False)
    run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages], tell)


def _set_up(tell: Tell, timeout: int, pool_size: int) -> DockerClient:
    if shutil.which("dockerd") is None:
        install(PACKAGES, tell)
    if client := _answering(timeout, pool_size):  # the package may have started it
        return client
    if Path("/run/systemd/system").is_dir():
        tell("starting the engine: systemctl start docker")
        run(["systemctl", "start", "docker"], tell)
        return connect(timeout=timeout, pool_size=pool_size)
    return _start(tell, timeout, pool_size)


def _start(tell: Tell, timeout: int, pool_size: int) -> DockerClient:
    """Start dockerd; where the kernel lets it make no bridge, without one: sandboxes need none."""
    log = cache_folder() / "dockerd.log"
    for options in ((), WITHOUT_NETWORK):
        command = ["dockerd", *options]
        tell(f"starting the engine: {' '.join(command)} (log: {log})")
        if client := _started(command, log, timeout, pool_size):
            return client
        if not any(word in log.read_text(errors="replace") for word in ("iptables", "bridge")):
            break
    raise SandboxError(
        "dockerd did not start\n" + _last_lines(log.read_text(errors="replace")),
        hint=f"less {log}",
    )


def _started(command: list[str], log: Path, timeout: int, pool_size: int) -> DockerClient | None:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # the engine outlives this program
            cwd="/",
        )
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if client := _answering(timeout, pool_size):
            return client
        if process.poll() is not None:
            return None
        time.sleep(0.2)
    process.terminate()
    return None


def _answering(timeout: int, pool_size: int) -> DockerClient | None:
    try:
        return connect(timeout=timeout, pool_size=pool_size)
    except SandboxError:
        return None


def _is_debian() -> bool:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return not {"debian", "ubuntu"}.isdisjoint(
        [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    )


def run(command: list[str], tell: Tell = silent, *, required: bool = True, hint: str = "") -> None:
    """Run a program of the host to its end, its output kept for the case that it fails.

    Raises SandboxError if it fails and is ``required``; else its failure is told.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_TIMEOUT,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(
            f"`{' '.join(command)}` takes longer than {INSTALL_TIMEOUT:.0f} s",
            hint="type it yourself and watch",
        ) from error
    if done.returncode == 0:
        return
    report = f"`{' '.join(command)}` failed\n{_last_lines(done.stdout)}"
    if required:
        raise SandboxError(report, hint=hint or "type it yourself and watch")
    tell(report)


def _last_lines(text: str, count: int = 12) -> str:
    return "\n".join(f"  | {line}" for line in text.splitlines()[-count:])
