"""Who made a container, so that what a dead run left behind can be told from a live one's."""

import os
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

RUN = "procexec.run"
ANSWER = "procexec.answer"
KEPT = "procexec.kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, told apart by boot and start time from another with the same number."""

    run: str
    pid: int
    start: str
    boot: str
    host: str

    def labels(self, answer: str) -> dict[str, str]:
        return {
            RUN: self.run,
            ANSWER: answer,
            "procexec.owner.pid": str(self.pid),
            "procexec.owner.start": self.start,
            "procexec.owner.boot": self.boot,
            "procexec.owner.host": self.host,
        }


def this_process(run: str) -> Owner:
    """Return the owner that this process is."""
    pid = os.getpid()
    return Owner(run=run, pid=pid, start=_start_of(pid), boot=_boot(), host=socket.gethostname())


def reap(client: docker.DockerClient, *, every: bool = False) -> list[str]:
    """Remove the containers of runs that are dead; return their names.

    Those of a live process on this host, and those kept on purpose, stay; ``every`` takes the
    live ones too. One container that is stuck in the engine does not hold up the others.
    """
    removed = []
    for container in client.containers.list(all=True, sparse=True, filters={"label": RUN}):
        labels: Mapping[str, str] = container.attrs.get("Labels") or {}
        if labels.get(KEPT) or not (every or is_dead(labels)):
            continue
        with suppress(DockerException):
            client.api.remove_container(str(container.id), force=True, v=True)
            removed.append(str((container.attrs.get("Names") or [container.id])[0]).lstrip("/"))
    return removed


def is_dead(labels: Mapping[str, str]) -> bool:
    """Tell whether the labelled owner ran on this host and is gone."""
    if labels.get("procexec.owner.host") != socket.gethostname():
        return False
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

    def remove(container: Container) -> None:
        with suppress(DockerException, RequestException):
            client.api.remove_container(str(container.id), force=True, v=True)

    with suppress(DockerException, RequestException):
        found = client.containers.list(all=True, sparse=True, filters={"label": f"{RUN}={run}"})
        mine = [c for c in found if not (c.attrs.get("Labels") or {}).get(KEPT)]
        if mine:
            with ThreadPoolExecutor(min(len(mine), 8)) as pool:
                list(pool.map(remove, mine))
