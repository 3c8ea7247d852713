"""Faults of brokers during a client's operation, which may explain a failure.

A broker is at fault if it acts against its own word, or too slowly.

A recording has what the broker listed, confirmed and answered, and when. What it may still be doing is given time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from fixtures.artefacts.schema_jars import api_catalogue
from reference_model.clients.rules.moves import History, Move
from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.profiles.known_apis import label_of
from wire.api_keys import (
    END_TXN_KEY,
    FETCH_KEY,
    JOIN_GROUP_KEY,
    PRODUCE_KEY,
    SHARE_FETCH_KEY,
    SYNC_GROUP_KEY,
)
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import SIZE_BYTES
from wire.message_schemas import error_codes_in

SETTLES_WITHIN_MS = 1000
"""How long a broker may take until a consumer sees what was confirmed to a producer."""


MAY_WAIT = frozenset({FETCH_KEY, JOIN_GROUP_KEY, SYNC_GROUP_KEY, SHARE_FETCH_KEY})
"""A broker answers these when there is something to say: a record, or all members of a group."""
SLOW_MS = 250
"""An answer that took less is not slow: real brokers take a few milliseconds, and up to this long for what they do
first."""
MAX_MS = 5000
"""How much of its time a client may lose to slow answers: a quarter of what an operation has."""


def contradictions(recording: Recording) -> list[str]:
    """Return what a broker did against its own word, one sentence for each act."""
    faults = chain(refused_though_listed(recording), _open_transactions(recording), _lost(recording))
    return list(dict.fromkeys(faults))


def refused_though_listed(recording: Recording) -> Iterator[str]:
    """Yield the requests that a broker refused although its table lists them, one sentence for each."""
    history = History(recording)
    for move in history.moves:
        if _is_listed(move) and ErrorCode.UNSUPPORTED_VERSION in _codes(move.request):
            yield f"it lists {_version(move.request)}, and answers it with UNSUPPORTED_VERSION"
    for connection in recording.connections:
        for last in history.moves_on(connection)[-1:]:
            is_closed = connection.closed_by == "broker" and last.request.answered_ms is None
            if is_closed and _is_listed(last):
                yield f"it lists {_version(last.request)}, and closes the connection on it"


def _is_listed(move: Move) -> bool:
    seen = move.request
    if move.table is None or seen.is_about_versions:
        return False
    return move.table.lists(seen.api_key, seen.api_version)


def _version(seen: SeenRequest) -> str:
    return f"{label_of(seen.api_key)} v{seen.api_version}"


def _open_transactions(recording: Recording) -> Iterator[str]:
    """Yield partitions in which a transaction is still open although its end was confirmed."""
    ended_ms = _confirmed_ms(recording, END_TXN_KEY)
    for index, state in _partitions_since(recording, ended_ms).items():
        if 0 <= state.last_stable_offset < state.high_watermark:
            yield (
                f"it confirmed the end of a transaction, and still holds back the records of partition {index} "
                f"from offset {state.last_stable_offset} on"
            )


def _lost(recording: Recording) -> Iterator[str]:
    """Yield partitions whose log ends before a confirmed record, one sentence for each.

    Only recordings with records of one topic are checked, because responses name topics in two ways.
    """
    written = [
        (topic, partition)
        for message in _messages(recording, PRODUCE_KEY)
        for topic in message.responses
        for partition in topic.partition_responses
        if partition.error_code == ErrorCode.NONE
    ]
    if len({(topic.name, getattr(topic, "topic_id", None)) for topic, _ in written}) != 1:
        return
    states = _partitions_since(recording, _confirmed_ms(recording, PRODUCE_KEY))
    for index, state in states.items():
        last = max((each.base_offset for _, each in written if each.index == index), default=-1)
        if 0 <= state.high_watermark <= last:
            yield (
                f"it confirmed a record at offset {last} of partition {index}, and lists none from offset "
                f"{state.high_watermark} on"
            )


def _confirmed_ms(recording: Recording, api_key: int) -> int | None:
    """Return the time at which the last request of an API was confirmed.

    Return None if no request was confirmed, or if too little time has passed since then.
    """
    times = [
        each.answered_ms
        for each in recording.requests
        if each.api_key == api_key and each.answered_ms is not None
        if set(_codes(each)) == {ErrorCode.NONE}
    ]
    last_ms = max(times, default=None)
    if last_ms is None or recording.duration_ms - last_ms < SETTLES_WITHIN_MS:
        return None
    return last_ms


def _partitions_since(recording: Recording, since_ms: int | None) -> Mapping[int, Any]:
    """Return the latest state of each fetched partition, by its index; nothing if there is no time to begin with.

    A response leaves out the partitions of which nothing has changed, so the latest one that has a partition counts.
    """
    if since_ms is None:
        return {}
    return {
        partition.partition_index: partition
        for message in _messages(recording, FETCH_KEY, since_ms)
        for topic in message.responses
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NONE
    }


def _messages(recording: Recording, api_key: int, since_ms: int = 0) -> Iterator[Any]:
    for seen in recording.requests:
        if seen.api_key == api_key and (seen.answered_ms or 0) >= since_ms:
            message = _decoded(seen)
            if message is not None:
                yield message


def _codes(seen: SeenRequest) -> list[int]:
    message = _decoded(seen)
    return [] if message is None else list(error_codes_in(message, seen.api_version))


def _decoded(seen: SeenRequest) -> Any:
    """Return the response to a request; None if there is none, or if it cannot be read."""
    api = api_catalogue().find(seen.api_key, seen.api_version)
    if api is None or not seen.response:
        return None
    try:
        return api.decode_response(seen.response[SIZE_BYTES:], seen.api_version)[1]
    except DecodeError:
        return None


def slow_answers(recording: Recording) -> str:
    """Return a sentence about a broker whose slow responses cost a client much of its time.

    Return an empty text if the broker is not that slow.
    """
    slow = [
        (took_ms, request)
        for connection in recording.connections
        for took_ms, request in _times(recording, connection)
        if took_ms > SLOW_MS
    ]
    lost_ms = sum(took_ms for took_ms, _ in slow)
    if lost_ms <= MAX_MS:
        return ""
    longest_ms, request = max(slow)
    return (
        f"the broker was too slow: the client waited {lost_ms / 1000:.1f} s for its answers, "
        f"{longest_ms / 1000:.1f} s of these for {request}"
    )


def _times(recording: Recording, connection: SeenConnection) -> Iterator[tuple[int, str]]:
    """Yield how long the broker took for each request of a connection, and the request, but for those that may wait.

    Answers come in order, so the time of a request begins when the one before it was answered.
    """
    closed_ms = connection.closed_ms
    ended_ms = recording.duration_ms if closed_ms is None else closed_ms
    free_ms = 0
    for request in recording.requests_on(connection):
        # A broker answers no record whose client wants no confirmation.
        if request.api_key == PRODUCE_KEY and request.answered_ms is None:
            continue
        answered_ms = ended_ms if request.answered_ms is None else request.answered_ms
        if request.api_key not in MAY_WAIT:
            took_ms = answered_ms - max(request.at_ms, free_ms)
            yield took_ms, f"{label_of(request.api_key)} v{request.api_version}"
        free_ms = answered_ms
