"""What a client may do next, given what it has been told: which of its moves are forbidden, each with the clause that says so.

Where the sources are silent, every move is allowed. Rules that need the client's other plays are not here, except
`begins_below`, which is given what they showed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reference_model.clients.moves import SASL_KEYS, History, Move
from reference_model.clients.recording import Recording, SeenConnection
from reference_model.clients.told import Tells, Told
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.error_codes import ErrorCode

MOST_ON_ONE_CONNECTION = 20
"""ApiVersions requests on one connection. Clients that retry in good order stayed far below, those that loop sent
thousands."""
MOST_IN_WINDOW = 200
WINDOW_MS = 5000
"""ApiVersions requests of one client in this time, over all connections: 25 ms apart is no quiet retry any more."""
HIGHEST_VERSION_OF_ANY_API = 1000
"""Far above the version of any API: a client that sends more has copied the broker's maximum."""
OLD_CONNECTION_GRACE_MS = 500
"""How long after REBOOTSTRAP_REQUIRED requests that were on their way may still come on older connections."""
MOST_LEFT_OPEN_MS = 1000
"""How long a connection may stay open after an error that ends its use; clients that close it do so at once."""

_NAME = re.compile(r"[a-zA-Z0-9.\-]+")
"""What either reading of KIP-511 allows: only Apache Kafka's expression refuses a dot or hyphen at an edge."""

_ENDING_CLAUSES = {
    ErrorCode.INVALID_REQUEST: "KIP-511.client-errors-on-42",
    ErrorCode.REBOOTSTRAP_REQUIRED: "KIP-1242.rebootstraps-on-129",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenMove:
    """One request that a client was not allowed to send.

    Attributes:
        clause: the clause that forbids it.
        connection: the number of its connection.
        request: its place among the requests of the connection, counted from 0.
        sentence: what was wrong.
    """

    clause: str
    connection: int
    request: int
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def forbidden_moves(recording: Recording) -> tuple[ForbiddenMove, ...]:
    """Return every forbidden move of a client, in the order in which the requests came."""
    history = History(recording)
    found: list[ForbiddenMove] = []
    for move in history.moves:
        for rule in _RULES:
            found += (
                ForbiddenMove(
                    clause=clause,
                    connection=move.request.connection,
                    request=move.number,
                    sentence=f"{move} {what}",
                )
                for clause, what in rule(move, history)
            )
    return tuple(found)


Forbidden = Iterator[tuple[str, str]]
"""A clause that forbids a move, and what the move did, to be read after the move's name."""


def _asks_first(move: Move, history: History) -> Forbidden:
    """Before other requests a connection has ApiVersions; SASL may come first."""
    seen = move.request
    if seen.is_about_versions or seen.api_key in SASL_KEYS or move.has_asked:
        return
    connection = history.connection_of(move)
    if any(_is_unanswered(other, history) for other in history.earlier_connections(connection)):
        # The client may take the broker for one that is older than ApiVersions.
        return
    yield (
        "KIP-35.client-asks-per-connection",
        "was sent before any ApiVersions request on that connection",
    )


def _is_unanswered(connection: SeenConnection, history: History) -> bool:
    return not any(move.request.response for move in history.moves_on(connection))


def _stays_in_range(move: Move, history: History) -> Forbidden:
    """The version of a request lies in the range of the connection's table, and is one that a client can have."""
    seen = move.request
    if seen.is_about_versions:
        return
    if seen.api_version > HIGHEST_VERSION_OF_ANY_API:
        yield "KIP-35.client-uses-overlap", "has a version that no client knows"
    table = move.table
    is_sasl = seen.api_key in SASL_KEYS and table is not None and seen.api_key not in table.ranges
    if table is None or is_sasl or table.lists(seen.api_key, seen.api_version):
        return
    clause = (
        "KIP-35.client-asks-per-connection"
        if _fits_another_table(move, history)
        else "KIP-35.client-uses-overlap"
    )
    yield (
        clause,
        f"was sent although the table of that connection lists {_listed(table, seen.api_key)}",
    )


def _fits_another_table(move: Move, history: History) -> bool:
    """Whether the table of another connection, which the client knew already, has the version."""
    seen = move.request
    return any(
        other.request.connection != seen.connection
        and other.told is not None
        and other.tells is Tells.TABLE
        and other.told.from_ms <= seen.at_ms
        and other.told.lists(seen.api_key, seen.api_version)
        for other in history.moves
    )


def _listed(told: Told, api_key: int) -> str:
    ranges = [f"v{low} to v{high}" for low, high in told.ranges.get(api_key, ())]
    return " and ".join(ranges) or "no version of that API"


def _ignores_table_of_refusal(move: Move, history: History) -> Forbidden:
    """What a refusal lists is not the broker's table."""
    seen = move.request
    latest = move.latest
    if seen.is_about_versions or move.table is not None or latest is None or latest.told is None:
        return
    if latest.tells is Tells.REFUSAL and latest.told.lists(seen.api_key, seen.api_version):
        yield (
            "KIP-511.client-ignores-table-of-35",
            "was sent as UNSUPPORTED_VERSION lists it, without a table",
        )


def _goes_down(move: Move, history: History) -> Forbidden:
    """The version after a refusal is one that the refusal names, below the refused one, or else v0."""
    if not move.request.is_about_versions:
        return
    refused = _refusal_before(move, history)
    if refused is None or refused.told is None:
        return
    before = refused.request.api_version
    named = refused.told.lower_versions(before)
    if move.request.api_version == 0 or move.request.api_version in named:
        return
    if named:
        yield (
            "KIP-511.client-uses-named-range",
            f"was sent after v{before} was refused with the range v{named[0]} to v{named[-1]} below it",
        )
    else:
        yield (
            "KIP-35.client-falls-back-on-35",
            f"was sent after v{before} was refused without a lower version, where v0 comes next",
        )


def _refusal_before(move: Move, history: History) -> Move | None:
    """Return the refusal that an ApiVersions request follows.

    It is the latest response on its connection, or the last one on the connection to the same node before.
    """
    latest = move.latest
    if move.number == 0:
        connection = history.connection_of(move)
        over = [
            other
            for other in history.earlier_connections(connection)
            if other.closed_ms is not None and other.closed_ms <= connection.opened_ms
        ]
        last_moves = history.moves_on(over[-1]) if over else []
        latest = last_moves[-1] if last_moves else None
    if latest is None or latest.tells is not Tells.REFUSAL or latest.request.api_version == 0:
        return None
    return latest


def _leaves_connection(move: Move, history: History) -> Forbidden:
    """After INVALID_REQUEST or REBOOTSTRAP_REQUIRED nothing is sent on the connection."""
    ending = move.ended_by
    if ending is not None and ending.told is not None and ending.told.error_code is not None:
        error = ending.told.error_code
        yield _ENDING_CLAUSES[error], f"was sent after ApiVersions got {error.name} there"


def _names_software(move: Move, history: History) -> Forbidden:
    """Name and version of the software are legal."""
    seen = move.request
    if not seen.is_about_versions or seen.api_version < FIRST_FLEXIBLE_VERSION:
        return
    if seen.body is None:
        yield "KIP-511.client-name-valid", f"has a body that cannot be read: {seen.problem}"
        return
    names = {
        "name": seen.body.client_software_name,
        "version": seen.body.client_software_version,
    }
    for what, text in names.items():
        if not _NAME.fullmatch(text):
            yield "KIP-511.client-name-valid", f"has an illegal software {what}: {text!r}"


def _knows_no_ids_yet(move: Move, history: History) -> Forbidden:
    """While it bootstraps, a client has no ids to send."""
    seen = move.request
    if any(move.gives_ids) and not history.had_metadata(seen.at_ms):
        yield (
            "KIP-1242.bootstrap-sends-nothing",
            "gives a cluster id or node id before the client got metadata",
        )


def _sends_right_ids(move: Move, history: History) -> Forbidden:
    """Ids are given together, and are those of the broker that metadata names."""
    clause = "KIP-1242.then-sends-both"
    body = move.request.body
    given = move.gives_ids
    if body is None or not any(given):
        if _must_give_ids(move, history):
            yield clause, "gives no ids although the client knows the broker from metadata"
        return
    if not all(given):
        yield clause, "gives only one of cluster id and node id"
        return
    known = [
        history.script_of(history.connection_of(other))
        for other in history.metadata
        if other.request.at_ms <= move.request.at_ms
    ]
    node = history.connection_of(move).node
    if known and body.cluster_id not in {script.cluster_id for script in known}:
        yield clause, "gives a cluster id that no broker reported"
    elif known and body.node_id not in {script.id_of(node) for script in known}:
        yield clause, "gives the node id of another broker"


def _must_give_ids(move: Move, history: History) -> bool:
    """Whether a connection leads to a broker that the client knows, and nothing made it bootstrap again."""
    if (
        not move.request.is_about_versions
        or move.request.api_version < FIRST_VERSION_WITH_CLUSTER_CHECK
        or history.recording.script.options
    ):
        return False
    connection = history.connection_of(move)
    return history.had_metadata(connection.opened_ms - 1) and not any(
        other.closed_by == "broker" or _failed(other, history)
        for other in history.recording.connections[: connection.number + 1]
    )


def _failed(connection: SeenConnection, history: History) -> bool:
    return any(move.tells not in (None, Tells.TABLE) for move in history.moves_on(connection))


def _forgets_ids(move: Move, history: History) -> Forbidden:
    """After REBOOTSTRAP_REQUIRED a client has no ids and no connections until it got metadata again."""
    clause = "KIP-1242.rebootstraps-on-129"
    misrouted = _latest_misrouting(move, history)
    if misrouted is None or misrouted.told is None:
        return
    since_ms = misrouted.told.from_ms
    connection = history.connection_of(move)
    if connection.opened_ms <= since_ms:
        if move.request.at_ms > since_ms + OLD_CONNECTION_GRACE_MS:
            yield clause, "was sent on a connection from before REBOOTSTRAP_REQUIRED"
    elif not history.had_metadata(move.request.at_ms, since_ms=since_ms):
        if any(move.gives_ids):
            yield clause, "gives ids that are out of date since REBOOTSTRAP_REQUIRED"
        elif connection.node != 0:
            yield clause, "went to a broker that is no bootstrap server after REBOOTSTRAP_REQUIRED"


def _latest_misrouting(move: Move, history: History) -> Move | None:
    """Return the latest REBOOTSTRAP_REQUIRED that the client knew on another connection than that of a move."""
    known = [
        other
        for other in history.misrouted
        if other.told is not None and other.told.from_ms < move.request.at_ms
    ]
    if not known or known[-1].request.connection == move.request.connection:
        return None
    return known[-1]


_RULES: tuple[Callable[[Move, History], Forbidden], ...] = (
    _asks_first,
    _stays_in_range,
    _ignores_table_of_refusal,
    _goes_down,
    _leaves_connection,
    _names_software,
    _knows_no_ids_yet,
    _sends_right_ids,
    _forgets_ids,
)


def begins_below(recording: Recording, *, newest: int) -> tuple[ForbiddenMove, ...]:
    """Return the first ApiVersions requests whose version is below the newest that the client knows, for no reason.

    A reason is a refusal, an error or a missing response on an earlier connection.

    Args:
        recording: a recording.
        newest: the newest version that the client sent in any play.
    """
    history = History(recording)
    newest = max((newest, *recording.versions_of_api_versions))
    found = []
    for connection in recording.connections:
        first = next(iter(history.moves_on(connection)), None)
        if first is None or not first.request.is_about_versions:
            continue
        discouraged = any(
            _failed(other, history) or _is_unanswered(other, history)
            for other in recording.connections[: connection.number]
        )
        if first.request.api_version < newest and not discouraged:
            found.append(
                ForbiddenMove(
                    clause="KIP-511.client-begins-with-newest",
                    connection=connection.number,
                    request=0,
                    sentence=f"{first} is the first request there, but the client knows v{newest}",
                )
            )
    return tuple(found)


def left_open(recording: Recording, error: ErrorCode) -> str:
    """Return which connection a client keeps although its use ended with an error, in words; empty if there is none.

    Args:
        recording: a recording.
        error: an error after which nothing may be sent on a connection.
    """
    history = History(recording)
    for connection in recording.connections:
        ending = next((each for each in history.moves_on(connection) if each.ends_connection), None)
        if ending is None or ending.told is None or ending.told.error_code is not error:
            continue
        closed_ms = connection.closed_ms
        until_ms = recording.duration_ms if closed_ms is None else closed_ms
        if until_ms - ending.told.from_ms > MOST_LEFT_OPEN_MS:
            return f"connection {connection.number} stays open for {until_ms - ending.told.from_ms} ms after {error.name}"
    return ""


def loop_in(recording: Recording) -> str:
    """Return how a client floods the broker with ApiVersions requests, in words; empty if it does not."""
    busiest = max(
        (each.api_versions_requests for each in recording.connections),
        default=0,
    )
    if busiest > MOST_ON_ONE_CONNECTION:
        return f"the client loops on one connection: {rate_of(recording)}"
    times = [each.at_ms for each in recording.requests if each.is_about_versions]
    crowded = zip(times, times[MOST_IN_WINDOW:], strict=False)
    if any(last - first <= WINDOW_MS for first, last in crowded):
        return f"the client loops over many connections: {rate_of(recording)}"
    return ""


def rate_of(recording: Recording) -> str:
    """Return how many ApiVersions requests came in which time, in words."""
    first = next((each.at_ms for each in recording.requests if each.is_about_versions), 0)
    seconds = max(recording.duration_ms - first, 1) / 1000
    count = recording.api_versions_requests
    requests = "request" if count == 1 else "requests"
    return f"{count:,} ApiVersions {requests} in {seconds:.1f} s, {count / seconds:,.0f} per second"
