"""Reads the headers of a stream of requests, and remembers the pending requests.

Of the bodies, only those of ApiVersions are read.

Payloads are passed over: never copied, never kept.

SASL: what follows SaslHandshake v0 are tokens without a header. They are passed over too, until a frame has the header
of the same client again.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from upgrade.request_kinds import is_known
from wire.api_keys import API_VERSIONS_KEY, PRODUCE_KEY, SASL_HANDSHAKE_KEY
from wire.described_messages import CLUSTER_APIS
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, read_size
from wire.headers import CLIENT_ID_LENGTH_END, CLIENT_ID_OFFSET, read_request_start
from wire.primitives import STRING_LENGTH_BYTES

MAX_PENDING = 4096
"""How many requests are remembered that have no response."""
_HELD_KEYS = frozenset({*CLUSTER_APIS, API_VERSIONS_KEY})
MAX_TOKENS = 100
"""More than any mechanism exchanges: a client that sends more has sent requests that were not recognized."""
_MAX_BETWEEN = 1000
"""By how much the correlation ids of the handshake and of the next request may differ."""


_START = struct.Struct(">ihhih")
"""Size, API key, version, correlation id, and the length of the client id."""
_NUMBERS = struct.Struct(">hhih")
"""API key, version, correlation id, and the length of the client id."""
_SHORTEST = CLIENT_ID_OFFSET
"""A shorter frame is no request."""
_BEFORE_CLIENT_ID = SIZE_BYTES + CLIENT_ID_LENGTH_END
_HIGHEST = 1000
"""Above every API key and version that there is; what has more is no request of Kafka's protocol."""
_READ_FURTHER = (SASL_HANDSHAKE_KEY, API_VERSIONS_KEY)
MAX_BODY_BYTES = 1 << 12
"""How much of an ApiVersions request is read; a correct one has less than 1 KiB."""


class SaslTokens:
    """What may follow SaslHandshake v0 on one connection.

    Attributes:
        may_come: whether the next frame may be a token.
        count: how many tokens there were since the handshake.
    """

    def __init__(self) -> None:
        self.may_come = False
        self.count = 0
        self._client_id = b""
        self._correlation_id = 0

    @property
    def needed(self) -> int:
        """How many bytes of a frame, size included, show what it is."""
        return _BEFORE_CLIENT_ID + len(self._client_id)

    def begin(self, handshake: bytes, client_id: bytes | None) -> None:
        """Expect tokens after a handshake, of which the frame as far as the client id is given."""
        self.may_come, self.count = True, 0
        end = _BEFORE_CLIENT_ID + STRING_LENGTH_BYTES + len(client_id or b"")
        self._client_id = handshake[_BEFORE_CLIENT_ID:end]
        self._correlation_id = read_request_start(handshake[SIZE_BYTES:]).correlation_id

    def take(self, data: bytes) -> bool:
        """Return whether a frame is a token.

        A token has no header like that of the handshake. After the first request no more tokens come.
        """
        self.may_come = self.may_come and not self._is_request(data)
        self.count += self.may_come
        return self.may_come

    def _is_request(self, data: bytes) -> bool:
        if data[_BEFORE_CLIENT_ID : self.needed] != self._client_id:
            return False
        api_key, version, correlation_id = read_request_start(data[SIZE_BYTES:])
        if api_key < 0 or version < 0 or not is_known(api_key, version):
            return False
        # A token may have zeros where the length of an empty client id is.
        has_name = len(self._client_id) > STRING_LENGTH_BYTES
        return has_name or 0 <= correlation_id - self._correlation_id <= _MAX_BETWEEN


@dataclass(slots=True, eq=False)
class RequestHead:
    """What is read of one request.

    Attributes:
        api_key: its API.
        api_version: its version.
        correlation_id: its correlation id.
        client_id: its client id; None if it is null, or does not fit into the frame.
        data: its bytes as far as they were read: size and header, and the body of ApiVersions.
        answer: what makes the response of another one; None if the broker's own response is passed on.
        is_last: whether nothing is passed on after it, because the connection ends with its response.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: bytes | None
    data: bytes
    answer: Callable[[bytes], bytes | None] | None = None
    is_last: bool = False

    @property
    def client_name(self) -> str | None:
        """The client id as text, whatever its bytes are."""
        return client_text(self.client_id)


def client_text(client_id: bytes | None) -> str | None:
    """Return a client id as text, whatever its bytes are; None if it is null."""
    return None if client_id is None else client_id.decode(errors="replace")


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
        """The bytes that are held back, because what they begin is not known yet."""
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
        while at + _BEFORE_CLIENT_ID <= len(data):
            size, api_key, version, correlation_id, length = _START.unpack_from(data, at)
            header_end = at + _BEFORE_CLIENT_ID + max(0, length)
            if (
                not _NUMBERS.size + length <= size <= SOCKET_REQUEST_MAX_BYTES
                or not _is_of_kafka(api_key, version)
                or api_key in _READ_FURTHER
                or header_end > len(data)
            ):
                break
            client_id = None if length < 0 else data[at + _BEFORE_CLIENT_ID : header_end]
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
        if len(head) < _BEFORE_CLIENT_ID:
            return min(whole, _BEFORE_CLIENT_ID)
        api_key: int
        length: int
        api_key, api_version, _, length = _NUMBERS.unpack_from(head, SIZE_BYTES)
        if not _is_of_kafka(api_key, api_version):
            return _BEFORE_CLIENT_ID
        if api_key == API_VERSIONS_KEY:
            return min(whole, SIZE_BYTES + MAX_BODY_BYTES)
        return min(whole, _BEFORE_CLIENT_ID + max(0, length))

    def _complete(self) -> list[bytes]:
        """Take in what was read of a frame; return what is passed on of it."""
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
        if size < _SHORTEST:
            return self._give_up(f"a frame of {size} bytes, which is too short for a request", data)
        head = _head_of(data)
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
    return 0 <= api_key < _HIGHEST and -1 <= api_version < _HIGHEST


def _head_of(data: bytes) -> RequestHead:
    """Return the head of a request whose header was read."""
    key, version, correlation_id = read_request_start(data[SIZE_BYTES:])
    length = -1
    if len(data) >= _BEFORE_CLIENT_ID:
        length = int.from_bytes(data[SIZE_BYTES + CLIENT_ID_OFFSET : _BEFORE_CLIENT_ID], signed=True)
    client_id = data[_BEFORE_CLIENT_ID : _BEFORE_CLIENT_ID + length] if length >= 0 else None
    return RequestHead(
        api_key=key,
        api_version=version,
        correlation_id=correlation_id,
        client_id=client_id if client_id is None or len(client_id) == length else None,
        data=data,
    )


def is_held(request: RequestHead) -> bool:
    """Return whether the response of a request is kept until it is complete."""
    return request.answer is not None or request.api_key in _HELD_KEYS


class Pending:
    """The requests of one connection that have no response yet, in order.

    Their number is bounded, because writes with acks=0 never get a response.

    Attributes:
        writes_are_answered: whether a Produce request has had a response, so that they are sent with another acks than
            0.
    """

    def __init__(self) -> None:
        self.writes_are_answered = False
        self._heads: deque[RequestHead] = deque()
        self._held = 0

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._heads)

    @property
    def has_held(self) -> bool:
        """Whether the response of one of them is kept until it is complete."""
        return self._held > 0

    @property
    def first(self) -> RequestHead | None:
        """The request that is answered next, if that is sure: a write may be one with acks=0."""
        if not self._heads or (self._heads[0].api_key == PRODUCE_KEY and not self.writes_are_answered):
            return None
        return self._heads[0]

    @property
    def may_all_stay_unanswered(self) -> bool:
        """Whether they are all writes, and no write has been answered here."""
        return not self.writes_are_answered and all(each.api_key == PRODUCE_KEY for each in self._heads)

    def add(self, request: RequestHead) -> None:
        """Remember a request. If there are too many, writes are forgotten first, and the oldest."""
        if len(self._heads) >= MAX_PENDING:
            self._forget_half()
        self._heads.append(request)
        self._held += is_held(request)

    def answer_first(self) -> None:
        """Forget the first request, which is answered."""
        self._note_answered(self._heads.popleft())

    def answer(self, correlation_id: int) -> RequestHead | None:
        """Return the request of a response, and forget it and those before it, such as writes with acks=0.

        A client may use a correlation id again. Then a write gives way to another request, unless writes are answered
        here.

        Returns:
            The request; None if none has this correlation id, and all of them are kept.
        """
        indexes = [index for index, each in enumerate(self._heads) if each.correlation_id == correlation_id]
        if not indexes:
            return None
        others = [each for each in indexes if self._heads[each].api_key != PRODUCE_KEY]
        index = others[0] if others and not self.writes_are_answered else indexes[0]
        for _ in range(index):
            self._held -= is_held(self._heads.popleft())
        request = self._heads.popleft()
        self._note_answered(request)
        return request

    def _note_answered(self, request: RequestHead) -> None:
        self._held -= is_held(request)
        self.writes_are_answered |= request.api_key == PRODUCE_KEY

    def _forget_half(self) -> None:
        """Forget the writes in the older half; half of all if that are none."""
        half = len(self._heads) // 2
        older = [self._heads.popleft() for _ in range(half)]
        kept = [each for each in older if each.api_key != PRODUCE_KEY]
        self._put_first(kept if len(kept) < half else [])

    def _put_first(self, requests: Iterable[RequestHead]) -> None:
        self._heads.extendleft(reversed(list(requests)))
        self._held = sum(map(is_held, self._heads))
