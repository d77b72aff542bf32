"""A run: workers over a workload, results kept as they come, nothing lost when it is stopped."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue

from procexec.pipeline import Evaluation, Result, Tools, judged
from procexec.trial import hints_of, uncovered
from procexec.workload import Benches, Job, Library

AHEAD = 2  # jobs handed out beyond the workers, so that none waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A result with the job that it belongs to; ``seconds`` it took."""

    job: Job
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A job has no result left; ``error`` is a bug that it met."""

    error: BaseException | None = None


@dataclass(slots=True, kw_only=True)
class Batch:
    """Evaluates jobs on several workers. ``key_of`` gives a result's reuse key.

    ``begun`` is told the key of each result that is being made.
    """

    library: Library
    benches: Benches
    tools: Tools
    workers: int
    key_of: Callable[[Job, str], str]
    begun: Callable[[str], None] = lambda _key: None
    stop: threading.Event = field(default_factory=threading.Event)

    def results(self, jobs: Iterator[Job], known: Callable[[Job, str], bool]) -> Iterator[Done]:
        """Yield each result as it comes, in any order; those that are known are left out.

        Hands out no more work, and drops what was not finished, once ``stop`` is set.
        """
        told: Queue[Done | Ended] = Queue()
        running = 0
        with ThreadPoolExecutor(self.workers, thread_name_prefix="answer") as pool:
            for job in jobs:
                versions = tuple(v for v in job.versions if not known(job, v))
                if self.stop.is_set():
                    break
                if versions:
                    pool.submit(self._evaluate, replace(job, versions=versions), told)
                    running += 1
                while running >= self.workers + AHEAD:
                    item = told.get()
                    running -= isinstance(item, Ended)
                    yield from self._kept(item)
            while running:
                item = told.get()
                running -= isinstance(item, Ended)
                yield from self._kept(item)

    def _kept(self, item: "Done | Ended") -> Iterator[Done]:
        if isinstance(item, Ended):
            if item.error is not None:
                raise item.error
        elif not self.stop.is_set():
            yield item

    def _evaluate(self, job: Job, told: "Queue[Done | Ended]") -> None:
        error: BaseException | None = None
        try:
            for done in self._timed(job):
                told.put(done)
        except BaseException as e:  # noqa: BLE001 - a bug, raised again where results are taken
            error = e
        told.put(Ended(error))

    def _timed(self, job: Job) -> Iterator[Done]:
        results = self._of(job)
        for version in job.versions:
            if self.stop.is_set():
                return
            self.begun(f"{job.answer.id}@{version}")
            began = time.monotonic()
            result = next(results)
            keyed = replace(result.answer, reuse_key=self.key_of(job, result.answer.version))
            seconds = time.monotonic() - began
            yield Done(job=job, result=replace(result, answer=keyed), seconds=seconds)

    def _of(self, job: Job) -> Iterator[Result]:
        if job.procedure is None:
            yield from self._uncovered(job)
            return
        evaluation = Evaluation(
            answer=job.answer,
            line=job.line,
            benches=self.benches.of(job.procedure),
            tools=self.tools,
            notes=job.notes,
        )
        yield from evaluation.results(job.versions)

    def _uncovered(self, job: Job) -> Iterator[Result]:
        for version in job.versions:
            folder = self.library.sandboxes.get((job.answer.product or "", version))
            spec = folder.spec if folder else next(iter(self.library.sandboxes.values())).spec
            trial = uncovered(job.answer, job.line, version, hints_of(spec))
            yield Result(answer=judged(trial, self.tools.judge))


def default_workers() -> int:
    """Return twice the processors that this process may use, at most 16.

    Measured on two processors: four containers at a time use them best.
    """
    return max(2, min(16, round(2 * _processors())))


def _processors() -> float:
    allowed = float(len(os.sched_getaffinity(0)))
    for quota in (_quota_v2(), _quota_v1()):
        if quota is not None:
            return min(allowed, quota)
    return allowed


def _quota_v2() -> float | None:
    words = _read("/sys/fs/cgroup/cpu.max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def _quota_v1() -> float | None:
    quota = _read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").strip()
    period = _read("/sys/fs/cgroup/cpu/cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
