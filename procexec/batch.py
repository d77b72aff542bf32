"""A run: workers over a workload, results kept as they come, nothing lost when it is stopped."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue

from procexec.errors import ProcexecError
from procexec.pipeline import Evaluation, Result, Tools, broken, judged, unmatched
from procexec.sandbox.grants import grade
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

    ``begun`` is told the key of each result that is being made. ``bugs`` are the errors that nobody
    foresaw: each cost its own answer only. ``given_up``: the test bed failed so often in a row that
    no more work was handed out.
    """

    library: Library
    benches: Benches
    tools: Tools
    workers: int
    key_of: Callable[[Job, str], str]
    begun: Callable[[str], None] = lambda _key: None
    stop: threading.Event = field(default_factory=threading.Event)
    bugs: list[Exception] = field(default_factory=list)
    given_up: bool = False
    unsteady: int = 0

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
            self._count(item.result)

    def _count(self, result: Result) -> None:
        """Give up once as many results as are made at a time, and more, fail in a row."""
        self.unsteady = self.unsteady + 1 if result.unsteady else 0
        if self.unsteady >= self.workers + AHEAD:
            self.given_up = True
            self.stop.set()

    def _evaluate(self, job: Job, told: "Queue[Done | Ended]") -> None:
        error: BaseException | None = None
        try:
            for done in self._timed(job):
                told.put(done)
        except BaseException as e:  # noqa: BLE001 - a bug, raised again where results are taken
            error = e
        told.put(Ended(error))

    def _timed(self, job: Job) -> Iterator[Done]:
        result_on = self._maker(job)
        for version in job.versions:
            if self.stop.is_set():
                return
            self.begun(f"{job.answer.id}@{version}")
            began = time.monotonic()
            result = self._guarded(result_on, job, version)
            keyed = replace(
                result.answer,
                reuse_key=self.key_of(job, result.answer.version),
                grade=self._grade(job, version),
            )
            seconds = time.monotonic() - began
            yield Done(job=job, result=replace(result, answer=keyed), seconds=seconds)

    def _grade(self, job: Job, version: str) -> str:
        if job.procedure is None:
            return ""
        return grade(self.library.sandboxes[job.procedure.product, version].spec.grants).value

    def _guarded(self, result_on: Callable[[str], Result], job: Job, version: str) -> Result:
        """Return the result on a version; a bug in making it is an error of this one, and is kept."""
        try:
            return result_on(version)
        except Exception as e:  # noqa: BLE001 - the boundary of one answer: the others go on
            self.bugs.append(e)
            error = ProcexecError(
                f"a bug in procexec: {type(e).__name__}", hint="its traceback is on standard error"
            )
            return Result(answer=broken(job.answer, job.line, version, error))

    def _maker(self, job: Job) -> Callable[[str], Result]:
        """Return what makes a job's result on a version; what is tried once serves all versions."""
        if job.unmatched:
            return lambda version: Result(
                answer=unmatched(job.answer, job.line, version, job.unmatched)
            )
        if job.procedure is None:
            return lambda version: self._uncovered(job, version)
        evaluation = Evaluation(
            answer=job.answer,
            line=job.line,
            benches=self.benches.of(job.procedure),
            tools=self.tools,
            notes=job.notes,
        )
        return lambda version: next(evaluation.results([version]))

    def _uncovered(self, job: Job, version: str) -> Result:
        folder = self.library.sandboxes.get((job.answer.product or "", version))
        spec = folder.spec if folder else next(iter(self.library.sandboxes.values())).spec
        trial = uncovered(job.answer, job.line, version, hints_of(spec))
        return Result(answer=judged(trial, self.tools.judge))


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
