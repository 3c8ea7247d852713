"""The bytes that stand for a secret in recorded bytes, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

MARK = b"<token hidden>"
"""What a hidden token consists of, again and again."""
MIN_MARK_BYTES = 6
"""Fewer bytes of the mark are not recognised: they may be anything."""


def filler(length: int) -> bytes:
    """Return so many bytes that say that they stand for a token."""
    return bytes(islice(cycle(MARK), length))


def hidden_parts(data: bytes) -> Iterator[slice]:
    """Yield where bytes were replaced by `filler`, at least `MIN_MARK_BYTES` of them."""
    start = data.find(MARK[:MIN_MARK_BYTES])
    while start >= 0:
        end = start + MIN_MARK_BYTES
        while data[end : end + 1] == MARK[(end - start) % len(MARK) :][:1]:
            end += 1
        yield slice(start, end)
        start = data.find(MARK[:MIN_MARK_BYTES], end)
