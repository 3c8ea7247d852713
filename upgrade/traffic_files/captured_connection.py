"""One connection in a capture: its client side, and the requests of the client.

Bytes of a connection that was captured from its beginning are requests once a response has the correlation id of one of
them. After a hole, or if the beginning is missing, reading goes on at a segment that begins with a request, and counts
only what follows without another hole and after two responses with the right ids. What cannot be proved is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from upgrade.traffic_files.captured_requests import (
    MAX_REQUEST_BYTES,
    MAX_RESPONSE_BYTES,
    MAX_TABLE_BYTES,
    CapturedRequest,
    begins_with_request,
    is_tls,
    needed_of_request,
    read_request,
    read_table,
    response_at,
)
from upgrade.traffic_files.frame_beginnings import FrameBeginning, FrameBeginnings
from upgrade.traffic_files.stream_order import Piece, StreamOrder
from upgrade.traffic_files.tcp_packets import Endpoint, Segment
from wire.api_keys import API_VERSIONS_KEY, SASL_HANDSHAKE_KEY
from wire.headers import CORRELATION_ID_BYTES, read_correlation_id, read_request_start

PROOFS_FROM_BEGINNING = 1
PROOFS_ELSEWHERE = 2
MAX_OUTSTANDING = 1000
MAX_KINDS = 1000
"""How many different requests are counted on one connection."""
_MAX_TOKEN_BYTES = 64 * 1024


class RequestKey(NamedTuple):
    """What requests of one connection are counted by."""

    client_id: str | None
    api_key: int
    api_version: int


class _OpenRequest(NamedTuple):
    api_key: int
    api_version: int
    part: int


class CapturedConnection:
    """Reads one connection.

    Attributes:
        client: the end that sends requests; None until that is known.
        server: the other one.
        is_from_beginning: whether its first bytes were captured.
        is_tls: whether it is encrypted, so that nothing of it can be read.
        has_data: whether there was any data.
        has_holes: whether bytes of the client's are missing whose requests are unknown.
        requests: the requests that are proved, by kind.
        unproved: those of the part that is read now, and not proved so far.
        discarded: how many requests could not be proved.
        cut: requests of which too little was captured to know the client.
        software: name and version of the client's software.
        table: what the server listed in ApiVersions.
    """

    def __init__(self, first: Segment) -> None:
        self.client: Endpoint | None = None
        self.server: Endpoint | None = None
        self.is_from_beginning = self.is_tls = self.has_data = self.has_holes = False
        self.requests: Counter[RequestKey] = Counter()
        self.unproved: Counter[RequestKey] = Counter()
        self.discarded = self.cut = 0
        self.software: tuple[str, str] | None = None
        self.table: dict[int, tuple[int, int]] = {}
        self._ends = (first.source, first.destination)
        self._streams = {end: StreamOrder() for end in self._ends}
        self._ended: set[Endpoint] = set()
        self._sent = FrameBeginnings(needed_of_request, MAX_REQUEST_BYTES)
        self._received = FrameBeginnings(self._needed_of_response, MAX_RESPONSE_BYTES)
        self._outstanding: dict[int, _OpenRequest] = {}
        self._part = self._proofs = 0
        self._expects_tokens = False

    @property
    def has_ended(self) -> bool:
        """Whether both ends closed it, or one reset it."""
        return len(self._ended) == len(self._ends)

    @property
    def is_complete(self) -> bool:
        """Whether everything that the client sent was read, from its beginning."""
        return self.is_from_beginning and not self.has_holes

    @property
    def is_proved(self) -> bool:
        """Whether what is read now is known to be requests."""
        needed = PROOFS_FROM_BEGINNING if self.is_complete else PROOFS_ELSEWHERE
        return self._proofs >= needed

    def receive(self, segment: Segment) -> None:
        """Read one segment of the connection."""
        if segment.opens:
            self._open(segment)
        other = self._streams[segment.destination]
        if segment.acknowledged is not None:
            self._read(segment.destination, other.acknowledge(segment.acknowledged))
        if segment.size and not segment.opens:
            self.has_data = True
            pieces = self._streams[segment.source].receive(segment.sequence, segment.data, segment.size)
            self._read(segment.source, pieces)
        if segment.ends:
            self._ended.add(segment.source)
        if segment.resets:
            self._ended.update(self._ends)

    def finish(self) -> None:
        """Read what still waits for segments that never came."""
        for end, stream in self._streams.items():
            self._read(end, stream.finish())

    def _open(self, segment: Segment) -> None:
        is_answer = segment.acknowledged is not None
        self._set_client(segment.destination if is_answer else segment.source)
        self._streams[segment.source].begin(segment.sequence)
        if is_answer:
            self._received.begin()
        else:
            self.is_from_beginning = True
            self._sent.begin()

    def _set_client(self, client: Endpoint | None) -> None:
        self.client = client
        self.server = None if client is None else self._ends[client == self._ends[0]]

    def _read(self, source: Endpoint, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if self.is_tls:
                continue
            if piece.begins_segment and not self.requests and is_tls(piece.data):
                self.is_tls = True
            elif self.client is None or source == self.client:
                self._read_requests(source, piece)
            else:
                self._read_responses(piece)

    def _read_requests(self, source: Endpoint, piece: Piece) -> None:
        if self._sent.is_lost:
            if not piece.begins_segment or not begins_with_request(piece.data):
                return
            self._set_client(source)
            self._sent.begin()
        for frame in self._sent.read(piece):
            self._take(frame)
        if self._sent.is_lost:
            self._lose()

    def _take(self, frame: FrameBeginning) -> None:
        request = read_request(frame.payload, strictly=self._expects_tokens or not (self.is_complete or self.is_proved))
        if request is not None and not frame.is_cut:
            self._count(request)
        elif frame.is_cut:
            self.cut += 1
            if len(frame.payload) >= CORRELATION_ID_BYTES * 2:
                self._expect_response(*read_request_start(frame.payload))
        elif not self._expects_tokens or frame.size > _MAX_TOKEN_BYTES:
            self._sent.is_lost = True

    def _count(self, request: CapturedRequest) -> None:
        self._expects_tokens = (request.api_key, request.api_version) == (SASL_HANDSHAKE_KEY, 0)
        self.software = request.software or self.software
        self._expect_response(request.api_key, request.api_version, request.correlation_id)
        kinds = self.requests if self.is_proved else self.unproved
        kind = RequestKey(request.client_id, request.api_key, request.api_version)
        if kind in kinds or len(kinds) < MAX_KINDS:
            kinds[kind] += 1
        else:
            self.discarded += 1

    def _expect_response(self, api_key: int, api_version: int, correlation_id: int) -> None:
        if len(self._outstanding) >= MAX_OUTSTANDING:
            # Produce with acks 0 never gets a response.
            del self._outstanding[next(iter(self._outstanding))]
        self._outstanding[correlation_id] = _OpenRequest(api_key, api_version, self._part)

    def _lose(self) -> None:
        """Go on after a hole, or after bytes that are no request."""
        if not self.requests and not self.is_from_beginning:
            # It may have been the other end that sends requests.
            self._set_client(None)
            self._received.is_lost = True
        self.discarded += self.unproved.total()
        self.unproved.clear()
        self.has_holes = True
        self._expects_tokens = False
        self._part += 1
        self._proofs = 0

    def _needed_of_response(self, payload: bytes) -> int:
        correlation_id = read_correlation_id(payload)
        asked = None if correlation_id is None else self._outstanding.get(correlation_id)
        is_table = asked is not None and asked.api_key == API_VERSIONS_KEY
        return MAX_TABLE_BYTES if is_table else CORRELATION_ID_BYTES

    def _read_responses(self, piece: Piece) -> None:
        if self._received.is_lost:
            if not piece.begins_segment or response_at(piece.data) not in self._outstanding:
                return
            self._received.begin()
        for frame in self._received.read(piece):
            correlation_id = read_correlation_id(frame.payload)
            asked = self._outstanding.pop(-1 if correlation_id is None else correlation_id, None)
            if asked is not None:
                self._match(asked, frame)

    def _match(self, asked: _OpenRequest, frame: FrameBeginning) -> None:
        if asked.part == self._part:
            self._proofs += 1
        if self.is_proved:
            self.requests.update(self.unproved)
            self.unproved.clear()
        if asked.api_key == API_VERSIONS_KEY and not frame.is_cut:
            table = read_table(frame.payload, asked.api_version)
            self.table = max(self.table, table, key=len)
