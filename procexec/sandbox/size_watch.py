"""Watches how much the sandboxes of a run have written, and ends one that writes too much.

overlay2 on ext4 has no quota: ``storage_opt size`` is refused there. The engine tells the size of
a container's own layer in about 30 ms; young containers are not asked, most live no longer. It is
blind to image volumes and to inodes.
"""

import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException

from procexec.sandbox.owner import RUN

LIMIT_BYTES = 2 << 30
PERIOD = 1.0
QUICK = 0.2  # seconds between looks while a container holds a good part of the limit
YOUNG = 3.0


class SizeWatch:
    """While its ``with`` lasts, kills each container of the run that holds more than the limit.

    ``over`` has the ids of those that were killed.
    """

    def __init__(
        self, client: docker.DockerClient, run: str, over: set[str], limit: int = LIMIT_BYTES
    ) -> None:
        self.client = client
        self.run = run
        self.over = over
        self.limit = limit
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="size-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def _watch(self) -> None:
        pause = PERIOD
        while not self._stop.wait(pause):
            pause = PERIOD
            with suppress(DockerException, RequestException):
                sizes = [self._checked(identity) for identity in self._old()]
                pause = QUICK if max(sizes, default=0) > self.limit / 4 else PERIOD

    def _old(self) -> list[str]:
        rows = self.client.api.containers(filters={"label": f"{RUN}={self.run}"})
        now = time.time()
        return [str(row["Id"]) for row in rows if now - float(row["Created"]) > YOUNG]

    def _checked(self, identity: str) -> int:
        """Return how much a container holds; one that holds too much is killed."""
        rows = self.client.api.containers(size=True, filters={"id": identity})
        size = int(rows[0].get("SizeRw") or 0) if rows else 0
        if size > self.limit:
            self.over.add(identity)
            self.client.api.kill(identity)
        return size
