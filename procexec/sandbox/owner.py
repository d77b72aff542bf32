"""Who made a container, so that what a dead run left behind can be told from a live one's."""

import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

import docker
from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

RUN = "procexec.run"
ANSWER = "procexec.answer"
KEPT = "procexec.kept"
LONGEST = 24 * 3600  # seconds after which a run on another host counts as dead
AT_A_TIME = 8
PATIENCE = 10.0  # seconds in which containers are removed; one that is stuck is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, told apart by boot and start time from another with the same number."""

    run: str
    pid: int
    start: str
    boot: str
    host: str
    deadline: int = field(default=0, compare=False)

    def labels(self, answer: str) -> dict[str, str]:
        return {
            RUN: self.run,
            ANSWER: answer,
            "procexec.owner.pid": str(self.pid),
            "procexec.owner.start": self.start,
            "procexec.owner.boot": self.boot,
            "procexec.owner.host": self.host,
            "procexec.deadline": str(self.deadline),
        }


def this_process(run: str) -> Owner:
    """Return the owner that this process is."""
    pid = os.getpid()
    return Owner(
        run=run,
        pid=pid,
        start=_start_of(pid),
        boot=_boot(),
        host=socket.gethostname(),
        deadline=int(time.time()) + LONGEST,
    )


def reap(client: docker.DockerClient, *, every: bool = False) -> list[str]:
    """Remove the containers of runs that are dead; return their names.

    Those of a live process on this host, and those kept on purpose, stay; ``every`` takes the
    live ones too. One container that is stuck in the engine does not hold up the others.
    """
    found = client.containers.list(all=True, sparse=True, filters={"label": RUN})
    dead = [c for c in found if every or is_dead(_labels(c))]
    return _remove(client, [c for c in dead if not _labels(c).get(KEPT)])


def is_dead(labels: Mapping[str, str]) -> bool:
    """Tell whether the labelled owner ran on this host and is gone, or has had its time elsewhere."""
    if labels.get("procexec.owner.host") != socket.gethostname():
        deadline = labels.get("procexec.deadline", "")
        return deadline.isdigit() and 0 < int(deadline) < time.time()
    if labels.get("procexec.owner.boot") != _boot():
        return True
    pid = labels.get("procexec.owner.pid", "")
    return not pid.isdigit() or _start_of(int(pid)) != labels.get("procexec.owner.start")


def _start_of(pid: int) -> str:
    """Return when a process started, in ticks since boot; nothing if there is none, or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def remove_run(client: docker.DockerClient, run: str) -> None:
    """Remove all containers of a run that are not kept on purpose, several at a time."""

    with suppress(DockerException, RequestException):
        found = client.containers.list(all=True, sparse=True, filters={"label": f"{RUN}={run}"})
        _remove(client, [c for c in found if not _labels(c).get(KEPT)])


def _remove(client: docker.DockerClient, containers: Sequence[Container]) -> list[str]:
    """Remove containers, several at a time; return the names of those that went in time."""
    waiting: SimpleQueue[Container] = SimpleQueue()
    for container in containers:
        waiting.put(container)
    removed: list[str] = []

    def work() -> None:
        with suppress(Empty):
            while True:
                container = waiting.get_nowait()
                with suppress(DockerException, RequestException):
                    client.api.remove_container(str(container.id), force=True, v=True)
                    removed.append(_name(container))

    workers = [threading.Thread(target=work, daemon=True) for _ in containers[:AT_A_TIME]]
    for worker in workers:
        worker.start()
    end = time.monotonic() + PATIENCE
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
    return list(removed)


def _labels(container: Container) -> Mapping[str, str]:
    labels: Mapping[str, str] = container.attrs.get("Labels") or {}
    return labels


def _name(container: Container) -> str:
    return str((container.attrs.get("Names") or [container.id])[0]).lstrip("/")
