"""Output in bounded memory: its head, its tail, and how much there was."""

from dataclasses import dataclass, field

HEAD_BYTES = 64 << 10
TAIL_BYTES = 64 << 10


@dataclass(slots=True)
class Collector:
    """Keeps the first and the last bytes of a stream and counts the rest."""

    size: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-TAIL_BYTES:]
            if len(self._tail) > 2 * TAIL_BYTES:
                del self._tail[:-TAIL_BYTES]

    @property
    def truncated(self) -> bool:
        return self.size > HEAD_BYTES + TAIL_BYTES

    def last(self, count: int) -> bytes:
        """Return the last bytes, as many as asked for and kept."""
        kept = bytes(self._tail[-count:])
        return bytes(self._head[-(count - len(kept)) :]) + kept if len(kept) < count else kept

    def text(self) -> str:
        """Return what was kept, with a mark where bytes were left out."""
        head, tail = bytes(self._head), bytes(self._tail[-TAIL_BYTES:])
        left_out = self.size - len(head) - len(tail)
        middle = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out else b""
        return (head + middle + tail).decode("utf-8", errors="replace")
