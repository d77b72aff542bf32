"""Time a six-step answer on our sandbox, beside `docker run` and an exec for each step.

All runners take turns, so that a busy neighbour slows them alike; only the ratios are checked.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

from docker import DockerClient

from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider
from procexec.sandbox.engine import ensure
from procexec.sandbox.images import list_images
from procexec.sandbox.owner import this_process

STEPS = (
    "mkdir -p work && cd work",
    "export MODE=prod",
    'echo "mode=$MODE" > config',
    "for i in 1 2 3; do echo line $i >> log; done",
    "grep -c . log",
    "test -f config && pwd",
)
FOLDER = "/root/work"
OUTPUT = ["", "", "", "", "3", FOLDER]
CONTENT = "mode=prod\n"
CHANGED = {FOLDER, f"{FOLDER}/config", f"{FOLDER}/log"}
RUN_LIMIT = 2.0  # ours / docker run
EXEC_LIMIT = 0.75  # ours / an exec for each step
STEP_LIMIT = 5.0  # ms, the median with one worker: more workers than cores wait for each other
WORKERS = (1, 4)

Runner = Callable[[], Iterable[float]]
"""Runs one answer in a container of its own, gone afterwards; gives the seconds of each step."""


def main() -> int:
    options = _parser().parse_args()
    client = ensure(pool_size=2 * max(WORKERS) + 4)
    image = options.image or str(list_images(client)[0].id)
    provider = DockerProvider(client, this_process("overhead"))
    runners: dict[str, Runner] = {
        "ours": lambda: _ours(provider, image),
        "docker run": lambda: _one_script(image),
        "exec a step": lambda: _exec_a_step(client, image),
    }
    good = [_compare(runners, answers=options.answers, workers=count) for count in WORKERS]
    client.close()
    return 0 if all(good) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=20, help="for each runner")
    parser.add_argument("--image", default="", help="an image id; default: one that procexec made")
    return parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a runner took: seconds for an answer, milliseconds for a step (the median)."""

    answer: float
    step: float


def _compare(runners: dict[str, Runner], *, answers: int, workers: int) -> bool:
    """Print a table for one number of workers; tell whether we are quick enough."""
    timings = _timed(runners, answers=answers, workers=workers)
    ours, run, execs = timings["ours"], timings["docker run"], timings["exec a step"]
    to_run, to_execs = ours.answer / run.answer, ours.answer / execs.answer
    print(f"{workers} workers, {answers} answers each")
    for name, timing in timings.items():
        print(f"  {name:12} {timing.answer:6.3f} s/answer {timing.step:7.2f} ms/step")
    print(f"  ours / docker run  {to_run:5.2f}  (limit {RUN_LIMIT})")
    print(f"  ours / exec a step {to_execs:5.2f}  (limit {EXEC_LIMIT})")
    quick = workers > 1 or ours.step < STEP_LIMIT
    return quick and to_run <= RUN_LIMIT and to_execs <= EXEC_LIMIT


def _timed(runners: dict[str, Runner], *, answers: int, workers: int) -> dict[str, Timing]:
    """Time the runners in rounds of one answer a worker, so that they share the machine's moods."""
    seconds = dict.fromkeys(runners, 0.0)
    steps: dict[str, list[float]] = {name: [] for name in runners}
    with ThreadPoolExecutor(workers) as pool:
        for size in _rounds(answers, workers):
            for name, runner in runners.items():
                began = perf_counter()
                for times in pool.map(lambda _, runner=runner: list(runner()), range(size)):
                    steps[name] += times
                seconds[name] += perf_counter() - began
    return {
        name: Timing(
            answer=seconds[name] / answers, step=1000 * statistics.median(steps[name] or [0.0])
        )
        for name in runners
    }


def _rounds(answers: int, workers: int) -> Iterator[int]:
    """Yield how many answers each round has: enough to keep the workers busy."""
    size = 1 if workers == 1 else 2 * workers
    for done in range(0, answers, size):
        yield min(size, answers - done)


def _ours(provider: DockerProvider, image: str) -> Iterator[float]:
    with provider.start(SandboxRequest(image=image, scripts=STEPS)) as sandbox:
        for step, wanted in zip(STEPS, OUTPUT, strict=True):
            began = perf_counter()
            result = sandbox.run(step, timeout=30, dialog=Dialog())
            yield perf_counter() - began
            _check(result.exit_code == 0 and result.output == wanted, result)
        files = sandbox.changes().files
        _check(set(files) == CHANGED, files)
        config = files[f"{FOLDER}/config"]
        _check(config is not None and config.text == CONTENT, config)


def _one_script(image: str) -> Iterator[float]:
    script = "\n".join(("set -e", "cd", *STEPS, f"cat {FOLDER}/config"))
    command = ["docker", "run", "--rm", "--network=none", "--workdir=/root", "--user=0", image]
    done = subprocess.run(
        [*command, "bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    _check(done.returncode == 0 and done.stdout == f"3\n{FOLDER}\n{CONTENT}", done)
    yield from ()


def _exec_a_step(client: DockerClient, image: str) -> Iterator[float]:
    container = client.containers.run(
        image, ["sleep", "infinity"], network_mode="none", init=True, user="0", detach=True
    )
    try:
        for count, wanted in enumerate(OUTPUT):
            carried = f"cd {FOLDER if count else '/root'}; export MODE=prod\n"
            began = perf_counter()
            done = container.exec_run(["bash", "-c", carried + STEPS[count]])
            yield perf_counter() - began
            _check(done.exit_code == 0 and done.output == (wanted and f"{wanted}\n").encode(), done)
        config = container.exec_run(["cat", f"{FOLDER}/config"]).output
        _check(config == CONTENT.encode(), config)
        changed = {row["Path"] for row in container.diff() or []}
        _check(changed >= CHANGED, changed)
    finally:
        container.remove(force=True, v=True)


def _check(holds: bool, seen: object) -> None:
    if not holds:
        raise AssertionError(f"a runner did not do the work: {seen}")


if __name__ == "__main__":
    sys.exit(main())
