"""Output is kept in bounded memory: the head, the tail, and how much there was."""

from hypothesis import given
from hypothesis import strategies as st

from procexec.sandbox.collector import HEAD_BYTES, TAIL_BYTES, Collector


def _collected(*chunks: bytes) -> Collector:
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    return collector


def test_little_output_is_kept_as_it_is() -> None:
    collector = _collected(b"one\n", b"", b"two\n")

    assert collector.text() == "one\ntwo\n"
    assert (collector.size, collector.truncated) == (8, False)


def test_as_much_as_head_and_tail_hold_is_kept_whole() -> None:
    collector = _collected(b"a" * HEAD_BYTES, b"b" * TAIL_BYTES)

    assert not collector.truncated
    assert collector.text() == "a" * HEAD_BYTES + "b" * TAIL_BYTES


def test_one_byte_more_is_left_out_and_counted() -> None:
    collector = _collected(b"a" * HEAD_BYTES, b"x", b"b" * TAIL_BYTES)

    assert collector.truncated
    assert "[... 1 bytes left out ...]" in collector.text()
    assert "x" not in collector.text().replace("bytes", "")


def test_one_large_chunk_is_cut_like_many_small_ones() -> None:
    data = bytes(range(256)) * 4096

    once = _collected(data)
    often = _collected(*(data[k : k + 1000] for k in range(0, len(data), 1000)))

    assert once.text() == often.text()
    assert once.size == often.size == len(data)


def test_memory_stays_bounded() -> None:
    collector = Collector()

    for _ in range(10_000):
        collector.add(b"0123456789" * 100)

    assert collector.size == 10_000_000
    assert len(collector._head) == HEAD_BYTES
    assert len(collector._tail) <= 2 * TAIL_BYTES
    assert collector.text().endswith("0123456789")


def test_characters_that_were_cut_are_replaced() -> None:
    collector = _collected("é".encode() * HEAD_BYTES, b"\xff")

    assert collector.text().endswith("é�")


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 500))
def test_the_last_bytes_are_the_end_of_what_came(chunks: list[bytes], count: int) -> None:
    assert _collected(*chunks).last(count) == b"".join(chunks)[-count:]


def test_the_last_bytes_may_span_head_and_tail() -> None:
    collector = _collected(b"a" * HEAD_BYTES, b"bcd")

    assert collector.last(5) == b"aabcd"
    assert collector.last(2) == b"cd"
