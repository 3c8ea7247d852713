"""Puts the TCP segments of one direction of a connection in order.

Segments may come out of order, twice, in part, or not at all. A segment is kept no longer than it takes to find its
place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

MAX_WAITING = 256
"""How many segments wait for an earlier one before that counts as missing."""
MAX_WAITING_BYTES = 1024 * 1024
_NUMBERS = 2**32
"""How many sequence numbers there are; after the last comes 0."""


class Piece(NamedTuple):
    """A part of a stream.

    Attributes:
        data: its bytes.
        missing: how many bytes after them were not captured.
        begins_segment: whether it is the beginning of what was sent at once, as far as one can see.
    """

    data: bytes
    missing: int = 0
    begins_segment: bool = False


class StreamOrder:
    """Puts the segments of one direction of a connection in order, with holes where some are missing."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._waiting: dict[int, tuple[bytes, int]] = {}

    def begin(self, sequence: int) -> None:
        """Start at the byte after a SYN."""
        self._next = (sequence + 1) % _NUMBERS

    def receive(self, sequence: int, data: bytes, size: int) -> Iterator[Piece]:
        """Accept a segment, and yield what is in order now."""
        if self._next is None:
            self._next = sequence
        known = self._waiting.get(sequence, (b"", 0))
        self._waiting[sequence] = max(known, (data, size), key=lambda each: (each[1], len(each[0])))
        yield from self._in_order()
        while self._is_too_much():
            yield from self._skip()

    def acknowledge(self, number: int) -> Iterator[Piece]:
        """Yield bytes that wait for uncaptured segments, once the other end has acknowledged those segments."""
        while self._waiting and min(map(self._distance, self._waiting)) < self._distance(number):
            yield from self._skip()

    def finish(self) -> Iterator[Piece]:
        """Yield the bytes that still wait, with holes before them."""
        while self._waiting:
            yield from self._skip()

    def _in_order(self) -> Iterator[Piece]:
        while self._waiting:
            sequence = min(self._waiting, key=self._distance)
            seen = -self._distance(sequence)
            if seen < 0:
                return
            data, size = self._waiting.pop(sequence)
            if size <= seen:
                continue
            self._advance(size - seen)
            # A segment that is sent again may be longer than the first time, or than what was captured of it.
            rest = data[seen:]
            yield Piece(rest, size - seen - len(rest), begins_segment=seen == 0)

    def _skip(self) -> Iterator[Piece]:
        hole = min(map(self._distance, self._waiting))
        self._advance(hole)
        yield Piece(b"", hole)
        yield from self._in_order()

    def _is_too_much(self) -> bool:
        waiting = self._waiting
        return len(waiting) > MAX_WAITING or (
            len(waiting) > 1 and sum(len(data) for data, _ in waiting.values()) > MAX_WAITING_BYTES
        )

    def _advance(self, size: int) -> None:
        self._next = ((self._next or 0) + size) % _NUMBERS

    def _distance(self, sequence: int) -> int:
        """Return a sequence number's distance from the next expected byte; negative for bytes that were seen before."""
        half = _NUMBERS // 2
        return (sequence - (self._next or 0) + half) % _NUMBERS - half
