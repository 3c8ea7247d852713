"""A cluster of scripted brokers without sockets or a clock: bytes of a client in, bytes and closes out, all recorded.

Whoever carries the bytes, sockets or a simulation, says what time it is, and obeys each `Write` of a connection in order.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from reference_model.clients.answer_bytes import answer_bytes
from reference_model.clients.recording import (
    MOST_CONNECTIONS,
    MOST_REQUESTS,
    Recording,
    SeenConnection,
    SeenRequest,
)
from reference_model.clients.script import EMPTY, HEALTHY, Answer, ConnectionScript, Script, Table
from reference_model.listeners import SASL_LISTENERS
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.headers import (
    PLAIN_REQUEST_HEADER,
    RequestHeader,
    RequestStart,
    ResponseHeader,
    read_request_start,
    request_header_version,
)
from wire.message_schemas import Api
from wire.sasl import BARE_TOKEN, PLAIN
from wire.startup_messages import CLUSTER_APIS, SASL_APIS, NodeAddress, cluster_response

Address = tuple[str, int]
"""Host and port."""
LARGEST_REQUEST_BYTES = 1 << 20
"""No client begins with a request of this size; a larger size prefix is something else than a request."""
SHORTEST_REQUEST_BYTES = 8
"""API key, version and correlation id; a shorter frame is no request."""
MOST_UNREADABLE_BYTES = 64
MOST_ON_ONE_CONNECTION = 20
MOST_IN_ALL = 200
LOOP_IS_MEASURED_MS = 1000
"""How long a loop of ApiVersions requests goes on before the play ends, so that its rate is known."""
RECOVERY_IS_SEEN_MS = 300
"""How long after Metadata on a healthy connection the play goes on, so that the client can report its success."""
HEALTHY_CONNECTION = ConnectionScript()


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What a scripted broker does next on a connection.

    Attributes:
        data: the bytes to write; may be empty.
        delay_ms: how long to wait before that, counted from the connection's write before, or from the bytes that
            caused this one if they came later.
        then: what happens to the connection after it.
    """

    data: bytes = b""
    delay_ms: int = 0
    then: Literal["stay", "close", "reset"] = "stay"


class ScriptedCluster:
    """The brokers of one script, and what they have seen so far."""

    def __init__(self, script: Script, addresses: Sequence[Address]) -> None:
        """Start without connections.

        Args:
            script: what the brokers do.
            addresses: the address of each node of the script, in the same order.
        """
        self.script = script
        self.addresses = tuple(addresses)
        self.unserved: dict[tuple[int, int], None] = {}
        self._all_requests = 0
        self._api_versions_requests = 0
        self._seen: list[_Answered] = []
        self._connections: list[ScriptedConnection] = []
        self._on_node: Counter[int] = Counter()
        self._all_connections = 0
        self._healed_ms: int | None = None
        self._loops_since_ms: int | None = None
        self._recovered_ms: int | None = None

    def connect(self, node: int, now_ms: int) -> ScriptedConnection:
        """Accept a connection to a node, given by its place in the script."""
        if self.script.heals_after_ms is not None and not self._all_connections:
            self._healed_ms = now_ms + self.script.heals_after_ms
        is_healthy = self._healed_ms is not None and now_ms >= self._healed_ms
        script = self.script.nodes[node].connection(self._on_node[node])
        self._on_node[node] += 1
        connection = ScriptedConnection(
            self,
            HEALTHY_CONNECTION if is_healthy else script,
            SeenConnection(
                number=self._all_connections, node=node, opened_ms=now_ms, is_healthy=is_healthy
            ),
        )
        self._all_connections += 1
        if len(self._connections) < MOST_CONNECTIONS:
            self._connections.append(connection)
        return connection

    def see(self, answered: _Answered) -> None:
        """Record a request, and note what ends the play."""
        request, connection = answered.request, answered.connection
        self._all_requests += 1
        # A request without its connection says too little about what the client knew.
        if len(self._seen) < MOST_REQUESTS and request.connection < MOST_CONNECTIONS:
            self._seen.append(answered)
        if request.is_about_versions:
            self._api_versions_requests += 1
            is_loop = (
                connection.seen.api_versions_requests > MOST_ON_ONE_CONNECTION
                or self._api_versions_requests > MOST_IN_ALL
            )
            if is_loop and self._loops_since_ms is None:
                self._loops_since_ms = request.at_ms
        recovers = connection.seen.is_healthy and request.api_key == METADATA_KEY
        if recovers and request.is_served and self._recovered_ms is None:
            self._recovered_ms = request.at_ms

    def enough(self, now_ms: int) -> str:
        """Return why the play may end now; empty if it must go on."""
        if self._loops_since_ms is not None and now_ms - self._loops_since_ms > LOOP_IS_MEASURED_MS:
            return "the client asks for ApiVersions in a loop"
        if self._recovered_ms is not None and now_ms - self._recovered_ms > RECOVERY_IS_SEEN_MS:
            return "the client has recovered"
        return ""

    @property
    def has_open_connections(self) -> bool:
        """Whether a recorded connection is open."""
        return any(connection.seen.closed_ms is None for connection in self._connections)

    def recording(self, *, duration_ms: int, cut_short: str = "") -> Recording:
        """Return what was seen.

        Args:
            duration_ms: how long the play took.
            cut_short: why it ended before the client did.
        """
        return Recording(
            script=self.script,
            connections=tuple(each.seen_until(duration_ms) for each in self._connections),
            requests=tuple(each.seen_until(duration_ms) for each in self._seen),
            all_connections=self._all_connections,
            all_requests=self._all_requests,
            api_versions_requests=self._api_versions_requests,
            duration_ms=duration_ms,
            cut_short=cut_short,
            unserved=tuple(self.unserved),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """A request, and the bytes of its response with the time at which each piece is written."""

    request: SeenRequest
    connection: ScriptedConnection
    pieces: tuple[tuple[int, bytes], ...]

    def seen_until(self, end_ms: int) -> SeenRequest:
        """Return the request with the bytes that were written before the end of the play and of its connection."""
        closed_ms = self.connection.seen.closed_ms
        until_ms = end_ms if closed_ms is None else min(end_ms, closed_ms)
        written = (data for at_ms, data in self.pieces if at_ms <= until_ms)
        return dataclasses.replace(self.request, response=b"".join(written))


class ScriptedConnection:
    """One connection to a scripted broker.

    Attributes:
        seen: what is recorded of it; if the broker ends it after a delay, `closed_ms` may lie in the future.
        opening: what the broker does as soon as it is open.
    """

    def __init__(
        self, cluster: ScriptedCluster, script: ConnectionScript, seen: SeenConnection
    ) -> None:
        """Start without requests; only `ScriptedCluster.connect` does this."""
        self.seen = seen
        self.opening: list[Write] = []
        self._cluster = cluster
        self._script = script
        self._newest_version = min(script.newest_version, NEWEST_VERSION)
        self._reader = FrameReader(max_frame_bytes=LARGEST_REQUEST_BYTES)
        self._table: Table | None = None
        self._answers = 0
        self._others = 0
        self._writes_until_ms = seen.opened_ms
        self._is_silent = script.on_open == "silence"
        self._is_authenticated = cluster.script.listener not in SASL_LISTENERS
        self._token_is_bare = False
        if script.on_open == "close":
            self.opening = [Write(then="close")]
            self._ends("broker", seen.opened_ms)

    def receive_data(self, data: bytes, now_ms: int) -> list[Write]:
        """Take bytes of the client, and return what the broker does about them."""
        writes: list[Write] = []
        if self._is_read(now_ms):
            self._reader.receive_data(data)
        try:
            while self._is_read(now_ms) and (payload := self._reader.next_payload()) is not None:
                if len(payload) < SHORTEST_REQUEST_BYTES and not self._token_is_bare:
                    writes += self._refuse_bytes(encode_frame(payload), now_ms)
                else:
                    writes += self._answer(payload, now_ms)
        except DecodeError:
            writes += self._refuse_bytes(self._reader.unread, now_ms)
        return writes

    def client_closed(self, now_ms: int) -> None:
        """Note that the client has closed the connection, unless the broker did before."""
        self._ends("client", now_ms)

    def seen_until(self, end_ms: int) -> SeenConnection:
        """Return what is recorded of the connection if the play ends at this time."""
        closed_ms = self.seen.closed_ms
        if closed_ms is None or closed_ms <= end_ms:
            return self.seen
        return dataclasses.replace(self.seen, closed_ms=None, closed_by="")

    def _is_read(self, now_ms: int) -> bool:
        """Whether the broker still takes requests from the connection."""
        closed_ms = self.seen.closed_ms
        return not self.seen.unreadable and (closed_ms is None or now_ms < closed_ms)

    def _ends(self, by: Literal["client", "broker"], at_ms: int) -> None:
        if self.seen.closed_ms is None or at_ms < self.seen.closed_ms:
            self.seen = dataclasses.replace(self.seen, closed_ms=at_ms, closed_by=by)

    def _refuse_bytes(self, data: bytes, now_ms: int) -> list[Write]:
        """Close the connection because of bytes that are no request."""
        self.seen = dataclasses.replace(self.seen, unreadable=data[:MOST_UNREADABLE_BYTES])
        writes = [] if self._is_mute else [Write(then="close")]
        self._schedule(writes, now_ms)
        return writes

    @property
    def _is_mute(self) -> bool:
        """Whether nothing more is answered: the connection is silent, or its end is already decided."""
        return self._is_silent or self.seen.closed_ms is not None

    def _schedule(self, writes: list[Write], now_ms: int) -> tuple[tuple[int, bytes], ...]:
        """Return the bytes of the writes, each with its time, and note whether the last one ends the connection."""
        at_ms = max(self._writes_until_ms, now_ms)
        pieces = []
        for write in writes:
            at_ms += write.delay_ms
            pieces.append((at_ms, write.data))
            if write.then != "stay":
                self._ends("broker", at_ms)
        self._writes_until_ms = at_ms
        return tuple(pieces)

    def _answer(self, payload: bytes, now_ms: int) -> list[Write]:
        start = read_request_start(payload)
        if self._token_is_bare:
            start = RequestStart(SASL_AUTHENTICATE_KEY, BARE_TOKEN, 0)
        request = SeenRequest(
            connection=self.seen.number,
            at_ms=now_ms,
            data=encode_frame(payload),
            api_key=start.api_key,
            api_version=start.api_version,
            correlation_id=start.correlation_id,
            client_id=None if self._token_is_bare else _client_id(payload),
        )
        self.seen = dataclasses.replace(
            self.seen,
            requests=self.seen.requests + 1,
            api_versions_requests=self.seen.api_versions_requests + request.is_about_versions,
        )
        if request.is_about_versions:
            request = _decoded(request, payload)
        writes: list[Write] = []
        if self._is_mute:
            request = dataclasses.replace(request, is_served=False)
        elif request.is_about_versions:
            request, writes = self._answer_api_versions(request)
        elif self._token_is_bare:
            # After SaslHandshake v0 a frame is a token without a header; PLAIN needs a single one.
            self._token_is_bare, self._is_authenticated = False, True
            writes = [Write(data=encode_frame(b""))]
        else:
            request, writes = self._answer_other(request, payload, start)
        pieces = self._schedule(writes, now_ms)
        self._cluster.see(_Answered(request=request, connection=self, pieces=pieces))
        return writes

    def _answer_api_versions(self, request: SeenRequest) -> tuple[SeenRequest, list[Write]]:
        refusal = self._refusal(request.api_version)
        answer = self._next_answer(request) if refusal is None else refusal
        request = dataclasses.replace(request, answer=answer, is_served=refusal is None)
        if answer.action == "silence":
            # Responses come in the order of the requests, so nothing can follow the missing one.
            self._is_silent = True
            return request, []
        if answer.action != "answer":
            return request, [Write(delay_ms=answer.delay_ms, then=answer.action)]
        frame = answer_bytes(
            answer, api_version=request.api_version, correlation_id=request.correlation_id
        )
        if answer.error_code == ErrorCode.NONE and answer.table.is_readable:
            self._table = answer.table
        return request, _in_pieces(frame, answer)

    def _refusal(self, version: int) -> Answer | None:
        """Return what a version of ApiVersions gets that the broker does not support; None if it supports it."""
        ranges: Sequence[tuple[int, int]] = [(0, self._newest_version)]
        if not _lies_in(ranges, version):
            if self._script.refusal is not None:
                return self._script.refusal
        else:
            # A connection whose table does not list ApiVersions can still ask for it.
            ranges = (self._table and self._table.ranges_of(API_VERSIONS_KEY)) or ranges
            if _lies_in(ranges, version):
                return None
        own = tuple((API_VERSIONS_KEY, low, high) for low, high in ranges)
        return Answer(
            error_code=int(ErrorCode.UNSUPPORTED_VERSION),
            table=Table(base="empty", before=own),
            layout=0,
        )

    def _next_answer(self, request: SeenRequest) -> Answer:
        answer = self._script.answer(self._answers)
        self._answers += 1
        if answer == Answer() and self._names_another_broker(request.body):
            return Answer(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED), table=EMPTY)
        table = served_table(answer.table, self._newest_version)
        return dataclasses.replace(answer, table=table)

    def _names_another_broker(self, body: ApiVersionsRequest | None) -> bool:
        if body is None or (body.cluster_id is None and body.node_id == -1):
            return False
        own = (self._script.cluster_id, self._script.id_of(self.seen.node))
        return (body.cluster_id, body.node_id) != own

    def _answer_other(
        self, request: SeenRequest, payload: bytes, start: RequestStart
    ) -> tuple[SeenRequest, list[Write]]:
        closed = dataclasses.replace(request, is_served=False), [Write(then="close")]
        if not self._lists(start):
            return closed
        api = (CLUSTER_APIS if self._is_authenticated else SASL_APIS).get(start.api_key)
        if api is None or start.api_version not in api.valid_versions:
            if start.api_version >= 0:
                self._cluster.unserved.setdefault((start.api_key, start.api_version))
            return closed
        try:
            message = _read(api, payload, start.api_version)
        except DecodeError as error:
            return dataclasses.replace(closed[0], problem=str(error)), closed[1]
        if self._is_authenticated:
            response = self._describe_cluster(api, message)
        else:
            response = self._take_sasl_step(api, start)
        self._others += 1
        closes = self._script.closes_after is not None and self._others >= self._script.closes_after
        data = _response_bytes(api, start, response)
        return request, [Write(data=data, then="close" if closes else "stay")]

    def _lists(self, start: RequestStart) -> bool:
        """Whether the latest table of the connection lists a request; before the first one, whether a healthy one does."""
        table = HEALTHY if self._table is None else self._table
        return _lies_in(table.ranges_of(start.api_key), start.api_version)

    def _take_sasl_step(self, api: Api, start: RequestStart) -> Any:
        """Accept any mechanism and token: a script is about ApiVersions."""
        if start.api_key == SASL_HANDSHAKE_KEY:
            self._token_is_bare = start.api_version == 0
            return api.response(mechanisms=(PLAIN,))
        self._is_authenticated = True
        return api.response(error_message=None)

    def _describe_cluster(self, api: Api, message: Any) -> Any:
        nodes: list[NodeAddress] = [
            (self._script.id_of(place), host, port)
            for place, (host, port) in enumerate(self._cluster.addresses)
        ]
        return cluster_response(api, message, nodes=nodes, cluster_id=self._script.cluster_id)


def served_table(table: Table, newest_version: int) -> Table:
    """Return the table that a broker writes: one that says nothing else of ApiVersions lists what it supports."""
    own = set(table.ranges_of(API_VERSIONS_KEY))
    if newest_version == NEWEST_VERSION or own != {(0, NEWEST_VERSION)}:
        return table
    changed = (*table.changed, (API_VERSIONS_KEY, 0, newest_version))
    return dataclasses.replace(table, changed=changed)


def _lies_in(ranges: Sequence[tuple[int, int]], version: int) -> bool:
    return any(low <= version <= high for low, high in ranges)


def _client_id(payload: bytes) -> str | None:
    """Return the client id of a request, which has the same place in every header that has one."""
    try:
        header, _ = decode_prefix(RequestHeader, payload, version=PLAIN_REQUEST_HEADER)
    except DecodeError:
        return None
    client_id: str | None = header.client_id
    return client_id


def _decoded(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return an ApiVersions request with its body, or with the reason why it cannot be read."""
    version = request.api_version
    if not 0 <= version <= NEWEST_VERSION:
        return request
    header_version = request_header_version(API_VERSIONS_KEY, version)
    try:
        _, body_at = decode_prefix(RequestHeader, payload, version=header_version)
        body = decode(ApiVersionsRequest, payload[body_at:], version=version)
    except DecodeError as error:
        return dataclasses.replace(request, problem=str(error))
    return dataclasses.replace(request, body=body)


def _read(api: Api, payload: bytes, version: int) -> Any:
    """Decode a request; like Kafka, ignore bytes after its body, which librdkafka sends after Metadata v13."""
    header_version = api.request_header_version(version)
    _, body_at = decode_prefix(RequestHeader, payload, version=header_version)
    message, _ = decode_prefix(api.request, payload, version=version, offset=body_at)
    return message


def _response_bytes(api: Api, start: RequestStart, message: Any) -> bytes:
    version = start.api_version
    header = encode(
        ResponseHeader(correlation_id=start.correlation_id),
        version=api.response_header_version(version),
    )
    return encode_frame(header + encode(message, version=version))


def _in_pieces(frame: bytes, answer: Answer) -> list[Write]:
    """Cut a frame into the pieces of an answer; the last one carries what happens then."""
    count = max(1, min(answer.pieces, len(frame)))
    cuts = [len(frame) * place // count for place in range(count + 1)]
    return [
        Write(
            data=frame[begin:end],
            delay_ms=answer.delay_ms,
            then=answer.then if end == len(frame) else "stay",
        )
        for begin, end in pairwise(cuts)
    ]
