"""Finds the requests of a recording that a clause forbids.

Where the sources are silent, every move is allowed. Rules that need the client's other plays are not here, except
`begins_below`, which is given what they showed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_model.clients.rules.feature_rules import FEATURE_RULES
from reference_model.clients.rules.id_rules import ID_RULES
from reference_model.clients.rules.moves import Forbidden, History, Move
from reference_model.clients.rules.read_response import ReadResponse, ResponseKind
from reference_model.clients.rules.software_rules import HEADER_RULES, SOFTWARE_RULES
from reference_model.clients.scripts.recording import Recording, SeenConnection
from reference_model.profiles.listeners import SASL_LISTENERS
from wire.api_keys import API_VERSIONS_KEY, SASL_KEYS
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode

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
        request: its index among the requests of the connection, counted from 0.
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
    forbidden: list[ForbiddenMove] = []
    for move in history.moves:
        for rule in () if move.is_token else _RULES:
            forbidden += (
                ForbiddenMove(
                    clause=clause,
                    connection=move.request.connection,
                    request=move.number,
                    sentence=f"{move} {what}",
                )
                for clause, what in rule(move, history)
            )
    return tuple(forbidden)


def _asks_first(move: Move, history: History) -> Forbidden:
    """Before other requests a connection has ApiVersions; SASL may come first."""
    seen = move.request
    if seen.is_about_versions or seen.api_key in SASL_KEYS or move.has_asked:
        return
    if _may_be_too_old(move, history):
        return
    yield (
        "KIP-35.client-asks-per-connection",
        "was sent before any ApiVersions request on that connection",
    )


def _may_be_too_old(move: Move, history: History) -> bool:
    """Return whether a client may assume that the broker is older than ApiVersions.

    It may if an earlier connection got no response, and no connection after it got a table.
    """
    for other in reversed([*history.earlier_connections(history.connection_of(move))]):
        if history.is_unanswered(other):
            return True
        if history.had_table(other, move.request.at_ms):
            return False
    return False


def _stays_in_range(move: Move, history: History) -> Forbidden:
    """The version of a request lies in the range of the connection's table, and is one that a client can have."""
    seen = move.request
    if seen.is_about_versions:
        return
    if move.is_no_request:
        yield (
            "KIP-35.client-uses-overlap",
            "is no request: it looks like a bare SASL token, which may only follow SaslHandshake v0",
        )
        return
    if move.has_impossible_version:
        yield "KIP-35.client-uses-overlap", "has a version that no client knows"
    table = move.table
    if table is None and _replaces_refused_table(move, history):
        yield (
            "KIP-35.client-asks-per-connection",
            "was sent by the table of another connection, after the request for that of its own was refused",
        )
    is_sasl = seen.api_key in SASL_KEYS and table is not None and seen.api_key not in table.ranges
    if (
        table is None
        or is_sasl
        or table.lists(seen.api_key, seen.api_version)
        or _late_table(move, history) is not None
    ):
        return
    clause = (
        "KIP-35.client-asks-per-connection" if _was_right_elsewhere(move, history) else "KIP-35.client-uses-overlap"
    )
    yield (
        clause,
        f"was sent although the table of that connection lists {_listed(table, seen.api_key)}",
    )


def _ignores_late_tables(move: Move, history: History) -> Forbidden:
    """A table that comes when the client has gone on to another connection is not used there."""
    late = None if move.request.is_about_versions else _late_table(move, history)
    if late is not None:
        yield (
            "KIP-35.client-asks-per-connection",
            f"was sent by the table that came late on connection {late}, and that of its own connection does not list it",
        )


def _late_table(move: Move, history: History) -> int | None:
    """Return the earlier connection to the same node whose table came late and lists the request.

    That table came after the connection of the move was opened.

    None if there is none, or if the connection's own table, which may come still later, lists it as well.
    """
    seen, connection = move.request, history.connection_of(move)
    tables = (each.response for each in history.moves_on(connection) if each.is_table)
    own = move.table or next(tables, None)
    if own is None or own.lists(seen.api_key, seen.api_version):
        return None
    earlier = (each for other in history.earlier_connections(connection) for each in history.moves_on(other))
    for other in earlier:
        table = other.response
        if (
            table is not None
            and other.is_table
            and connection.opened_ms < table.from_ms <= seen.at_ms
            and table.lists(seen.api_key, seen.api_version)
        ):
            return other.request.connection
    return None


def _replaces_refused_table(move: Move, history: History) -> bool:
    """Whether the latest request for the table was refused, and another connection's table lists what was sent.

    A client that takes the broker for one older than ApiVersions sends the lowest version. SASL needs no table.
    """
    is_refused = move.latest is not None and move.latest.response_kind is ResponseKind.REFUSAL
    return (
        is_refused
        and move.request.api_version > 0
        and move.request.api_key not in SASL_KEYS
        and _was_right_elsewhere(move, history)
    )


def _was_right_elsewhere(move: Move, history: History) -> bool:
    """Whether the same request was right on another connection before: then the client uses the table of that one."""
    seen = move.request
    return any(
        other.request.connection != seen.connection
        and other.request.at_ms <= seen.at_ms
        and (other.request.api_key, other.request.api_version) == (seen.api_key, seen.api_version)
        and other.table is not None
        and other.table.lists(seen.api_key, seen.api_version)
        for other in history.moves
    )


def _listed(response: ReadResponse, api_key: int) -> str:
    ranges = [f"v{low} to v{high}" for low, high in response.ranges.get(api_key, ())]
    return " and ".join(ranges) or "no version of that API"


def _ignores_table_of_refusal(move: Move, history: History) -> Forbidden:
    """What a refusal lists is not the broker's table."""
    seen = move.request
    latest = move.latest
    if seen.is_about_versions or move.table is not None or latest is None or latest.response is None:
        return
    if latest.response_kind is ResponseKind.REFUSAL and latest.response.lists(seen.api_key, seen.api_version):
        yield (
            "KIP-511.client-ignores-table-of-35",
            "was sent as UNSUPPORTED_VERSION lists it, without a table",
        )


def _goes_down(move: Move, history: History) -> Forbidden:
    """The version after a refusal is one that the refusal names, below the refused one, or else v0.

    v0 is always allowed, because no broker ever stops serving it.
    """
    if not move.request.is_about_versions:
        return
    refused = _refusal_before(move, history)
    if refused is None or refused.response is None:
        return
    before = refused.request.api_version
    named = refused.response.lower_versions(before)
    if move.request.api_version == 0 or move.request.api_version in named:
        return
    if named:
        yield (
            "KIP-511.client-uses-named-range",
            f"was sent after v{before} was refused with the range v{named[0]} to v{named[-1]} below it",
        )
    elif move.request.api_version >= before:
        is_stuck = min(history.recording.versions_of_api_versions) >= before
        rest = ", and nothing lower was tried" if is_stuck else ""
        yield "KIP-35.client-falls-back-on-35", f"was sent after v{before} was refused{rest}"
    elif not refused.response.names_range:
        # KIP-35: after a refusal "the client should revert to version 0". No source says what follows a range that
        # makes no sense.
        yield (
            "KIP-35.client-falls-back-on-35",
            f"was sent after v{before} was refused without a range, where v0 comes next",
        )


def _keeps_newest_named(move: Move, history: History) -> Forbidden:
    """The version after a refusal is the newest one that the refusal names, if that one has the client's name.

    Versions 0 to 2 have no fields, so nothing is lost among them.
    """
    refused = _refusal_before(move, history) if move.request.is_about_versions else None
    if refused is None or refused.response is None:
        return
    named = refused.response.lower_versions(refused.request.api_version)
    if named and named[-1] >= FIRST_FLEXIBLE_VERSION and move.request.api_version < named[-1]:
        yield (
            "KIP-511.client-uses-newest-named-version",
            f"was sent although the refusal of v{refused.request.api_version} names v{named[-1]}",
        )


def _refusal_before(move: Move, history: History) -> Move | None:
    """Return the refusal that an ApiVersions request follows.

    It is the latest response on its connection, or the last one on the connection to the same node before.
    """
    latest = move.latest
    if move.number == 0:
        last_moves = history.moves_before_connection_of(move)
        latest = last_moves[-1] if last_moves else None
    if (
        latest is None
        or latest.response_kind is not ResponseKind.REFUSAL
        or latest.request.api_version == 0
        or not history.was_read(latest)
    ):
        return None
    return latest


def _leaves_connection(move: Move, history: History) -> Forbidden:
    """After INVALID_REQUEST or REBOOTSTRAP_REQUIRED nothing is sent on the connection."""
    error = None if move.ended_by is None else move.ended_by.error
    if error is not None:
        yield _ENDING_CLAUSES[error], f"was sent after ApiVersions got {error.name} there"


def _keeps_flexible_table(move: Move, history: History) -> Forbidden:
    """A client that got the table in a flexible version, and can read it, does not ask for it again in an older one.

    It may if the table lists the older version of ApiVersions and not the one in which it came.
    With SASL a connection may begin with v0, and the request after authentication is one of its own.
    """
    before = _table_before(move, history)
    if before is None or not move.request.is_about_versions or move.is_authenticated:
        return
    asked, flexible = move.request.api_version, before.request.api_version
    table = before.response
    listed = [each for each in (asked, flexible) if table and table.lists(API_VERSIONS_KEY, each)]
    if asked < FIRST_FLEXIBLE_VERSION <= flexible and listed != [asked]:
        yield (
            "KIP-511.client-reads-fixed-header",
            f"was sent although v{flexible} got the table, as if that could not be read",
        )


def _table_before(move: Move, history: History) -> Move | None:
    """Return the request that got the latest table before a move, or None if no table was read.

    For a connection's first request without SASL, it is the last request on the previous connection to the same node,
    if that got a table.
    """
    latest = move.latest
    if move.number == 0 and history.recording.script.listener not in SASL_LISTENERS:
        last_moves = history.moves_before_connection_of(move)
        latest = last_moves[-1] if last_moves else None
    if latest is None or latest.response_kind is not ResponseKind.TABLE:
        return None
    return latest if history.was_read(latest) else None


def _decodes(move: Move, history: History) -> Forbidden:
    """A request has the header and the body of its version; its tags are another clause."""
    if move.request.problem and not move.request.tags_descend:
        yield "KIP-35.client-requests-decode", f"cannot be decoded: {move.request.problem}"


_RULES: tuple[Callable[[Move, History], Forbidden], ...] = (
    _asks_first,
    _stays_in_range,
    _ignores_late_tables,
    _ignores_table_of_refusal,
    _goes_down,
    _keeps_newest_named,
    _leaves_connection,
    _keeps_flexible_table,
    _decodes,
    *HEADER_RULES,
    *SOFTWARE_RULES,
    *ID_RULES,
    *FEATURE_RULES,
)


def begins_below(recording: Recording, *, newest: int) -> tuple[ForbiddenMove, ...]:
    """Return the first ApiVersions requests whose version is below the newest that the client knows, for no reason.

    A reason is a refusal, an error or a missing response on an earlier connection to the same node. With SASL, the
    first one after authentication counts as well, because the first one before may have version 0; whether there is
    one, and it has the client's name, is another clause.

    Args:
        recording: a recording.
        newest: the newest version that the client sent in any play.
    """
    history = History(recording)
    newest = max((newest, *recording.versions_of_api_versions))
    forbidden = []
    for connection in recording.connections:
        first = next(iter(history.moves_on(connection)), None)
        if first is None or not first.request.is_about_versions:
            continue
        discouraged = any(
            history.failed(other) or history.is_unanswered(other) for other in history.earlier_connections(connection)
        )
        begins = [first, *_first_after_authentication(first, connection, history)]
        is_discovery = first.request.api_version == 0 and recording.script.listener in SASL_LISTENERS
        is_lower = max(move.request.api_version for move in begins) < newest
        if is_lower and not discouraged and not (is_discovery and len(begins) == 1):
            forbidden.append(
                ForbiddenMove(
                    clause="KIP-511.client-begins-with-newest",
                    connection=connection.number,
                    request=0,
                    sentence=f"{first} is the first request there, but the client knows v{newest}",
                )
            )
    return tuple(forbidden)


def _first_after_authentication(first: Move, connection: SeenConnection, history: History) -> list[Move]:
    """Return the first ApiVersions request after authentication, if the first one came before; else nothing."""
    after_sasl = [
        move
        for move in history.moves_on(connection)
        if move.request.is_about_versions and move.is_authenticated and move is not first
    ]
    return after_sasl[:1]
