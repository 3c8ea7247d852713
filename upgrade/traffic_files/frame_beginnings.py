"""Finds the frames in a captured stream, which may have holes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from upgrade.traffic_files.stream_order import Piece
from wire.frames import SIZE_BYTES, read_size

_MIN_BYTES = 4
"""A correlation id, with which a response begins."""


class FrameBeginning(NamedTuple):
    """The beginning of a frame.

    Attributes:
        size: the size of its payload, as it says.
        payload: what is kept of it.
        is_cut: whether less was captured than is needed.
    """

    size: int
    payload: bytes
    is_cut: bool = False


class FrameBeginnings:
    """Splits a stream into frames.

    Attributes:
        is_lost: whether it is unknown where the next frame begins.
    """

    def __init__(self, needed: Callable[[bytes], int], largest: int) -> None:
        """Create a reader.

        Args:
            needed: returns how many bytes of a payload are needed, given its beginning. It is asked again with that
                much.
            largest: the largest size that is possible.
        """
        self.is_lost = True
        self._needed, self._largest = needed, largest
        self._beginning = b""
        self._to_skip = 0

    def begin(self) -> None:
        """Expect a frame now."""
        self.is_lost, self._beginning, self._to_skip = False, b"", 0

    def read(self, piece: Piece) -> Iterator[FrameBeginning]:
        """Yield the frames whose beginning is complete after this piece."""
        data = piece.data
        while data and not self.is_lost:
            skipped = min(self._to_skip, len(data))
            self._to_skip -= skipped
            data = data[skipped:]
            if data:
                data, frame = self._take(data)
                if frame is not None:
                    yield frame
        if piece.missing and not self.is_lost:
            yield from self._miss(piece.missing)

    def _take(self, data: bytes) -> tuple[bytes, FrameBeginning | None]:
        """Extend the beginning of a frame; return the bytes that are left, and the frame if it is complete enough."""
        wanted = self._wanted()
        added = data[: wanted - len(self._beginning)]
        self._beginning += added
        data = data[len(added) :]
        if len(self._beginning) < SIZE_BYTES:
            return data, None
        size = read_size(self._beginning)
        if not _MIN_BYTES <= size <= self._largest:
            self.is_lost = True
            return b"", None
        if self._wanted() > len(self._beginning):
            return data, None
        return data, self._complete(size)

    def _wanted(self) -> int:
        """Return how many bytes of the frame are needed as far as is known, its size included."""
        if len(self._beginning) < SIZE_BYTES:
            return SIZE_BYTES
        payload = self._beginning[SIZE_BYTES:]
        return SIZE_BYTES + min(self._needed(payload), read_size(self._beginning))

    def _complete(self, size: int, *, is_cut: bool = False) -> FrameBeginning:
        payload, self._beginning = self._beginning[SIZE_BYTES:], b""
        self._to_skip = size - len(payload)
        return FrameBeginning(size, payload, is_cut)

    def _miss(self, missing: int) -> Iterator[FrameBeginning]:
        """Pass a hole: inside a frame it does no harm, elsewhere the place is lost."""
        if self._to_skip == 0 and len(self._beginning) >= SIZE_BYTES:
            yield self._complete(read_size(self._beginning), is_cut=True)
        if missing > self._to_skip:
            self.is_lost = True
        self._to_skip -= min(missing, self._to_skip)
