"""Rules of the oracle for clients about the features finalized in a cluster.

Source: KIP-584 and KIP-890.

A client learns features from every table that it gets, and keeps those with the highest epoch. It may decide when a
transaction begins, and keep to that until the transaction ends: so a request is right if it was at any time since then.
The only epoch below 0 is -1, which is unknown: what follows from another one, which no broker may send, no source says.
"""

from __future__ import annotations

from itertools import takewhile

from reference_model.clients.rules.moves import IN_FLIGHT_MS, Forbidden, History, Move, is_known, may_be_one_client
from reference_model.clients.rules.read_response import ReadResponse
from reference_model.clients.rules.transaction_versions import (
    FIRST_LEVEL_OF_V2,
    NEWEST_BEFORE_V2,
    TRANSACTION_VERSION,
)
from reference_model.clients.scripts.reading import read_message
from wire.api_keys import END_TXN_KEY, INIT_PRODUCER_ID_KEY, PRODUCE_KEY
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES
from wire.transaction_messages import PRODUCE

CAPS = "FEATURES.client-caps-by-level"
BELIEVES = "FEATURES.client-believes-levels"
IGNORES_UNKNOWN_EPOCH = "FEATURES.client-ignores-unknown-epoch"
NEVER_GOES_BACK = "FEATURES.client-never-goes-back"
SEES_NEW_LEVEL = "FEATURES.client-sees-new-level"
UNKNOWN_EPOCH = -1
_V2 = f"{TRANSACTION_VERSION} {FIRST_LEVEL_OF_V2}"


def waits_for_transaction_v2(move: Move, history: History) -> Forbidden:
    """In a transaction no version is sent that needs transaction V2, unless the cluster has finalized it."""
    if not needs_transaction_v2(move):
        return
    tables = _tables_known(move, history)
    if _have_invalid_epoch(tables):
        return
    if not any(_enables_v2(each) for each in _features_during(move, history, tables)):
        clause, why = _blame(_responses(tables), believed=True)
        newest = NEWEST_BEFORE_V2[move.request.api_key]
        yield clause, f"was sent in a transaction, where v{newest} is the newest {why}"


def misses_transaction_v2(move: Move, history: History) -> tuple[str, str] | None:
    """Return why a request should have a version that needs transaction V2: the clause, and the reason in words.

    None if the request has one, or need not. A client need not know transaction V2; and its first transaction may begin
    before it asks a broker.
    """
    if not is_in_transaction(move) or needs_transaction_v2(move):
        return None
    if not any(each.request.api_key == END_TXN_KEY for each in _before(move, history)):
        return None
    tables = _tables_known(move, history)
    if _have_invalid_epoch(tables):
        return None
    if not all(_enables_v2(each) for each in _features_during(move, history, tables)):
        return None
    return _blame(_responses(tables), believed=False)


def needs_transaction_v2(move: Move) -> bool:
    """Return whether a request is part of a transaction, in a version that needs transaction V2."""
    newest = NEWEST_BEFORE_V2.get(move.request.api_key)
    return newest is not None and move.request.api_version > newest and is_in_transaction(move)


def is_in_transaction(move: Move) -> bool:
    """Return whether a request of Produce or TxnOffsetCommit is part of a transaction.

    A Produce without a transactional id is not, nor is one that cannot be read.
    """
    seen = move.request
    if seen.api_key != PRODUCE_KEY:
        return seen.api_key in NEWEST_BEFORE_V2
    if seen.api_version not in PRODUCE.valid_versions:
        return False
    try:
        _, message = read_message(PRODUCE, seen.data[SIZE_BYTES:], seen.api_version)
    except DecodeError:
        return False
    return message.transactional_id is not None


def _before(move: Move, history: History) -> list[Move]:
    """Return the earlier moves that may be of the same client."""
    earlier = takewhile(lambda other: other is not move, history.moves)
    return [other for other in earlier if may_be_one_client(move, other)]


def _tables_known(move: Move, history: History) -> list[Move]:
    """Return the tables that the client may have known when it sent a request, in the order in which they came."""
    known = [other for other in _before(move, history) if other.is_table and _came_before(other, move)]
    return sorted(known, key=lambda each: each.request.responded_ms)


def _responses(tables: list[Move]) -> list[ReadResponse]:
    return [each.response for each in tables if each.response is not None]


def _have_invalid_epoch(tables: list[Move]) -> bool:
    """Return whether the epoch of a table is neither valid nor the one that stands for an unknown one."""
    return any(each.epoch < UNKNOWN_EPOCH for each in _responses(tables))


def _came_before(table: Move, move: Move) -> bool:
    """Return whether a table had come when a request was sent; numbers of reads compare on one connection only."""
    if table.request.connection == move.request.connection:
        return is_known(table, move.request)
    return table.request.responded_ms <= move.request.at_ms


def _features_during(move: Move, history: History, tables: list[Move]) -> list[list[ReadResponse]]:
    """Return the tables of the newest epoch when the transaction began, and after each table that came since then."""
    until = _before(move, history)
    while until and until[-1].request.api_key not in (END_TXN_KEY, INIT_PRODUCER_ID_KEY):
        until.pop()
    at_first = [each for each in tables if _was_read(each, until)]
    since = [each for each in tables if not _was_read(each, until)]
    return [_newest(_responses(at_first + since[:count])) for count in range(len(since) + 1)]


def _was_read(table: Move, moves: list[Move]) -> bool:
    """Return whether a client must have read a table when it made the last of some moves.

    Clients read their connections one after the other. So they have if they went on after it on its own connection, or
    if it had come a while before.
    """
    own = (each for each in moves if each.request.connection == table.request.connection)
    went_on = any(each.number > table.number and is_known(table, each.request) for each in own)
    return went_on or any(table.request.responded_ms + IN_FLIGHT_MS <= each.request.at_ms for each in moves[-1:])


def _newest(tables: list[ReadResponse]) -> list[ReadResponse]:
    """Return the tables that have the highest epoch; none if no table has one."""
    epoch = max((each.epoch for each in tables), default=-1)
    return [each for each in tables if each.epoch == epoch >= 0]


def _enables_v2(tables: list[ReadResponse]) -> bool:
    """Return whether tables of one epoch enable transaction V2; one of contradicting entries is enough."""
    return any(
        name == TRANSACTION_VERSION and level >= FIRST_LEVEL_OF_V2
        for each in tables
        for name, level in each.listed_levels
    )


def _blame(tables: list[ReadResponse], *, believed: bool) -> tuple[str, str]:
    """Return the clause that a client breaks with a wrong belief, and what it overlooks, in words.

    Args:
        tables: the tables that it knows.
        believed: whether it takes transaction V2 for enabled, which it is not, or the other way round.
    """
    newest = _newest(tables)
    since = tables.index(newest[0]) if newest else 0
    wrong = [(at > since, each) for at, each in enumerate(tables) if _enables_v2([each]) is believed]
    older = [(is_later, each) for is_later, each in wrong if each not in newest and each.epoch >= 0]
    unknown = [each for is_later, each in wrong if each.epoch < 0 and (believed or is_later)]
    epoch = newest[0].epoch if newest else -1
    state = f"{'not ' if believed else ''}finalized at epoch {epoch}"
    if any(is_later for is_later, _ in older):
        return NEVER_GOES_BACK, f"because {_V2} is {state}, and the epoch {older[-1][1].epoch} is an older one"
    if unknown:
        return IGNORES_UNKNOWN_EPOCH, f"because features with the epoch {unknown[0].epoch} change nothing"
    if older:
        return SEES_NEW_LEVEL, f"because {_V2} is {state}, which is newer than {older[0][1].epoch}"
    return (CAPS, f"unless {_V2} is finalized") if believed else (BELIEVES, f"because {_V2} is {state}")


FEATURE_RULES = (waits_for_transaction_v2,)
