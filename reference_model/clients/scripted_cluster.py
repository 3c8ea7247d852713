"""A cluster of scripted brokers without sockets or a clock: bytes of a client in, bytes and closes out, all recorded.

Whoever carries the bytes, sockets or a simulation, says what time it is, and obeys each `Write` of a connection in order.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from reference_model.clients.answer_bytes import answer_bytes
from reference_model.clients.recording import (
    MOST_CONNECTIONS,
    MOST_REQUESTS,
    Recording,
    SeenConnection,
    SeenRequest,
)
from reference_model.clients.script import (
    Answer,
    ConnectionScript,
    Range,
    Script,
    Table,
    healthy_ranges,
)
from reference_model.listeners import SASL_LISTENERS
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.headers import (
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
        delay_ms: how long to wait before that, counted from the end of the connection's write before.
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
        self.requests: list[SeenRequest] = []
        self.unserved: dict[tuple[int, int], None] = {}
        self.all_requests = 0
        self.api_versions_requests = 0
        self._connections: list[ScriptedConnection] = []
        self._on_node: Counter[int] = Counter()
        self._all_connections = 0
        self._first_ms: int | None = None
        self._responses = 0
        self._loops_since_ms: int | None = None
        self._recovered_ms: int | None = None

    def connect(self, node: int, now_ms: int) -> ScriptedConnection:
        """Accept a connection to a node, given by its place in the script."""
        self._first_ms = now_ms if self._first_ms is None else self._first_ms
        heals_after_ms = self.script.heals_after_ms
        is_healthy = (
            heals_after_ms is not None
            and now_ms - self._first_ms >= heals_after_ms
            and self._on_node[node] >= self.script.heals_after_connections
        )
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

    def see(self, request: SeenRequest, connection: ScriptedConnection) -> None:
        """Record a request, and note what ends the play."""
        self.all_requests += 1
        if len(self.requests) < MOST_REQUESTS:
            self.requests.append(request)
        if request.is_about_versions:
            self.api_versions_requests += 1
            is_loop = connection.seen.api_versions_requests > MOST_ON_ONE_CONNECTION
            if self._loops_since_ms is None and (
                is_loop or self.api_versions_requests > MOST_IN_ALL
            ):
                self._loops_since_ms = request.at_ms
        elif request.is_served:
            self._responses += 1
        recovers = self.script.heals_after_ms is not None and connection.seen.is_healthy
        if recovers and request.api_key == METADATA_KEY and request.is_served:
            self._recovered_ms = self._recovered_ms or request.at_ms

    def enough(self, now_ms: int) -> str:
        """Return why the play may end now; empty if it must go on."""
        if self._loops_since_ms is not None and now_ms - self._loops_since_ms > LOOP_IS_MEASURED_MS:
            return "the client asks for ApiVersions in a loop"
        if self._recovered_ms is not None and now_ms - self._recovered_ms > RECOVERY_IS_SEEN_MS:
            return "the client has recovered"
        if self.script.ends_after is not None and self._responses >= self.script.ends_after:
            return "the client got enough responses"
        return ""

    @property
    def has_open_connections(self) -> bool:
        """Whether a recorded connection is open."""
        return not all(connection.is_closed for connection in self._connections)

    def recording(self, *, duration_ms: int, cut_short: str = "") -> Recording:
        """Return what was seen.

        Args:
            duration_ms: how long the play took.
            cut_short: why it ended before the client did.
        """
        return Recording(
            script=self.script,
            connections=tuple(connection.seen for connection in self._connections),
            requests=tuple(self.requests),
            all_connections=self._all_connections,
            all_requests=self.all_requests,
            api_versions_requests=self.api_versions_requests,
            duration_ms=duration_ms,
            cut_short=cut_short,
            unserved=tuple(self.unserved),
        )


class ScriptedConnection:
    """One connection to a scripted broker.

    Attributes:
        seen: what is recorded of it.
        opening: what the broker does as soon as it is open.
        is_closed: whether either side has closed it.
    """

    def __init__(
        self, cluster: ScriptedCluster, script: ConnectionScript, seen: SeenConnection
    ) -> None:
        """Start without requests; only `ScriptedCluster.connect` does this."""
        self.seen = seen
        self.is_closed = False
        self.opening: list[Write] = []
        self._cluster = cluster
        self._script = script
        self._reader = FrameReader(max_frame_bytes=LARGEST_REQUEST_BYTES)
        self._ranges: Sequence[Range] = healthy_ranges()
        self._answers = 0
        self._others = 0
        self._is_authenticated = cluster.script.listener not in SASL_LISTENERS
        self._token_is_bare = False
        if script.on_open == "close":
            self.opening = [Write(then="close")]
            self._ends("broker", seen.opened_ms)

    def receive_data(self, data: bytes, now_ms: int) -> list[Write]:
        """Take bytes of the client, and return what the broker does about them."""
        if self.is_closed:
            return []
        writes: list[Write] = []
        self._reader.receive_data(data)
        try:
            while not self.is_closed and (payload := self._reader.next_payload()) is not None:
                writes += self._answer(payload, now_ms)
        except DecodeError:
            unreadable = self._reader.unread[:MOST_UNREADABLE_BYTES]
            self.seen = dataclasses.replace(self.seen, unreadable=unreadable)
            self._ends("broker", now_ms)
            writes.append(Write(then="close"))
        return writes

    def client_closed(self, now_ms: int) -> None:
        """Note that the client has closed the connection."""
        self._ends("client", now_ms)

    def _ends(self, by: Literal["client", "broker"], now_ms: int) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.seen = dataclasses.replace(self.seen, closed_ms=now_ms, closed_by=by)

    def _answer(self, payload: bytes, now_ms: int) -> list[Write]:
        start = read_request_start(payload)
        is_about_versions = start.api_key == API_VERSIONS_KEY and not self._token_is_bare
        self.seen = dataclasses.replace(
            self.seen,
            requests=self.seen.requests + 1,
            api_versions_requests=self.seen.api_versions_requests + is_about_versions,
        )
        request = SeenRequest(
            connection=self.seen.number,
            at_ms=now_ms,
            data=encode_frame(payload),
            api_key=start.api_key,
            api_version=start.api_version,
            correlation_id=start.correlation_id,
        )
        if self._script.on_open == "silence":
            writes: list[Write] = []
            request = dataclasses.replace(request, is_served=False)
        elif self._token_is_bare:
            # After SaslHandshake v0 a frame is a token without a header; PLAIN needs a single one.
            self._token_is_bare, self._is_authenticated = False, True
            request = dataclasses.replace(
                request, api_key=SASL_AUTHENTICATE_KEY, api_version=BARE_TOKEN, correlation_id=0
            )
            writes = [Write(data=encode_frame(b""))]
        elif is_about_versions:
            request, writes = self._answer_api_versions(request, payload)
        else:
            request, writes = self._answer_other(request, payload, start)
        response = b"".join(write.data for write in writes)
        self._cluster.see(dataclasses.replace(request, response=response), self)
        if any(write.then != "stay" for write in writes):
            self._ends("broker", now_ms)
        return writes

    def _answer_api_versions(
        self, request: SeenRequest, payload: bytes
    ) -> tuple[SeenRequest, list[Write]]:
        request = _decoded(request, payload)
        is_supported = 0 <= request.api_version <= self._script.newest_version
        answer = self._next_answer(request) if is_supported else self._refusal()
        request = dataclasses.replace(request, answer=answer, is_served=is_supported)
        if answer.action == "silence":
            return request, []
        if answer.action != "answer":
            return request, [Write(delay_ms=answer.delay_ms, then=answer.action)]
        if answer.error_code == ErrorCode.NONE and answer.table.is_readable:
            self._ranges = answer.table.entries
        frame = answer_bytes(
            answer, api_version=request.api_version, correlation_id=request.correlation_id
        )
        return request, _in_pieces(frame, answer)

    def _refusal(self) -> Answer:
        """Return what a version gets that the broker does not support."""
        if self._script.refusal is not None:
            return self._script.refusal
        own = (API_VERSIONS_KEY, 0, self._script.newest_version)
        return Answer(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            table=Table(base="empty", changed=(own,)),
            layout=0,
        )

    def _next_answer(self, request: SeenRequest) -> Answer:
        answer = self._script.answer(self._answers)
        self._answers += 1
        if answer == Answer() and self._names_another_broker(request.body):
            return Answer(error_code=ErrorCode.REBOOTSTRAP_REQUIRED, table=Table(base="empty"))
        table = served_table(answer.table, self._script.newest_version)
        return dataclasses.replace(answer, table=table)

    def _names_another_broker(self, body: ApiVersionsRequest | None) -> bool:
        if body is None or (body.cluster_id is None and body.node_id == -1):
            return False
        own = (self._script.cluster_id, self._script.id_of(self.seen.node))
        return (body.cluster_id, body.node_id) != own

    def _answer_other(
        self, request: SeenRequest, payload: bytes, start: RequestStart
    ) -> tuple[SeenRequest, list[Write]]:
        api = (CLUSTER_APIS if self._is_authenticated else SASL_APIS).get(start.api_key)
        is_listed = any(
            key == start.api_key and low <= start.api_version <= high
            for key, low, high in self._ranges
        )
        if api is None or not is_listed or start.api_version not in api.valid_versions:
            if is_listed and start.api_version >= 0:
                self._cluster.unserved.setdefault((start.api_key, start.api_version))
            return dataclasses.replace(request, is_served=False), [Write(then="close")]
        try:
            header, message = _read(api, payload, start.api_version)
        except DecodeError as error:
            refused = dataclasses.replace(request, problem=str(error), is_served=False)
            return refused, [Write(then="close")]
        request = dataclasses.replace(request, client_id=header.client_id)
        self._others += 1
        closes = self._script.closes_after is not None and self._others >= self._script.closes_after
        data = _response_bytes(api, start, self._respond(api, start, message))
        return request, [Write(data=data, then="close" if closes else "stay")]

    def _respond(self, api: Api, start: RequestStart, message: object) -> object:
        if start.api_key == SASL_HANDSHAKE_KEY:
            self._token_is_bare = start.api_version == 0
            return api.response(mechanisms=(PLAIN,))
        if start.api_key == SASL_AUTHENTICATE_KEY:
            self._is_authenticated = True
            return api.response()
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


def _decoded(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return an ApiVersions request with its client id and body, or with the reason why they cannot be read."""
    version = request.api_version
    try:
        header, body_at = decode_prefix(
            RequestHeader, payload, version=request_header_version(API_VERSIONS_KEY, version)
        )
        request = dataclasses.replace(request, client_id=header.client_id)
        if 0 <= version <= NEWEST_VERSION:
            body = decode(ApiVersionsRequest, payload[body_at:], version=version)
            return dataclasses.replace(request, body=body)
    except DecodeError as error:
        return dataclasses.replace(request, problem=str(error))
    return request


def _read(api: Api, payload: bytes, version: int) -> tuple[RequestHeader, object]:
    """Decode a request; like Kafka, ignore bytes after its body, which librdkafka sends after Metadata v13."""
    header_version = api.request_header_version(version)
    header, body_at = decode_prefix(RequestHeader, payload, version=header_version)
    message, _ = decode_prefix(api.request, payload, version=version, offset=body_at)
    return header, message


def _response_bytes(api: Api, start: RequestStart, message: object) -> bytes:
    version = start.api_version
    header = encode(
        ResponseHeader(correlation_id=start.correlation_id),
        version=api.response_header_version(version),
    )
    return encode_frame(header + encode(message, version=version))  # type: ignore[arg-type]


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
