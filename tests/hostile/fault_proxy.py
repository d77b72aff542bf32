"""A proxy in front of an engine's socket that fails on request: late, wrong, lost, cut or stalled."""

import json
import re
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

_HEAD_END = b"\r\n\r\n"
_PIECE = 65536


class How(StrEnum):
    """What goes wrong with a request."""

    LATE = "late"
    REFUSED = "refused"
    WRONG = "wrong"
    LOST = "lost"
    CUT = "cut"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Requests whose first line matches ``on`` fail, the first ``times`` of them.

    ``after`` is how many bytes of the reply come through before it is cut or stalls.
    """

    on: str
    how: How
    times: int = 1 << 30
    seconds: float = 0
    status: int = 500
    message: str = "injected"
    after: int = 0


@dataclass(slots=True)
class FaultProxy:
    """While its ``with`` lasts, hands requests on to an engine, except those that are to fail.

    ``asked`` are the first lines of all requests in order.
    """

    path: Path
    target: str
    faults: list[Fault] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    _used: Counter[Fault] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listener: socket.socket | None = None
    _open: set[socket.socket] = field(default_factory=set)
    _closed: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def count(self, pattern: str) -> int:
        """Return how many requests matched."""
        return sum(bool(re.search(pattern, line)) for line in self.asked)

    def hits(self) -> int:
        """Return how often something was made to fail."""
        return self._used.total()

    def __enter__(self) -> Self:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        assert self._listener is not None
        for held in (self._listener, *self._open):
            _end(held)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)
        try:
            with suppress(OSError):
                self._hand_on(client)
        finally:
            _end(client)
            with self._lock:
                self._open.discard(client)

    def _hand_on(self, client: socket.socket) -> None:
        head = _read_head(client)
        if not head:
            return
        line = head.split(b"\r\n", 1)[0].decode("latin-1")
        fault = self._fault_of(line)
        if fault is not None and not self._goes_through(fault, client):
            return
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(self.target)
            engine.sendall(_one_request_only(head))
            threading.Thread(target=_pump, args=(client, engine), daemon=True).start()
            self._reply(engine, client, fault)

    def _fault_of(self, line: str) -> Fault | None:
        with self._lock:
            self.asked.append(line)
            for fault in self.faults:
                if re.search(fault.on, line) and self._used[fault] < fault.times:
                    self._used[fault] += 1
                    return fault
        return None

    def _goes_through(self, fault: Fault, client: socket.socket) -> bool:
        match fault.how:
            case How.LATE:
                time.sleep(fault.seconds)
            case How.WRONG:
                client.sendall(_error(fault))
                return False
            case How.REFUSED:
                return False
            case _:
                pass
        return True

    def _reply(self, engine: socket.socket, client: socket.socket, fault: Fault | None) -> None:
        if fault is not None and fault.how is How.LOST:
            engine.recv(1)
            return
        limited = fault is not None and fault.how in (How.CUT, How.STALLED)
        left = fault.after if fault is not None and limited else None
        while data := engine.recv(_PIECE):
            if left is not None and len(data) > left:
                client.sendall(data[:left])
                if fault is not None and fault.how is How.STALLED:
                    self._closed.wait(600)
                return
            client.sendall(data)
            left = None if left is None else left - len(data)


def _read_head(client: socket.socket) -> bytes:
    head = b""
    while _HEAD_END not in head:
        data = client.recv(_PIECE)
        if not data:
            return b""
        head += data
    return head


def _one_request_only(head: bytes) -> bytes:
    """Return a request after which the engine closes, unless it takes the connection over."""
    fields, end, body = head.partition(_HEAD_END)
    if b"\r\nupgrade:" in fields.lower():
        return head
    fields = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", fields)
    return fields + b"\r\nConnection: close" + end + body


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _error(fault: Fault) -> bytes:
    body = json.dumps({"message": fault.message}).encode()
    head = (
        f"HTTP/1.1 {fault.status} Injected\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _end(held: socket.socket) -> None:
    with suppress(OSError):
        held.shutdown(socket.SHUT_RDWR)
    held.close()
