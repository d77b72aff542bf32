"""Whole runs that are interrupted, killed, started twice, resumed, or run where things are damaged."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from docker import DockerClient

from procexec.model.result import Verdict
from procexec.report.journal import encoded
from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider
from procexec.sandbox.engine import connect, ensure
from procexec.sandbox.owner import RUN, Owner, is_dead, reap, this_process
from procexec.sandbox.size_watch import SizeWatch
from tests.hostile.bench import (
    PRODUCT,
    RIGHT,
    VERSION,
    WRONG,
    Bench,
    all_pass,
    image_tag,
    left_by,
    make_bench,
    many,
)
from tests.hostile.fault_proxy import Fault, FaultProxy, How

pytestmark = pytest.mark.docker

HERE = Path(__file__).parent
ENGINE = "/var/run/docker.sock"
SLOW = "Wait and leave a note:\n\n```sh\nsleep 15 && echo done > ~/note\n```\n"


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path / "bench")


@pytest.fixture
def request_(client: DockerClient) -> SandboxRequest:
    image = client.images.get(image_tag(client))
    return SandboxRequest(image=str(image.id), user="dev", workdir="/home/dev")


def until(condition: Callable[[], bool], patience: float = 60) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


# --- interrupted ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        pytest.param([signal.SIGINT], 130, id="e14-interrupt"),
        pytest.param([signal.SIGINT, signal.SIGINT], 130, id="e15-two-interrupts"),
        pytest.param([signal.SIGTERM], 143, id="e15-terminate"),
        pytest.param([signal.SIGHUP], 129, id="e15-hang-up"),
    ],
)
def test_a_signal_ends_a_run_and_leaves_no_container(
    bench: Bench, client: DockerClient, signals: list[signal.Signals], code: int
) -> None:
    bench.write({"first": RIGHT, "slow": SLOW, "slower": SLOW + "\n"})
    run = bench.start()
    until(lambda: "first" in bench.verdicts and len(left_by(client, run.pid)) >= 2)
    began = time.monotonic()

    for number in signals:
        run.send_signal(number)
        time.sleep(0.1)
    done = bench.finish(run)

    assert done.code == code
    assert time.monotonic() - began < 30  # 2 s idle; the machine may be busy
    assert bench.verdicts == {"first": Verdict.PASS}
    assert left_by(client, run.pid) == []


@pytest.mark.parametrize(
    ("answers", "kills"),
    [
        pytest.param(16, 5, id="few"),
        pytest.param(400, 40, id="many", marks=pytest.mark.nightly),
    ],
)
def test_e16_a_run_that_is_killed_at_random_loses_and_doubles_nothing(
    bench: Bench, client: DockerClient, answers: int, kills: int
) -> None:
    bench.write(many(answers))
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    done = 0
    while True:
        resume = ("--resume", str(bench.out)) if bench.out.exists() else ()
        run = bench.start(*resume, jobs=4)
        if done >= kills or _ends_before(bench, run, chance, chance.randint(0, answers // kills)):
            run.wait(1800)
            break
        run.kill()
        run.communicate()
        done += 1
        acknowledged |= set(bench.verdicts)
        if chance.random() < 0.3 and bench.rows:
            with (bench.out / "results.jsonl").open("ab") as journal:
                journal.write(b'{"id":"torn'[: chance.randint(1, 11)])
    code = run.returncode
    run.communicate()

    ids = [str(row["id"]) for row in bench.rows]
    print(f"seed {seed}: {done} kills, {len(ids)} rows, {len(set(ids))} answers, exit {code}")
    assert code == 0, seed
    assert done >= kills // 2
    assert sorted(ids) == sorted(many(answers)), seed
    assert acknowledged <= set(ids)
    assert set(bench.verdicts.values()) == {Verdict.PASS}
    ours: dict[str, str | list[str] | bool] = {"label": RUN}
    left = client.containers.list(all=True, sparse=True, filters=ours)
    assert [c for c in left if is_dead(c.attrs.get("Labels") or {})] == []


def _ends_before(
    bench: Bench, run: "subprocess.Popen[str]", chance: random.Random, more: int
) -> bool:
    """Wait for so many more rows, and a little; tell whether the run has ended meanwhile."""
    begun = _lines(bench)
    while run.poll() is None and _lines(bench) < begun + more:
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 0.5) if more else chance.uniform(0, 2))
    return run.poll() is not None


def _lines(bench: Bench) -> int:
    path = bench.out / "results.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


# --- at the same time -------------------------------------------------------------------------


def test_e17_a_second_run_on_the_same_folder_is_refused(bench: Bench) -> None:
    bench.write({"slow": SLOW})
    first = bench.start()
    until(lambda: (bench.out / "manifest.json").exists())

    second = bench.run()

    assert second.code == 2
    assert "another procexec writes" in second.told
    first.send_signal(signal.SIGINT)
    bench.finish(first)


def test_e18_two_runs_on_one_engine_leave_each_others_containers(
    bench: Bench, tmp_path: Path, client: DockerClient
) -> None:
    other = make_bench(tmp_path / "other")
    bench.write(many(6))
    other.write(many(6))
    one = bench.start()
    until(lambda: bool(left_by(client, one.pid)))

    done = other.run()
    first = bench.finish(one)

    assert (first.code, done.code) == (0, 0)
    assert all_pass(bench.verdicts, list(many(6)))
    assert all_pass(other.verdicts, list(many(6)))


@pytest.mark.nightly
def test_e22_sixty_four_answers_at_once_all_get_their_verdict(
    bench: Bench, client: DockerClient
) -> None:
    bench.write(many(64))
    run = bench.start(jobs=64)
    most = 0
    while run.poll() is None:
        most = max(most, _open_files(run.pid))
        time.sleep(0.2)
    done = bench.finish(run)

    assert done.code == 0, done.told
    assert all_pass(bench.verdicts, list(many(64)))
    assert left_by(client, run.pid) == []
    assert most < 64 * 12


def _open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - only the number counts
    except OSError:
        return 0


# --- whose a container is ---------------------------------------------------------------------


def test_e19_an_owner_is_dead_after_reuse_of_its_number_a_reboot_or_its_deadline() -> None:
    mine = this_process("e19")

    def dead(**other: object) -> bool:
        known = {name: getattr(mine, name) for name in ("run", "pid", "start", "boot", "host")}
        return is_dead(Owner(**(known | {"deadline": mine.deadline} | other)).labels("a"))

    assert not dead()
    assert dead(start=str(int(mine.start) - 1))
    assert dead(boot="an earlier one")
    assert dead(host="elsewhere.invalid", deadline=int(time.time()) - 1)
    assert not dead(host="elsewhere.invalid")


def test_e29_a_container_that_is_stuck_holds_up_nobody(
    tmp_path: Path, client: DockerClient, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = Owner(run="e29", pid=1 << 22, start="1", boot="none", host=this_process("x").host)
    stuck, other = (
        client.containers.create(request_.image, ["true"], labels=far.labels("x")) for _ in range(2)
    )
    try:
        with FaultProxy(tmp_path / "p.sock", ENGINE) as proxy:
            proxy.faults.append(Fault(on=f"/{stuck.id}", how=How.LATE, seconds=300))
            monkeypatch.setenv("DOCKER_HOST", proxy.url)
            through = connect()
            began = time.monotonic()
            removed = reap(through)
            took = time.monotonic() - began
            proxied = through.api.containers(filters={"label": RUN})
            through.close()
    finally:
        stuck.remove(force=True)

    assert str(other.name) in removed
    assert str(stuck.name) not in removed
    assert took < 20
    assert isinstance(proxied, list)


# --- bugs and clocks --------------------------------------------------------------------------


def test_e20_a_bug_that_one_answer_meets_costs_only_that_answer(bench: Bench) -> None:
    bench.write({"before": RIGHT, "bug": f"trip over this\n\n{RIGHT}", "after": RIGHT + "\n"})
    bench.environment["PYTHONPATH"] = str(HERE / "injected" / "bug")

    done = bench.run()

    assert done.code == 3
    assert "put in by a test" in done.told
    assert bench.verdicts == {
        "before": Verdict.PASS,
        "bug": Verdict.ERROR,
        "after": Verdict.PASS,
    }
    assert (bench.out / "junit.xml").exists()


def test_e21_a_clock_that_jumps_makes_no_duration_negative(bench: Bench) -> None:
    bench.write({"right": RIGHT, "wrong": WRONG})
    bench.environment["PYTHONPATH"] = str(HERE / "injected" / "clock")

    done = bench.run()

    assert done.code == 1, done.told
    assert bench.verdicts == {"right": Verdict.PASS, "wrong": Verdict.FAIL}
    for row in bench.rows:
        times = row["times"]
        assert isinstance(times, dict)
        assert 0 <= times["seconds"] < 60


# --- resumed ----------------------------------------------------------------------------------


@pytest.mark.nightly
def test_e23_after_a_change_exactly_what_it_touches_is_run_again(bench: Bench) -> None:
    answers = many(3)
    bench.write(answers)
    bench.run()

    def run_again() -> list[str]:
        before = len(bench.rows)
        assert bench.resume().code == 0
        return sorted(str(row["id"]) for row in bench.rows[before:])

    assert run_again() == []
    bench.write(answers | {"a1": answers["a1"] + "\nWith a new line.\n"})
    assert run_again() == ["a1"]
    procedure = bench.folder / "procedures" / PRODUCT / "note.yaml"
    procedure.write_text(procedure.read_text().replace("Leave a note", "Leave that note"))
    assert run_again() == sorted(answers)
    sandbox = bench.folder / "sandboxes" / PRODUCT / VERSION / "sandbox.yaml"
    sandbox.write_text(sandbox.read_text().replace("192m", "193m"))
    assert run_again() == sorted(answers)
    opinions = bench.folder / "opinions.jsonl"
    opinions.write_text("")
    before = len(bench.rows)
    assert bench.resume("--judge", f"scripted:{opinions}").code == 0
    assert len(bench.rows) == before + 3


@pytest.mark.nightly
def test_e24_errors_of_the_test_bed_are_run_again_and_failures_are_not(
    bench: Bench, tmp_path: Path
) -> None:
    bench.write({"wrong": WRONG, "right": RIGHT})
    assert bench.run("--select", "wrong").code == 1
    with FaultProxy(tmp_path / "p.sock", ENGINE) as proxy:
        proxy.faults.append(Fault(on=r"^POST \S*/containers/create", how=How.WRONG))
        bench.engine = proxy.url
        assert bench.resume().code == 4
    bench.engine = ""

    done = bench.resume()

    assert done.code == 1
    assert bench.verdicts == {"wrong": Verdict.FAIL, "right": Verdict.PASS}
    assert [row["verdict"] for row in bench.rows if row["id"] == "wrong"] == ["fail"]
    assert [row["verdict"] for row in bench.rows if row["id"] == "right"] == ["error", "pass"]


def test_e25_a_damaged_journal_is_put_aside_or_refused_never_skipped(bench: Bench) -> None:
    bench.write(many(2))
    bench.run()
    journal = bench.out / "results.jsonl"
    whole = journal.read_bytes()

    journal.write_bytes(whole[:-7])
    torn = bench.resume()
    assert torn.code == 0
    assert "cut off" in torn.told
    assert list(bench.out.glob("*.torn-*"))
    assert all_pass(bench.verdicts, list(many(2)))

    flipped = bytearray(whole)
    flipped[40] ^= 1
    journal.write_bytes(flipped)
    refused = bench.resume()
    assert refused.code == 4
    assert "at byte 0" in refused.told
    assert journal.read_bytes() == flipped

    journal.write_bytes(whole + encoded({"schema": 99, "verdict": "splendid"}))
    assert bench.resume().code == 2

    journal.unlink()
    assert bench.resume().code == 0
    assert all_pass(bench.verdicts, list(many(2)))


def test_e26_a_disk_that_is_full_stops_the_run_and_keeps_what_was_told(bench: Bench) -> None:
    bench.write(many(24))
    with _small_disk(bench.out, 48):
        done = bench.run()

        assert done.code == 4, done.told
        assert "No space left on device" in done.told
        rows = len(bench.rows)
        assert 0 < rows < 24
        assert not list(bench.out.rglob(".tmp-*"))
        subprocess.run(["mount", "-o", "remount,size=4m", bench.out], check=True)
        assert bench.resume().code == 0
        assert all_pass(bench.verdicts, list(many(24)))


@contextmanager
def _small_disk(folder: Path, kib: int) -> Iterator[None]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


# --- containers -------------------------------------------------------------------------------


def test_e27_what_an_image_wants_of_its_own_is_overridden(
    client: DockerClient, request_: SandboxRequest
) -> None:
    maker = client.containers.create(request_.image, ["true"])
    image = maker.commit(
        conf={
            "Entrypoint": ["/bin/sh", "-c", "exit 7"],
            "Volumes": {"/data": {}},
            "User": "nobody",
            "WorkingDir": "/proc/self/fd",
            "Healthcheck": {"Test": ["CMD", "false"], "Interval": 1_000_000_000},
            "Env": ["BASH_ENV=/evil", "PATH=/usr/bin:/bin"],
        }
    )
    maker.remove()
    before = {volume.id for volume in client.volumes.list()}
    request = SandboxRequest(image=str(image.id), user="dev", workdir="/home/dev")
    try:
        with DockerProvider(client, this_process("e27")).start(request) as sandbox:
            seen = sandbox.run("id -un; pwd", timeout=10, dialog=Dialog())
            sandbox.container.reload()
            health = sandbox.container.attrs["State"].get("Health")
            made = {volume.id for volume in client.volumes.list()} - before
        left = {volume.id for volume in client.volumes.list()}
    finally:
        client.images.remove(str(image.id), force=True)

    assert seen.output == "dev\n/home/dev"
    assert not health or health["Status"] == "none"
    assert not made & left


@pytest.mark.parametrize(
    "rounds", [4, pytest.param(100, marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_e28_everything_at_once_gets_no_container_stuck(
    client: DockerClient, request_: SandboxRequest, rounds: int
) -> None:
    provider = DockerProvider(client, this_process("e28"))
    with SizeWatch(client, "e28", provider.too_big):
        for _ in range(rounds):
            with provider.start(request_) as sandbox:
                work = [
                    lambda: sandbox.run("sleep 30", timeout=0.3, dialog=Dialog()),
                    lambda: sandbox.execute("true", user="root", cwd="/", timeout=5),
                    lambda: sandbox.deliver([f"echo {time.monotonic()}"]),
                    sandbox.changes,
                ]
                sandbox.run("true", timeout=5, dialog=Dialog())
                threads = [threading.Thread(target=task) for task in work]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(20)
                    assert not thread.is_alive()
                began = time.monotonic()
                client.api.inspect_container(str(sandbox.container.id))
                assert time.monotonic() - began < 1
