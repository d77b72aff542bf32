"""What the engine tells of one container while it is used: who touched it, was its memory used up.

Exit code 137 has four causes: the step's own ``kill -9``, the kernel when memory runs out, somebody
who kills or removes the container, and we. A process that ends its own sandbox leaves a ``die``
event alone; whoever does it through the engine leaves ``kill``, ``stop``, ``pause`` or ``destroy``.
"""

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException

TOUCHES: Final = {
    "kill": "killed",
    "stop": "stopped",
    "restart": "restarted",
    "pause": "paused",
    "destroy": "removed",
    "remove": "removed",
}
ENDS: Final = ("die", "died", "destroy", "remove")
LATE: Final = 0.1
OUT_OF_MEMORY: Final = "oom"
_ASKED: Final = (*TOUCHES, *ENDS, OUT_OF_MEMORY)


class Witness:
    """While its ``with`` lasts, hears of everything that is done to one container.

    ``lost`` tells that the engine stopped talking: what happened since is not known.
    """

    def __init__(self, client: docker.DockerClient, container: str) -> None:
        self.lost = False
        self._heard: list[str] = []
        self._news = threading.Condition()
        self._closed = False
        filters = {"container": [container], "event": list(_ASKED)}
        self._stream = client.api.events(filters=filters, decode=True)
        self._thread = threading.Thread(target=self._listen, name="witness", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        with suppress(DockerException, OSError, AttributeError):
            self._stream.close()
        self._thread.join(timeout=5)

    def heard(self) -> int:
        """Return how much was heard so far, to ask later what came after."""
        with self._news:
            return len(self._heard)

    def since(self, mark: int) -> Sequence[str]:
        """Return what was heard after a mark."""
        with self._news:
            return tuple(self._heard[mark:])

    def wait_for_end(self, seconds: float) -> None:
        """Wait until the engine has told of the container's end, and of who is behind it, if any.

        The engine tells of a kill after it has sent it: the end may be told first.
        """
        with self._news:
            self._news.wait_for(self._has_end, seconds)
            if self._has_end():
                self._news.wait_for(lambda: touched(self._heard), LATE)

    def _has_end(self) -> bool:
        return self.lost or any(act in ENDS for act in self._heard)

    def _listen(self) -> None:
        with suppress(DockerException, RequestException, OSError, ValueError, AttributeError):
            for event in self._stream:
                self._hear(str(event.get("Action") or event.get("status") or ""))
        with self._news:
            self.lost = not self._closed
            self._news.notify_all()

    def _hear(self, act: str) -> None:
        with self._news:
            self._heard.append(act)
            self._news.notify_all()


def touched(acts: Iterable[str]) -> str:
    """Return what was done to the container from outside, in a word; nothing if nobody did."""
    return next((TOUCHES[act] for act in acts if act in TOUCHES), "")
