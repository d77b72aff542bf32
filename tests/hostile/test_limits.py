"""Steps that take more than their share of disk, memory, processor or output."""

import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from docker import DockerClient
from docker.models.containers import Container

from procexec.model.result import Verdict
from procexec.model.run import Ending
from procexec.sandbox import Dialog, Sandbox, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import connect
from procexec.sandbox.owner import this_process
from procexec.sandbox.size_watch import YOUNG, SizeWatch
from tests.hostile.test_answers import markdown
from tests.hostile.world import make_world

pytestmark = pytest.mark.docker

MIB = 1 << 20


@pytest.fixture
def own_provider(request: pytest.FixtureRequest) -> Iterator[DockerProvider]:
    """A provider of a run of its own, for a watch that looks at nothing else."""
    client = connect()
    yield DockerProvider(
        client, this_process(f"limits-{os.getpid()}-{hash(request.node.name) % 9999}")
    )
    client.close()


def _watch(provider: DockerProvider, limit: int) -> SizeWatch:
    return SizeWatch(provider.client, provider.owner.run, provider.too_big, limit=limit)


def test_s06_files_without_end_are_stopped_near_the_limit_and_the_space_comes_back(
    own_provider: DockerProvider, git_request: SandboxRequest
) -> None:
    limit = 800 * MIB
    fill = (
        f"sleep {YOUNG}; i=0; while :; do i=$((i+1));"
        " head -c 200000000 /dev/zero > /tmp/f$i; sleep 0.2; done"
    )
    root = Path(str(own_provider.client.info()["DockerRootDir"]))
    before = _free(root)

    with _watch(own_provider, limit), own_provider.start(git_request) as sandbox:
        assert isinstance(sandbox, DockerSandbox)
        result = sandbox.run(fill, timeout=60, dialog=Dialog())
        size = _size(own_provider.client, sandbox.container)

    assert result.ending is Ending.DISK_LIMIT
    print(f"\nS06: ended at {size / MIB:.0f} MiB, limit {limit / MIB:.0f} MiB")
    assert limit < size < limit + 350 * MIB  # one file and what is written between two looks
    assert _free(root) > before - limit // 2  # others write, too


def _free(root: Path) -> int:
    os.sync()
    status = os.statvfs(root)
    return status.f_bavail * status.f_frsize


def _size(client: DockerClient, container: Container) -> int:
    rows = client.api.containers(all=True, size=True, filters={"id": str(container.id)})
    return int(rows[0]["SizeRw"])


def test_s06_a_sandbox_that_writes_little_is_left_alone(
    own_provider: DockerProvider, git_request: SandboxRequest
) -> None:
    with _watch(own_provider, 100 * MIB), own_provider.start(git_request) as sandbox:
        result = sandbox.run("sleep 5; echo fine", timeout=60, dialog=Dialog())

    assert result.output == "fine"
    assert own_provider.too_big == set()


@pytest.mark.nightly
def test_s09_empty_files_without_end_are_bounded_and_soon_removed(
    own_provider: DockerProvider, git_request: SandboxRequest
) -> None:
    flood = "cd /tmp; perl -e 'for (1..400_000) { open F, \">$_\" }'; echo made"
    with own_provider.start(git_request) as sandbox:
        result = sandbox.run(flood, timeout=120, dialog=Dialog())
        began = time.monotonic()
        changed = sandbox.changes()
        looked = time.monotonic() - began
        began = time.monotonic()
    removed = time.monotonic() - began

    print(
        f"\nS09: {result.ending} in {result.duration:.0f} s, look {looked:.1f} s, removal {removed:.1f} s"
    )
    assert result.ending in (Ending.EXITED, Ending.TIMED_OUT)
    assert len(changed.files) <= 20_001
    assert looked < 10
    assert removed < 10


def test_s11_busy_processes_get_one_processor_and_starve_nobody(
    provider: DockerProvider, git_request: SandboxRequest
) -> None:
    busy = "for i in 1 2 3 4; do while :; do :; done & done; wait"
    with provider.start(git_request) as calm, provider.start(git_request) as other:
        alone = _times(calm)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(other.run, busy, timeout=6, dialog=Dialog())
            time.sleep(1)
            used, seconds = _processor_of(other)
            beside = _times(calm)
            result = running.result()

    assert result.ending is Ending.TIMED_OUT
    print(
        f"\nS11: {used / seconds:.2f} processors; a calm step {alone:.3f} s alone, {beside:.3f} s beside"
    )
    assert used / seconds < 1.2
    assert beside < 2 * alone + 0.3


def _times(sandbox: Sandbox) -> float:
    """Return the time that nearly all of some small steps keep to."""
    spent = []
    for _ in range(10):
        began = time.monotonic()
        sandbox.run("ls / >/dev/null", timeout=10, dialog=Dialog())
        spent.append(time.monotonic() - began)
    return statistics.quantiles(spent, n=20)[-1]


def _processor_of(sandbox: Sandbox) -> tuple[float, float]:
    """Return how much processor time a container takes, and in which time."""
    assert isinstance(sandbox, DockerSandbox)
    readings = []
    for _ in range(2):
        stats = sandbox.container.stats(stream=False)
        assert isinstance(stats, dict)
        readings.append((stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9, time.monotonic()))
    (used, began), (more, end) = readings
    return more - used, end - began


GIB = {
    "S12 through a pipe": "yes 0123456789abcdef | head -c 1073741824; echo",
    "S13 by one program": "perl -e '$x = q(x) x 1048576; print $x for 1..1024'",
}


@pytest.mark.nightly
def test_s12_s13_a_gib_of_output_takes_no_memory(tmp_path: Path) -> None:
    world = make_world(tmp_path, step_timeout=120.0)
    answers = {name: markdown(("echo done > ~/note", step)) for name, step in GIB.items()}

    done = world.judge(answers, "-q")

    assert done.broken == ()
    for name in GIB:
        step = done.results[name].steps[-1]
        finding = done.results[name].findings[0]
        print(
            f"\n{name}: {step.ending}, {finding.message}, {done.peak_mib:.0f} MiB, {done.seconds:.0f} s"
        )
        assert done.results[name].verdict is Verdict.FAIL
        assert step.ending == Ending.OUTPUT_LIMIT
    assert done.peak_mib < 200


@pytest.mark.parametrize("case", GIB)
@pytest.mark.nightly
def test_a_gib_of_output_is_stopped_and_its_head_and_tail_are_kept(
    root: DockerSandbox, case: str
) -> None:
    result = root.run(GIB[case], timeout=120, dialog=Dialog())

    assert result.ending is Ending.OUTPUT_LIMIT
    assert 256 * MIB < result.size_bytes < 300 * MIB
    assert len(result.output) < 300_000
    assert "bytes left out" in result.output
    assert root.run("echo next", timeout=10, dialog=Dialog()).output == "next"
