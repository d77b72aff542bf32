"""Sandboxes to be hostile in; counts how many cases of the catalogue passed."""

from collections.abc import Iterator

import pytest
from docker import DockerClient

from procexec.sandbox import SCRATCH, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import ensure
from procexec.sandbox.images import list_images
from procexec.sandbox.owner import this_process
from tests.hostile.catalogue import FOLDER, catalogue, ids_in

OUTCOMES = ("passed", "failed", "error", "xfailed", "skipped")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the count if tests of this folder ran."""
    outcomes = {outcome: _ids(terminalreporter, outcome, config) for outcome in OUTCOMES}
    if not any(outcomes.values()):
        return
    failed = outcomes["failed"] | outcomes["error"]
    xfailed = outcomes["xfailed"] - failed
    nightly = {case.id for case in catalogue().values() if case.nightly}
    passed = outcomes["passed"] - failed - xfailed - (outcomes["skipped"] & nightly)
    known = set(catalogue())
    not_run = known - failed - xfailed - passed
    parts = [f"{len(passed & known)} of {len(known)} passed"]
    parts += _told("failed", failed) + _told("xfailed", xfailed) + _told("not run", not_run)
    terminalreporter.write_line(f"hostile suite: {', '.join(parts)}")


def _ids(
    terminalreporter: pytest.TerminalReporter, outcome: str, config: pytest.Config
) -> set[str]:
    reports = terminalreporter.stats.get(outcome, [])
    here = FOLDER.relative_to(config.rootpath).as_posix()
    return {i for r in reports if r.nodeid.startswith(f"{here}/") for i in ids_in(r.nodeid)}


def _told(word: str, ids: set[str]) -> list[str]:
    return [f"{len(ids)} {word}: {' '.join(_in_runs(sorted(ids)))}"] if ids else []


def _in_runs(ids: list[str]) -> Iterator[str]:
    """Yield the ids, neighbours as one word: ``E01-E29``."""
    start = 0
    for k in range(1, len(ids) + 1):
        if k < len(ids) and _is_next(ids[k - 1], ids[k]):
            continue
        yield ids[start] if start == k - 1 else f"{ids[start]}-{ids[k - 1]}"
        start = k


def _is_next(one: str, other: str) -> bool:
    return one[0] == other[0] and int(other[1:]) == int(one[1:]) + 1


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture(scope="module")
def provider(client: DockerClient) -> DockerProvider:
    return DockerProvider(client, this_process("hostile"))


@pytest.fixture(scope="module")
def git_request(client: DockerClient) -> SandboxRequest:
    image = next(str(i.id) for i in list_images(client) if i.tag.startswith("procexec/git:"))
    return SandboxRequest(image=image, user="dev", workdir="/home/dev")


@pytest.fixture(scope="module")
def shared(provider: DockerProvider, git_request: SandboxRequest) -> Iterator[DockerSandbox]:
    with provider.start(git_request) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(shared: DockerSandbox) -> DockerSandbox:
    """The shared container with a shell that knows nothing of the tests before."""
    shared._close_session()
    shared.kill_processes()
    shared.execute(f"rm -rf /tmp/* {SCRATCH}/state/*", user="root", cwd="/", timeout=10)
    shared.last_cwd = "/home/dev"
    return shared


@pytest.fixture
def root(provider: DockerProvider, git_request: SandboxRequest) -> Iterator[DockerSandbox]:
    """A container of its own, for what destroys it."""
    mine = SandboxRequest(image=git_request.image)
    with provider.start(mine) as sandbox:
        yield sandbox
