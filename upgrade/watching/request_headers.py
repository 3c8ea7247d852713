"""Reads the headers in one connection's stream of requests.

Of the bodies, only those of ApiVersions are read. Payloads are passed over: never copied, never kept.

The tokens that follow SaslHandshake v0 are passed over too, until a frame has the header of the same client again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from upgrade.watching.request_head import BYTES_BEFORE_CLIENT_ID, RequestHead, read_head
from upgrade.watching.sasl_tokens import MAX_TOKENS, SaslTokens
from wire.api_keys import API_VERSIONS_KEY, SASL_HANDSHAKE_KEY
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, read_size
from wire.headers import CLIENT_ID_OFFSET

_START = struct.Struct(">ihhih")
"""Size, API key, version, correlation id, and the length of the client id."""
_NUMBERS = struct.Struct(">hhih")
"""API key, version, correlation id, and the length of the client id."""
_MIN_BYTES = CLIENT_ID_OFFSET
"""A shorter frame is no request."""
_MAX_NUMBER = 1000
"""Above every API key and version that there is; a frame with a larger number is not Kafka's protocol."""
_READ_FURTHER = (SASL_HANDSHAKE_KEY, API_VERSIONS_KEY)
MAX_BODY_BYTES = 1 << 12
"""How much of an ApiVersions request is read; a correct one has less than 1 KiB."""


class RequestHeaders:
    """Reads one connection's requests.

    Attributes:
        problem: why the rest of the stream is not read; empty if it is.
    """

    def __init__(
        self,
        on_request: Callable[[RequestHead], None],
        substitute: Callable[[RequestHead], bytes | None] | None = None,
    ) -> None:
        """Begin between two frames.

        Args:
            on_request: called for every request whose header was read.
            substitute: returns the frame that replaces a request, or None to pass it on. Without it nothing is held
                back.
        """
        self._on_request = on_request
        self._substitute = substitute
        self._head = bytearray()
        self._left = 0
        self._is_replaced = False
        self._is_last = False
        self._tokens = SaslTokens()
        self.problem = ""

    @property
    def is_between_frames(self) -> bool:
        """Whether no frame is incomplete."""
        return not self._head and not self._left

    @property
    def held(self) -> bytes:
        """The bytes that are held back until the frame that they begin is known."""
        return bytes(self._head) if self._substitute else b""

    def end_with_frame(self) -> None:
        """Pass on the frame that has begun, and nothing after it."""
        self._is_last = True

    def feed(self, data: bytes) -> list[bytes | memoryview]:
        """Read received bytes, split in any way; return what is passed on."""
        if self.problem:
            return [data]
        parts: list[bytes | memoryview] = []
        view = memoryview(data)
        is_special = self._is_last or self._substitute or self._head or self._tokens.may_come
        at = 0 if is_special else self._read_usual(data)
        while at < len(data) and not self.problem:
            if self._is_last and self.is_between_frames:
                return parts if self._substitute else [view[:at]]
            if self._left:
                end = min(at + self._left, len(data))
                self._left -= end - at
                if not self._is_replaced:
                    parts.append(view[at:end])
            else:
                end = min(at + self._wanted() - len(self._head), len(data))
                self._head += view[at:end]
                if len(self._head) == self._wanted():
                    parts += self._complete()
            at = end
        if not self._substitute:
            return [data]
        return [*parts, view[at:]] if at < len(data) else parts

    def _read_usual(self, data: bytes) -> int:
        """Read the usual frames, and return where they end.

        A usual frame has a complete header, and nothing after its header is read. Most frames are usual.
        """
        at = min(self._left, len(data))
        self._left -= at
        while at + BYTES_BEFORE_CLIENT_ID <= len(data):
            size, api_key, version, correlation_id, length = _START.unpack_from(data, at)
            header_end = at + BYTES_BEFORE_CLIENT_ID + max(0, length)
            if (
                not _NUMBERS.size + length <= size <= SOCKET_REQUEST_MAX_BYTES
                or not _is_of_kafka(api_key, version)
                or api_key in _READ_FURTHER
                or header_end > len(data)
            ):
                break
            client_id = None if length < 0 else data[at + BYTES_BEFORE_CLIENT_ID : header_end]
            header = data[at:header_end]
            self._on_request(RequestHead(api_key, version, correlation_id, client_id, header))
            at += SIZE_BYTES + size
            if at > len(data):
                self._left = at - len(data)
                return len(data)
        return at

    def _wanted(self) -> int:
        """Return how many bytes of the frame are read, as far as its beginning says."""
        head = self._head
        if len(head) < SIZE_BYTES:
            return SIZE_BYTES
        size = read_size(head)
        if not 0 <= size <= SOCKET_REQUEST_MAX_BYTES:
            return SIZE_BYTES
        whole = SIZE_BYTES + size
        if self._tokens.may_come:
            return min(whole, self._tokens.needed)
        if len(head) < BYTES_BEFORE_CLIENT_ID:
            return min(whole, BYTES_BEFORE_CLIENT_ID)
        api_key: int
        length: int
        api_key, api_version, _, length = _NUMBERS.unpack_from(head, SIZE_BYTES)
        if not _is_of_kafka(api_key, api_version):
            return BYTES_BEFORE_CLIENT_ID
        if api_key == API_VERSIONS_KEY:
            return min(whole, SIZE_BYTES + MAX_BODY_BYTES)
        return min(whole, BYTES_BEFORE_CLIENT_ID + max(0, length))

    def _complete(self) -> list[bytes]:
        """Handle the bytes that were read of a frame; return those to pass on."""
        data = bytes(self._head)
        size = read_size(data)
        if not 0 <= size <= SOCKET_REQUEST_MAX_BYTES:
            what = f"a frame of {size} bytes, which is no size of a request (is it TLS?)"
            return self._give_up(what)
        is_token = self._tokens.may_come and self._tokens.take(data)
        if not is_token and len(data) < self._wanted():
            return []
        self._head.clear()
        self._left = SIZE_BYTES + size - len(data)
        self._is_replaced = False
        if is_token and self._tokens.count <= MAX_TOKENS:
            return [data]
        if is_token:
            what = f"{MAX_TOKENS} frames after SaslHandshake that are no requests of the client"
            return self._give_up(what, data)
        if size < _MIN_BYTES:
            return self._give_up(f"a frame of {size} bytes, which is too short for a request", data)
        head = read_head(data)
        if not _is_of_kafka(head.api_key, head.api_version):
            what = f"a request of API {head.api_key} v{head.api_version}, which is not Kafka's protocol"
            return self._give_up(what, data)
        if (head.api_key, head.api_version) == (SASL_HANDSHAKE_KEY, 0):
            self._tokens.begin(data, head.client_id)
        return self._requested(head)

    def _requested(self, head: RequestHead) -> list[bytes]:
        data = head.data
        replacement = self._substitute(head) if self._substitute else None
        self._on_request(head)
        self._is_replaced = replacement is not None
        self._is_last |= head.is_last
        return [data if replacement is None else replacement]

    def _give_up(self, what: str, data: bytes | None = None) -> list[bytes]:
        self.problem = what
        if data is None:
            data = bytes(self._head)
            self._head.clear()
        return [data]


def _is_of_kafka(api_key: int, api_version: int) -> bool:
    return 0 <= api_key < _MAX_NUMBER and -1 <= api_version < _MAX_NUMBER
