"""Whole runs on an engine that is away, killed, frozen, slow, wrong or full: nothing becomes a fail."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docker import DockerClient

from procexec.model.result import Owner, Verdict
from procexec.sandbox.engine import ensure
from tests.hostile.bench import (
    RIGHT,
    WRONG,
    Bench,
    Finished,
    all_pass,
    image_tag,
    left_by,
    make_bench,
    many,
)
from tests.hostile.fault_proxy import Fault, FaultProxy, How
from tests.hostile.private_engine import PrivateEngine

pytestmark = pytest.mark.docker

LONG = "Wait and leave a note:\n\n```sh\nsleep 8 && echo done > ~/note\n```\n"
ENGINE = "/var/run/docker.sock"


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path / "bench")


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[FaultProxy]:
    with FaultProxy(tmp_path / "p.sock", ENGINE) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def engine(client: DockerClient) -> Iterator[PrivateEngine]:
    with PrivateEngine() as engine:
        engine.load(client, image_tag(client))
        yield engine


def until(condition: Callable[[], bool], patience: float = 60) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def assert_complete(bench: Bench, done: Finished, client: DockerClient) -> None:
    """Check that no answer was lost or given a verdict twice, and that nothing is left."""
    keys = [f"{row['id']}@{row['version']}" for row in bench.rows if row["verdict"] != "error"]
    assert len(keys) == len(set(keys))
    assert left_by(client, done.pid) == []


def test_e01_without_an_engine_it_ends_at_once_and_names_the_socket(bench: Bench) -> None:
    bench.write(many(2))
    bench.engine = "unix:///nowhere/at-all.sock"
    began = time.monotonic()

    done = bench.run()

    assert done.code == 4
    assert "/nowhere/at-all.sock" in done.told
    assert time.monotonic() - began < 5
    assert bench.rows == []


@pytest.mark.nightly
def test_e02_an_engine_that_is_killed_in_a_step_fails_no_answer(
    bench: Bench, engine: PrivateEngine
) -> None:
    bench.write({"right": RIGHT, "long": LONG})
    bench.engine = engine.url
    run = bench.start(jobs=1)
    until(lambda: "right" in bench.verdicts)
    time.sleep(2)

    engine.kill()
    done = bench.finish(run)
    engine.start()

    assert done.code == 4
    assert bench.verdicts == {"right": Verdict.PASS, "long": Verdict.ERROR}
    assert bench.results["long"].owner is Owner.ENVIRONMENT
    assert bench.resume().code == 0
    assert all_pass(bench.verdicts, ["right", "long"])
    with closing(engine.client()) as mine:
        assert_complete(bench, done, mine)


def test_e02_an_engine_that_comes_back_at_once_costs_no_answer(
    bench: Bench, engine: PrivateEngine
) -> None:
    bench.write({"right": RIGHT, "long": LONG})
    bench.engine = engine.url
    run = bench.start(jobs=1)
    until(lambda: "right" in bench.verdicts)
    time.sleep(2)

    engine.kill()
    engine.start()
    done = bench.finish(run)

    assert done.code == 0, done.told
    assert all_pass(bench.verdicts, ["right", "long"])
    assert any("begun again" in note for note in bench.results["long"].notes)


def test_e03_an_engine_that_freezes_for_a_while_runs_no_step_twice(
    bench: Bench, engine: PrivateEngine
) -> None:
    twice = "Note it:\n\n```sh\necho done >> ~/note\n```\n\n```sh\nsleep 4\n```\n"
    bench.write({"first": RIGHT, "frozen": twice})
    bench.engine = engine.url
    run = bench.start(jobs=1)
    until(lambda: "first" in bench.verdicts)
    time.sleep(1.5)

    engine.freeze()
    time.sleep(12)
    engine.thaw()
    done = bench.finish(run)

    assert done.code in (0, 1), done.told
    assert Verdict.ERROR not in bench.verdicts.values()
    assert len(bench.rows) == 2


@pytest.mark.nightly
def test_e04_an_engine_that_is_late_gives_the_same_results(
    bench: Bench, proxy: FaultProxy, client: DockerClient
) -> None:
    bench.write({"right": RIGHT, "wrong": WRONG})
    prompt = bench.run()
    before = bench.verdicts
    late = make_bench(bench.folder / "late")
    late.write({"right": RIGHT, "wrong": WRONG})
    late.engine = proxy.url
    proxy.faults.append(Fault(on=".", how=How.LATE, seconds=0.3))

    done = late.run()

    assert (prompt.code, done.code) == (1, 1)
    assert late.verdicts == before == {"right": Verdict.PASS, "wrong": Verdict.FAIL}
    assert_complete(late, done, client)


@pytest.mark.nightly
def test_e07_server_errors_for_ever_are_the_test_beds_and_stop_the_run(
    bench: Bench, proxy: FaultProxy, client: DockerClient
) -> None:
    bench.write(many(6))
    bench.engine = proxy.url
    proxy.faults.append(Fault(on=r"^POST \S*/containers/\w+/start", how=How.WRONG))

    done = bench.run(jobs=1)

    assert done.code == 4
    assert set(bench.verdicts.values()) == {Verdict.ERROR}
    assert len(bench.rows) < 6
    assert "--resume" in done.told
    assert_complete(bench, done, client)


@pytest.mark.nightly
def test_e13_an_engine_whose_disk_is_full_stops_the_run_and_resume_completes_it(
    bench: Bench, proxy: FaultProxy, client: DockerClient
) -> None:
    bench.write(many(8))
    bench.engine = proxy.url
    full = Fault(
        on=r"^POST \S*/containers/create", how=How.WRONG, message="no space left on device"
    )
    proxy.faults.append(full)

    done = bench.run(jobs=1)

    assert done.code == 4
    assert len(bench.rows) < 8
    assert "no space left on device" in done.said
    proxy.faults.clear()
    assert bench.resume().code == 0
    assert all_pass(bench.verdicts, list(many(8)))
    assert_complete(bench, done, client)


def test_e12_a_run_keeps_the_image_that_it_began_with(
    bench: Bench, engine: PrivateEngine, client: DockerClient
) -> None:
    tag = image_tag(client)
    bench.write({"first": RIGHT, **many(4)})
    bench.engine = engine.url
    with closing(engine.client()) as mine:
        right = mine.images.get(tag)
        run = bench.start(jobs=1)
        until(lambda: len(bench.rows) >= 1)
        maker = mine.containers.create(tag, ["true"])
        other = maker.commit(conf={"Env": ["OTHER=1"]})
        other.tag(*tag.split(":"))
        maker.remove()
        try:
            done = bench.finish(run)
        finally:
            right.tag(*tag.split(":"))
            mine.images.remove(str(other.id), force=True)

    assert done.code == 0, done.told
    assert len(bench.rows) == 5


def test_e10_an_answer_that_ends_its_sandbox_while_that_is_looked_at_fails(tmp_path: Path) -> None:
    goal = [{"id": "noted", "run": "sleep 3; cat /root/note", "exit": 0}]
    bench = make_bench(tmp_path / "root", user="root", workdir="/root", goal=goal)
    late = "echo done > ~/note\n(sleep 1.5; kill -TERM 1) >/dev/null 2>&1 &"
    bench.write({"late": f"Do:\n\n```sh\n{late}\n```\n", "right": RIGHT})

    done = bench.run()

    assert done.code == 1
    assert bench.verdicts == {"late": Verdict.FAIL, "right": Verdict.PASS}
    assert "killed the sandbox" in done.said
