"""Limits for ApiVersions requests, and for connections that have to be closed.

They limit how much a client may ask, and how long it may keep a connection that it must not use any more.

Everything below the limits is a quiet retry, which is legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reference_model.clients.rules.moves import History
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.scripted_cluster import MAX_IN_ALL, MAX_ON_ONE_CONNECTION
from wire.error_codes import ErrorCode

MAX_IN_WINDOW = MAX_IN_ALL
WINDOW_MS = 5000
"""ApiVersions requests of one client in this time, over all connections: 25 ms apart is no quiet retry any more."""
MIN_PAUSE_MS = 10
"""A connection that is opened sooner after the broker closed the one before follows without a pause.

By default the Java client waits for 50 ms, from 0.11 on 20 % more or less and longer each time; librdkafka for 75 ms
or more, and every other library for 100 ms or more. A busy machine makes pauses longer, never shorter: the end of a
connection is noted before the client can learn of it."""
MAX_WITHOUT_PAUSE = 20
"""Connections in a row that follow without a pause. Some clients try a few different requests on as many
connections, or connect again at once the first time; none does so this often."""
MAX_CLOSED = 90
CLOSED_WINDOW_MS = 3000
"""Connections that the broker closed in this time, 33 ms apart. With a pause of 50 ms, the shortest default of a
library, there are at most 60."""
MAX_LEFT_OPEN_MS = 1000
"""How long a connection may stay open after an error that ends its use; clients that close it do so at once."""


def left_open(recording: Recording, error: ErrorCode) -> str:
    """Return a text naming the connection that a client keeps open although this error ends its use.

    Empty if there is none.
    """
    history = History(recording)
    for connection in recording.connections:
        ending = next((each for each in history.moves_on(connection) if each.ends_connection), None)
        if ending is None or ending.response is None or ending.response.error_code is not error:
            continue
        closed_ms = connection.closed_ms
        until_ms = recording.duration_ms if closed_ms is None else closed_ms
        if until_ms - ending.response.from_ms > MAX_LEFT_OPEN_MS:
            return f"connection {connection.number} stays open for {until_ms - ending.response.from_ms} ms after {error.name}"
    return ""


def reconnects_in(recording: Recording) -> str:
    """Return how a client connects again and again without a pause, in words; empty if it does not.

    Only connections that the broker closed count: if the client closed one, a recording does not show how long it
    waited.
    """
    in_a_row = most = 0
    for before, after in pairwise(recording.connections):
        closed_ms = before.closed_ms if before.closed_by == "broker" else None
        is_next = before.node == after.node and closed_ms is not None
        pause_ms = after.opened_ms - closed_ms if is_next and closed_ms is not None else -1
        in_a_row = in_a_row + 1 if 0 <= pause_ms < MIN_PAUSE_MS else 0
        most = max(most, in_a_row)
    closed = [each.closed_ms for each in recording.connections if each.closed_by == "broker"]
    times = [each for each in closed if each is not None]
    if _is_crowded(times, MAX_CLOSED, CLOSED_WINDOW_MS):
        return f"the client connects again and again, more than {MAX_CLOSED} times in {CLOSED_WINDOW_MS // 1000} s"
    if most <= MAX_WITHOUT_PAUSE:
        return ""
    return f"the client connects again at once, {most} times in a row, each less than {MIN_PAUSE_MS} ms after the broker closed"


def loops_on_one_connection(recording: Recording) -> bool:
    """Return whether a client asks more often on one connection than refusals can explain.

    The time between the requests does not matter.
    """
    return any(each.api_versions_requests > MAX_ON_ONE_CONNECTION for each in recording.connections)


def loop_in(recording: Recording) -> str:
    """Return how a client floods the broker with ApiVersions requests, in words; empty if it does not."""
    if loops_on_one_connection(recording):
        return f"the client loops on one connection: {rate_of(recording)}"
    times = [each.at_ms for each in recording.requests if each.is_about_versions]
    if _is_crowded(times, MAX_IN_WINDOW, WINDOW_MS):
        return f"the client loops over many connections: {rate_of(recording)}"
    return ""


def _is_crowded(times_ms: Sequence[int], most: int, window_ms: int) -> bool:
    crowded = zip(times_ms, times_ms[most:], strict=False)
    return any(last - first <= window_ms for first, last in crowded)


def rate_of(recording: Recording) -> str:
    """Return how many ApiVersions requests came in which time, in words."""
    first = next((each.at_ms for each in recording.requests if each.is_about_versions), 0)
    seconds = max(recording.duration_ms - first, 1) / 1000
    count = recording.api_versions_requests
    requests = "request" if count == 1 else "requests"
    rate = f", {count / seconds:,.0f} per second" if count > seconds else ""
    return f"{count:,} ApiVersions {requests} in {seconds:.1f} s{rate}"
