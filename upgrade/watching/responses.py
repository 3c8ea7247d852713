"""Passes on a stream of responses, and holds those with brokers or versions.

These are held until they are complete. All other responses pass unread.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from fixtures.recording_proxy.frame_reader import MAX_READ_BYTES
from upgrade.watching.hidden_endpoints import EndpointHider, names_endpoints
from upgrade.watching.pending_requests import PendingRequests, is_held
from upgrade.watching.request_head import RequestHead
from wire.api_keys import API_VERSIONS_KEY
from wire.frames import SIZE_BYTES, read_size
from wire.headers import CORRELATION_ID_BYTES, read_correlation_id

MAX_HELD_BYTES = MAX_READ_BYTES
"""The largest response that is kept until it is complete."""
MAX_TABLE_BYTES = 16 * 1024
"""The largest response to ApiVersions that is kept: five times that of a broker with 90 APIs and 30 features."""
_START = struct.Struct(">ii")
"""Size and correlation id."""
_START_BYTES = SIZE_BYTES + CORRELATION_ID_BYTES


@dataclass(frozen=True, slots=True)
class HeldResponse:
    """A complete response that is not passed on yet.

    Attributes:
        request: its request.
        payload: the response without its size.
    """

    request: RequestHead
    payload: bytes


class Responses:
    """The responses of one connection.

    Attributes:
        problem: why the rest of the stream is not read; empty if it is.
    """

    def __init__(
        self,
        pending: PendingRequests,
        on_response: Callable[[RequestHead, bytes], None],
        on_unread: Callable[[RequestHead, int], None],
    ) -> None:
        """Begin between two frames.

        Args:
            pending: the requests that have no response yet, in their order.
            on_response: called with each request that is answered, and the first bytes of its response.
            on_unread: called with each request whose response should be kept, but is too large, and with its size in
                bytes.
        """
        self._pending = pending
        self._on_response = on_response
        self._on_unread = on_unread
        self._start = bytearray()
        self._is_start_passed = False
        self._left = 0
        self._held: bytearray | None = None
        self._request: RequestHead | None = None
        self._hider: EndpointHider | None = None
        self.problem = ""

    @property
    def is_between_frames(self) -> bool:
        """Whether no response is incomplete."""
        return not self._start and not self._left

    @property
    def held(self) -> bytes:
        """The bytes that are not passed on yet: those of an incomplete response, if the stream ends here."""
        start = b"" if self._is_start_passed else bytes(self._start)
        return start + bytes(self._held or b"")

    def feed(self, data: bytes) -> list[bytes | memoryview | HeldResponse]:
        """Read received bytes, split in any way; return the parts to pass on and complete held responses, in order."""
        parts: list[bytes | memoryview | HeldResponse] = []
        view = memoryview(data)
        at = self._pass_usual(data)
        if at:
            parts.append(data if at == len(data) else view[:at])
        while at < len(data) and not self.problem:
            if self._left:
                end = min(at + self._left, len(data))
                self._left -= end - at
                parts += self._rest(view[at:end])
            else:
                end = min(at + self._wanted() - len(self._start), len(data))
                if not self._start:
                    self._is_start_passed = not self._pending.has_held
                if self._is_start_passed:
                    parts.append(view[at:end])
                self._start += view[at:end]
                if len(self._start) == self._wanted():
                    parts += self._begin()
            at = end
        if at < len(data):
            parts.append(view[at:])
        return parts

    def _pass_usual(self, data: bytes) -> int:
        """Pass over the responses that come in turn and pass unread, which are most; return where they end."""
        if self._start or self._held is not None or self._hider is not None:
            return 0
        at = min(self._left, len(data))
        self._left -= at
        while at + _START_BYTES <= len(data):
            size, correlation_id = _START.unpack_from(data, at)
            request = self._pending.first
            if (
                request is None
                or request.correlation_id != correlation_id
                or size < CORRELATION_ID_BYTES
                or is_held(request)
                or names_endpoints(request.api_key, request.api_version)
            ):
                break
            self._pending.answer_first()
            self._on_response(request, data[at : at + _START_BYTES])
            at += SIZE_BYTES + size
            if at > len(data):
                self._left = at - len(data)
                return len(data)
        return at

    def _wanted(self) -> int:
        if len(self._start) < SIZE_BYTES:
            return SIZE_BYTES
        return SIZE_BYTES + max(0, min(read_size(self._start), CORRELATION_ID_BYTES))

    def _begin(self) -> list[bytes | memoryview | HeldResponse]:
        start = bytes(self._start)
        self._start.clear()
        size = read_size(start)
        passed: list[bytes | memoryview | HeldResponse] = [] if self._is_start_passed else [start]
        if size < 0:
            self.problem = f"a response of {size} bytes"
            return passed
        self._left = SIZE_BYTES + size - len(start)
        self._held = self._hider = None
        correlation_id = read_correlation_id(start[SIZE_BYTES:])
        request = None if correlation_id is None else self._pending.answer(correlation_id)
        self._request = request
        if request is None:
            return passed
        self._on_response(request, start)
        is_table = request.api_key == API_VERSIONS_KEY
        most = MAX_TABLE_BYTES if is_table else MAX_HELD_BYTES
        if is_held(request) and size > most:
            self._on_unread(request, size)
        elif is_held(request) and not self._is_start_passed:
            self._held = bytearray(start)
            return [] if self._left else self._rest(memoryview(b""))
        if names_endpoints(request.api_key, request.api_version):
            self._hider = EndpointHider(request.api_key, request.api_version)
        return passed

    def _rest(self, piece: memoryview) -> list[bytes | memoryview | HeldResponse]:
        if self._held is None:
            if self._hider is None:
                return [piece]
            passed = self._hider.feed(piece)
            if not self._left:
                self._hider = None
            return [passed]
        self._held += piece
        if self._left or self._request is None:
            return []
        payload = bytes(self._held[SIZE_BYTES:])
        self._held = None
        return [HeldResponse(self._request, payload)]
