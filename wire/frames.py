"""Frames: an int32 size and that many bytes of payload. Sans-IO, and bounded before anything is kept.

Source: Kafka protocol guide, "Protocol Primitive Types" and "Common Request and Response Structure".
"""

from __future__ import annotations

from wire import primitives
from wire.errors import FrameTooLarge, NegativeLength

SIZE_BYTES = 4
DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024


def encode_frame(payload: bytes, *, size: int | None = None) -> bytes:
    """Put the size in front of a payload; `size` writes another one than the payload's on purpose."""
    return primitives.write_int32(len(payload) if size is None else size) + payload


class FrameReader:
    """Cuts a stream of bytes into payloads.

    The caller feeds whatever arrived to `receive_data` and takes whole payloads with `next_payload`.

    Attributes:
        max_frame_bytes: the largest payload from here on.
    """

    def __init__(self, *, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    @property
    def unread(self) -> bytes:
        """What arrived and has not been given out as a payload."""
        return bytes(self._buffer)

    def receive_data(self, data: bytes) -> None:
        """Take bytes of the stream, in any pieces."""
        self._buffer += data

    def next_payload(self) -> bytes | None:
        """Return the next whole payload, or None until it is there.

        Raises:
            NegativeLength: the size is below zero. The stream is of no use after this.
            FrameTooLarge: the size is above the bound. The stream is of no use after this.
        """
        if len(self._buffer) < SIZE_BYTES:
            return None
        size = int.from_bytes(self._buffer[:SIZE_BYTES], signed=True)
        if size < 0:
            raise NegativeLength(f"frame size {size}", start=0, end=SIZE_BYTES, field_path="size")
        if size > self.max_frame_bytes:
            raise FrameTooLarge(
                f"frame size {size} is above the bound of {self.max_frame_bytes}",
                start=0,
                end=SIZE_BYTES,
                field_path="size",
            )
        end = SIZE_BYTES + size
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[SIZE_BYTES:end])
        del self._buffer[:end]
        return payload
