"""Whether a broker answered a client so slowly that the client's operation could not end in time."""

from __future__ import annotations

from collections.abc import Iterator

from reference_model.clients.scripts.recording import Recording, SeenConnection
from reference_model.profiles.known_apis import label_of
from wire.api_keys import FETCH_KEY, JOIN_GROUP_KEY, PRODUCE_KEY, SHARE_FETCH_KEY, SYNC_GROUP_KEY

MAY_WAIT = frozenset({FETCH_KEY, JOIN_GROUP_KEY, SYNC_GROUP_KEY, SHARE_FETCH_KEY})
"""A broker answers these when there is something to say: a record, or all members of a group."""
SLOW_MS = 250
"""An answer that took less is not slow: real brokers take a few milliseconds, and up to this long for what they do first."""
MOST_MS = 5000
"""How much of its time a client may lose to slow answers: a quarter of what an operation has."""


def slow_answers(recording: Recording) -> str:
    """Return a sentence about a broker whose slow answers cost a client a large part of its time; "" if it is not so slow."""
    slow = [
        (took_ms, request)
        for connection in recording.connections
        for took_ms, request in _times(recording, connection)
        if took_ms > SLOW_MS
    ]
    lost_ms = sum(took_ms for took_ms, _ in slow)
    if lost_ms <= MOST_MS:
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
    for each in recording.requests_on(connection):
        # A broker answers no record whose client wants no confirmation.
        if each.api_key == PRODUCE_KEY and each.answered_ms is None:
            continue
        answered_ms = ended_ms if each.answered_ms is None else each.answered_ms
        if each.api_key not in MAY_WAIT:
            took_ms = answered_ms - max(each.at_ms, free_ms)
            yield took_ms, f"{label_of(each.api_key)} v{each.api_version}"
        free_ms = answered_ms
