"""Requests of a client as moves.

A move has what the client knew on its connection when it sent the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reference_model.clients.rules.read_response import ReadResponse, ResponseKind, read_response
from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.clients.scripts.script import ConnectionScript
from reference_model.clients.scripts.served_apis import CLIENT_APIS
from reference_model.profiles.known_apis import known_apis, label_of
from wire.api_keys import DESCRIBE_CLUSTER_KEY, METADATA_KEY, SASL_HANDSHAKE_KEY, SASL_KEYS
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.described_messages import FIRST_METADATA_WITH_AN_ERROR
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES

ENDS_FROM_VERSION: Mapping[ErrorCode, int] = {
    ErrorCode.INVALID_REQUEST: FIRST_FLEXIBLE_VERSION,
    ErrorCode.REBOOTSTRAP_REQUIRED: FIRST_VERSION_WITH_CLUSTER_CHECK,
}
"""Errors after which a connection must not be used any more, with the first version that can be answered with them."""
HIGHEST_VERSION_OF_ANY_API = 1000
"""Far above the version of any API: a client that sends more has copied the broker's maximum."""
IN_FLIGHT_MS = 200
"""How long two requests that a client sends without waiting between them may be apart when the broker reads them, on a
busy machine.

It is less than `script.ERROR_AFTER_MS`, so whatever comes after an error of a scripted broker is a reaction to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One request of a client, and what the client knew on this connection when it sent it.

    A response counts as known once it was written completely; a request that was sent before is not judged by it.
    Neither is one that came in the same read of the connection as the request that got the response.

    Attributes:
        request: the request.
        number: its index among the requests of its connection, counted from 0.
        response: what the client could read in the response; None for an API other than ApiVersions.
        has_asked: whether there was an ApiVersions request before it.
        table: the latest table.
        latest: the latest ApiVersions request whose response was known.
        ended_by: the first one whose response ends the use of the connection, unless this request may have been on its
            way already when that was written.
        is_authenticated: whether a step of SASL came before it, and it is none itself.
        is_token: whether it is no request but a token without a header, as it follows SaslHandshake v0.
    """

    request: SeenRequest
    number: int
    response: ReadResponse | None = None
    has_asked: bool = False
    table: ReadResponse | None = None
    latest: Move | None = None
    ended_by: Move | None = None
    is_authenticated: bool = False
    is_token: bool = False

    def __str__(self) -> str:
        seen = self.request
        if self.is_no_request:
            return f"the data on connection {seen.connection}"
        return f"{label_of(seen.api_key)} v{seen.api_version} on connection {seen.connection}"

    @property
    def has_impossible_version(self) -> bool:
        """Whether no API has as many versions."""
        return self.request.api_version > HIGHEST_VERSION_OF_ANY_API

    @property
    def is_no_request(self) -> bool:
        """Whether its first bytes are no header, but for example the letters of a token."""
        return self.has_impossible_version and self.request.api_key not in known_apis()

    @property
    def response_kind(self) -> ResponseKind | None:
        """What kind of response an ApiVersions request got."""
        return None if self.response is None else self.response.kind

    @property
    def is_table(self) -> bool:
        """Whether an ApiVersions request got a table."""
        return self.response_kind is ResponseKind.TABLE

    @property
    def error(self) -> ErrorCode | None:
        """The error code that an ApiVersions request got, if the response has one."""
        return None if self.response is None else self.response.error_code

    @property
    def ends_connection(self) -> bool:
        """Whether nothing more may be sent on the connection once the client knows the response."""
        first = None if self.error is None else ENDS_FROM_VERSION.get(self.error)
        return first is not None and self.request.api_version >= first

    @property
    def gives_ids(self) -> tuple[bool, bool]:
        """Whether an ApiVersions request has a cluster id, and a node id."""
        body = self.request.body
        if body is None or self.request.api_version < FIRST_VERSION_WITH_CLUSTER_CHECK:
            return False, False
        return body.cluster_id is not None, body.node_id != -1


Forbidden = Iterator[tuple[str, str]]
"""A clause that forbids a move, and what the move did, to be read after the move's name."""


class History:
    """A recording in the order in which the client acted.

    Attributes:
        recording: the recording.
        moves: all moves.
        by_connection: the moves of each connection, by its number.
        metadata: the moves that were answered with metadata, and no error instead of it.
        misrouted: the moves that were answered with REBOOTSTRAP_REQUIRED.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.moves: list[Move] = []
        self.by_connection: dict[int, list[Move]] = {}
        for request in recording.requests:
            # Requests on connections that are only counted say too little about what the client knew.
            if request.connection < len(recording.connections):
                earlier = self.by_connection.setdefault(request.connection, [])
                move = _move(request, earlier)
                earlier.append(move)
                self.moves.append(move)
        self.metadata = [
            move
            for move in self.moves
            if move.request.api_key in (METADATA_KEY, DESCRIBE_CLUSTER_KEY)
            and move.request.response
            and not _is_metadata_error(move.request)
        ]
        self.misrouted = [
            move
            for move in self.moves
            if move.ends_connection and move.error is ErrorCode.REBOOTSTRAP_REQUIRED and self.was_read(move)
        ]

    def moves_on(self, connection: SeenConnection) -> list[Move]:
        """Return the moves on a connection."""
        return self.by_connection.get(connection.number, [])

    def moves_before_connection_of(self, move: Move) -> list[Move]:
        """Return the moves on the connection to the same node that ended last before that of a move was opened."""
        connection = self.connection_of(move)
        over = [
            other
            for other in self.earlier_connections(connection)
            if other.closed_ms is not None and other.closed_ms <= connection.opened_ms
        ]
        return self.moves_on(over[-1]) if over else []

    def connection_of(self, move: Move) -> SeenConnection:
        """Return the connection of a move."""
        return self.recording.connections[move.request.connection]

    def leads_to_listed_node(self, move: Move) -> bool:
        """Return whether a move was sent to a node that Metadata lists."""
        return self.recording.script.nodes[self.connection_of(move).node].is_listed

    def script_of(self, connection: SeenConnection) -> ConnectionScript:
        """Return what the broker did on a connection."""
        if connection.is_healthy:
            return ConnectionScript()
        earlier = sum(1 for _ in self.earlier_connections(connection))
        return self.recording.script.nodes[connection.node].connection(earlier)

    def is_unanswered(self, connection: SeenConnection) -> bool:
        """Return whether the client read no response on a connection."""
        return not any(move.request.response and self.was_read(move) for move in self.moves_on(connection))

    def was_read(self, move: Move) -> bool:
        """Return whether nothing shows that the client did not read the response to a move.

        A client whose bootstrap connection is replaced may end it before the response comes, as librdkafka does on a
        busy machine.
        """
        connection = self.connection_of(move)
        was_reset = connection.closed_by == "client" and connection.was_reset
        answered = [each for each in self.moves_on(connection) if each.request.response]
        return not was_reset or answered[-1:] != [move]

    def had_table(self, connection: SeenConnection, at_ms: int) -> bool:
        """Return whether a connection had got a table by a time."""
        return any(
            move.response is not None and move.is_table and move.response.from_ms <= at_ms
            for move in self.moves_on(connection)
        )

    def failed(self, connection: SeenConnection) -> bool:
        """Return whether an ApiVersions request on a connection got anything but a table."""
        return any(move.response_kind not in (None, ResponseKind.TABLE) for move in self.moves_on(connection))

    def had_metadata(self, at_ms: int, *, since_ms: int = -1) -> bool:
        """Return whether the client asked for metadata after a time, and got it before another one."""
        return any(since_ms < move.request.at_ms and move.request.responded_ms <= at_ms for move in self.metadata)

    def earlier_connections(self, connection: SeenConnection) -> Iterator[SeenConnection]:
        """Yield the earlier connections to the same node."""
        return (other for other in self.recording.connections[: connection.number] if other.node == connection.node)


def _is_metadata_error(request: SeenRequest) -> bool:
    """Return whether a response to Metadata has the error code that only newer versions have."""
    has_code = request.api_key == METADATA_KEY and request.api_version >= FIRST_METADATA_WITH_AN_ERROR
    if not has_code:
        return False
    try:
        metadata = CLIENT_APIS[METADATA_KEY].read_response(request.response[SIZE_BYTES:], request.api_version)
    except DecodeError:
        return False
    return bool(metadata.error_code)


def _move(request: SeenRequest, earlier: list[Move]) -> Move:
    before = earlier[-1] if earlier else None
    table = latest = ended_by = None
    if before is not None:
        table, latest, ended_by = before.table, before.latest, before.ended_by
    for move in earlier[0 if latest is None else latest.number + 1 :]:
        if is_known(move, request):
            latest = move
            table = move.response if move.response_kind is ResponseKind.TABLE else table
    if ended_by is None:
        ended = (move for move in earlier if move.ends_connection)
        ended_by = next((move for move in ended if not was_in_flight(request, move)), None)
    is_token = before is not None and _announces_token(before)
    return Move(
        request=request,
        number=len(earlier),
        response=read_response(request) if request.is_about_versions and not is_token else None,
        has_asked=before is not None and (before.has_asked or before.request.is_about_versions),
        table=table,
        latest=latest,
        ended_by=ended_by,
        is_authenticated=request.api_key not in SASL_KEYS
        and any(each.request.api_key in SASL_KEYS for each in earlier),
        is_token=is_token,
    )


def may_be_one_client(one: Move, other: Move) -> bool:
    """Return whether two requests may be of the same client.

    A program may have several clients, and each knows only what it was sent itself.
    """
    ids = {one.request.client_id, other.request.client_id} - {None}
    return len(ids) < 2


def is_known(move: Move, request: SeenRequest) -> bool:
    """Return whether the client may have known the response to an ApiVersions request when it sent another one."""
    came_together = request.read is not None and request.read == move.request.read
    return move.response is not None and move.response.from_ms <= request.at_ms and not came_together


def was_in_flight(request: SeenRequest, move: Move) -> bool:
    """Return whether a request may have been on its way when the response to an earlier ApiVersions request came.

    A client may send requests without waiting for responses. If the response came at once, what follows at once may
    have been on its way; if it came after a while, everything that was sent with its own request had come before it.
    """
    if move.response is None or not is_known(move, request):
        return True
    came_at_once = move.response.from_ms - move.request.at_ms < IN_FLIGHT_MS
    return came_at_once and request.at_ms - move.response.from_ms < IN_FLIGHT_MS


def _announces_token(move: Move) -> bool:
    seen = move.request
    is_first_handshake = seen.api_key == SASL_HANDSHAKE_KEY and seen.api_version == 0
    return is_first_handshake and bool(seen.response) and not move.is_token
