"""A run: workers over a workload, results kept as they come, nothing lost when it is stopped."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

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


@dataclass(slots=True, kw_only=True)
class Batch:
    """Evaluates jobs on several workers. ``key_of`` gives a result's reuse key."""

    library: Library
    benches: Benches
    tools: Tools
    workers: int
    key_of: Callable[[Job, str], str]
    stop: threading.Event = field(default_factory=threading.Event)
    current: dict[int, str] = field(default_factory=dict)

    def results(self, jobs: Iterator[Job], known: Callable[[Job, str], bool]) -> Iterator[Done]:
        """Yield results as they come, in any order; those that are known already are left out.

        Stops handing out work, and drops what was not finished, once ``stop`` is set.
        """
        with ThreadPoolExecutor(self.workers, thread_name_prefix="answer") as pool:
            pending: set[Future[list[Done]]] = set()
            for job in jobs:
                versions = tuple(v for v in job.versions if not known(job, v))
                if self.stop.is_set():
                    break
                if not versions:
                    continue
                pending.add(pool.submit(self._evaluate, replace(job, versions=versions)))
                if len(pending) >= self.workers + AHEAD:
                    yield from self._finished(pending)
            while pending:
                yield from self._finished(pending)

    def _finished(self, pending: set[Future[list[Done]]]) -> Iterator[Done]:
        done, rest = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
        pending.clear()
        pending |= rest
        for future in done:
            for item in future.result():
                if not self.stop.is_set():
                    yield item

    def _evaluate(self, job: Job) -> list[Done]:
        if self.stop.is_set():
            return []
        thread = threading.get_ident()
        self.current[thread] = job.answer.id
        found: list[Done] = []
        began = time.monotonic()
        try:
            for result in self._of(job):
                now = time.monotonic()
                keyed = replace(result.answer, reuse_key=self.key_of(job, result.answer.version))
                found.append(
                    Done(job=job, result=replace(result, answer=keyed), seconds=now - began)
                )
                began = now
                if self.stop.is_set():
                    break
        finally:
            self.current.pop(thread, None)
        return found

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
