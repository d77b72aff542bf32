"""Stopping a run: on the first signal everything it started is ended, on the second at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import FrameType

from procexec.errors import SandboxError
from procexec.sandbox import FixtureImage, Sandbox, SandboxProvider, SandboxRequest

GRACE = 3.0  # seconds that the removal of containers has, once somebody is in a hurry
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class StoppableProvider:
    """Makes no sandbox any more once the run is being stopped."""

    inner: SandboxProvider
    stop: threading.Event

    def start(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        self._check()
        return self.inner.start(request)

    def fixture(self, request: SandboxRequest, script: str) -> FixtureImage:
        self._check()
        return self.inner.fixture(request, script)

    def _check(self) -> None:
        if self.stop.is_set():
            raise SandboxError("the run is being stopped")


@contextmanager
def stopping(
    stop: threading.Event, end_all: Callable[[], object], say: Callable[[str], None]
) -> Iterator[dict[str, int]]:
    """Let signals stop the run inside; give a record in which ``signal`` is the one that came.

    The first signal sets ``stop`` and ends the run's containers in the background; the second
    leaves as soon as they are gone. What was running is not recorded, everything recorded is on disk.
    """
    told: dict[str, int] = {}
    ending = threading.Thread(target=end_all, daemon=True)

    def handle(number: int, _frame: FrameType | None) -> None:
        if told:
            ending.join(GRACE)
            os._exit(128 + number)
        told["signal"] = number
        stop.set()
        ending.start()
        say("stopping: containers are being removed, results so far are kept (again: leave now)")

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
