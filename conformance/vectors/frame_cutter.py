"""Cuts what a vector writes to its connections into frames.

It does so as a broker does.
"""

from __future__ import annotations

from wire.errors import DecodeError
from wire.frames import SOCKET_REQUEST_MAX_BYTES, FrameReader


class FrameCutter:
    """Cuts the bytes of several connections; frames may end in a later write than they begin."""

    def __init__(self, max_frame_bytes: int = SOCKET_REQUEST_MAX_BYTES) -> None:
        """Start without connections; a size above `max_frame_bytes` is refused."""
        self._max_frame_bytes = max_frame_bytes
        self._readers: dict[int, FrameReader] = {}
        self.refused: set[int] = set()
        """The connections on which a size was refused, after which nothing is read."""

    def frames(self, connection: int, data: bytes) -> tuple[bytes, ...]:
        """Return the complete frames, without their sizes, that end in the next bytes of a connection."""
        reader = self._readers.setdefault(connection, FrameReader(max_frame_bytes=self._max_frame_bytes))
        if connection in self.refused:
            return ()
        reader.receive_data(data)
        frames = []
        while True:
            try:
                frame = reader.next_payload()
            except DecodeError:
                self.refused.add(connection)
                break
            if frame is None:
                break
            frames.append(frame)
        return tuple(frames)

    def unread(self, connection: int) -> bytes:
        """Return the bytes of a connection that form no complete frame."""
        reader = self._readers.get(connection)
        return b"" if reader is None else reader.unread
