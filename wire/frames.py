"""Frames of the protocol: an int32 size and that many bytes of payload.

The code is sans-IO, and checks the size against a limit.

Source: Kafka protocol guide, "Protocol Primitive Types" and "Common Request and Response Structure".
"""

from __future__ import annotations

from collections.abc import Callable

from wire import primitives
from wire.errors import FrameTooLarge, NegativeLength

SIZE_BYTES = 4
DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024
SOCKET_REQUEST_MAX_BYTES = 104857600
"""The largest request that a broker accepts by default; its option is `socket.request.max.bytes`."""


def encode_frame(payload: bytes, *, size: int | None = None) -> bytes:
    """Return a payload with its size in front; `size` replaces the right size with a wrong one on purpose."""
    return primitives.write_int32(len(payload) if size is None else size) + payload


def read_size(data: bytes | bytearray) -> int:
    """Read the size prefix at the beginning of a frame."""
    return int.from_bytes(data[:SIZE_BYTES], signed=True)


class FrameReader:
    """A reader that splits a stream of bytes into payloads.

    The caller passes received bytes to `receive_data` and takes complete payloads from `next_payload`.

    Attributes:
        max_frame_bytes: the largest payload to accept; it may be changed at any time.
    """

    def __init__(
        self,
        *,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        hide: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Start without bytes.

        Args:
            max_frame_bytes: see the class.
            hide: replaces bytes that no one may see by as many others, see `wire.hidden_secrets`.
        """
        self.max_frame_bytes = max_frame_bytes
        self._hide = hide
        self._buffer = bytearray()

    @property
    def unread(self) -> bytes:
        """The received bytes that have not been returned as a payload."""
        return bytes(self._buffer)

    def receive_data(self, data: bytes) -> None:
        """Accept bytes of the stream, split in any way."""
        self._buffer += data
        if self._hide is not None:
            # What was read before is part of it: a secret may come in two pieces.
            self._buffer[:] = self._hide(self.unread)

    def hidden(self, data: bytes) -> bytes:
        """Return bytes that are no frames as this reader would take them in."""
        return data if self._hide is None else self._hide(data)

    def next_payload(self) -> bytes | None:
        """Return the next complete payload, or None until it has arrived.

        Raises:
            NegativeLength: the size is below zero. The stream is unusable after this.
            FrameTooLarge: the size is above `max_frame_bytes`. The stream is unusable after this.
        """
        if len(self._buffer) < SIZE_BYTES:
            return None
        size = read_size(self._buffer)
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
