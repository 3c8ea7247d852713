"""Tests of the limits of clients: loops, quiet retries and open connections.

Loops are distinguished from quiet retries, and connections that stay open are found.
"""

from __future__ import annotations

import pytest

from reference_model.clients.rules.limits import left_open, loop_in, rate_of, reconnects_in
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import EMPTY, Answer
from tests.reference_model.clients.recordings import asked, opened, recorded
from wire.error_codes import ErrorCode

REFUSED_NAME = Answer(error_code=42, table=EMPTY)


@pytest.mark.parametrize(
    ("closed_ms", "found"),
    [
        pytest.param(20, "", id="at-once"),
        pytest.param(1010, "", id="late"),
        pytest.param(1900, "connection 0 stays open for 1890 ms after INVALID_REQUEST", id="too-late"),
        pytest.param(None, "connection 0 stays open for 1990 ms after INVALID_REQUEST", id="never"),
    ],
)
def test_connection_that_stays_open_is_found(closed_ms: int | None, found: str) -> None:
    """A connection may stay open for a second after an error that ends its use."""
    connection = opened(closed_ms=closed_ms, closed_by="client" if closed_ms else "")
    recording = recorded(asked(3, REFUSED_NAME, at_ms=10), connections=(connection,))
    assert left_open(recording, ErrorCode.INVALID_REQUEST) == found
    assert left_open(recording, ErrorCode.REBOOTSTRAP_REQUIRED) == ""


def test_connection_without_an_error_may_stay_open() -> None:
    """Nothing is said about connections whose use no error ended."""
    recording = recorded(asked(3), connections=(opened(closed_ms=None, closed_by=""),))
    assert left_open(recording, ErrorCode.INVALID_REQUEST) == ""


@pytest.mark.parametrize(
    ("recording", "loop"),
    [
        pytest.param(recorded(), "", id="no-request"),
        pytest.param(recorded(asked(3), connections=(opened(api_versions_requests=20),)), "", id="twenty"),
        pytest.param(
            recorded(asked(3), connections=(opened(api_versions_requests=21),)),
            "the client loops on one connection: 1 ApiVersions request in 2.0 s",
            id="twenty-one",
        ),
        pytest.param(
            recorded(*(asked(3, connection=n, at_ms=26 * n) for n in range(201)), duration_ms=6000),
            "",
            id="two-hundred-in-five-seconds",
        ),
        pytest.param(
            recorded(*(asked(3, connection=n, at_ms=25 * n) for n in range(201)), duration_ms=5010),
            "the client loops over many connections: 201 ApiVersions requests in 5.0 s, 40 per second",
            id="more-in-five-seconds",
        ),
    ],
)
def test_loop_is_distinguished_from_quiet_retries(recording: Recording, loop: str) -> None:
    """More than 20 requests on a connection, or 200 in five seconds, are a loop."""
    assert loop_in(recording) == loop


def reconnecting(times: int, *, open_ms: int = 50, pause_ms: int = 1, by: str = "broker", nodes: int = 1) -> Recording:
    """Return a recording in which each connection stays open for a time, and a pause follows."""
    step_ms = open_ms + pause_ms
    ends = (
        opened(n, at_ms=step_ms * n, closed_ms=step_ms * n + open_ms, closed_by=by, node=n % nodes)
        for n in range(times + 1)
    )
    return recorded(connections=tuple(ends))


@pytest.mark.parametrize(
    ("recording", "found"),
    [
        pytest.param(recorded(), "", id="no-connection"),
        pytest.param(reconnecting(20), "", id="a-few"),
        pytest.param(
            reconnecting(21),
            "the client connects again at once, 21 times in a row, each less than 10 ms after the broker closed",
            id="again-and-again",
        ),
        pytest.param(reconnecting(60, pause_ms=40), "", id="shortest-backoff-of-a-library"),
        pytest.param(reconnecting(120, open_ms=1, pause_ms=49), "", id="pauses-of-the-shortest-default"),
        pytest.param(
            reconnecting(120, open_ms=1, pause_ms=20),
            "the client connects again and again, more than 90 times in 3 s",
            id="pauses-that-are-too-short",
        ),
        pytest.param(reconnecting(60, by="client"), "", id="closed-by-the-client"),
        pytest.param(reconnecting(60, nodes=2), "", id="another-node"),
        pytest.param(reconnecting(60, pause_ms=-20), "", id="opened-before"),
    ],
)
def test_connections_without_a_pause_are_found(recording: Recording, found: str) -> None:
    """Only those in a row, to the same node, right after the broker closed the one before."""
    assert reconnects_in(recording) == found


def test_run_of_connections_ends_with_a_pause() -> None:
    """A pause after every twentieth connection makes them a quiet retry."""
    first, second = reconnecting(20).connections, reconnecting(20).connections
    later = (
        opened(
            n,
            at_ms=each.opened_ms + 5000,
            closed_ms=(each.closed_ms or 0) + 5000,
            closed_by="broker",
        )
        for n, each in enumerate(second, start=21)
    )
    assert reconnects_in(recorded(connections=(*first, *later))) == ""


def test_rate_counts_from_the_first_request() -> None:
    """The time before the first request, in which the client starts, is left out."""
    recording = recorded(*(asked(3, at_ms=1000) for _ in range(50)), duration_ms=3000)
    assert rate_of(recording) == "50 ApiVersions requests in 2.0 s, 25 per second"
