"""Where the names of client software appear: in the broker's metrics and in its request log."""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.assertions.judging import assert_error, violation_context
from fixtures.client.connection import Connection
from fixtures.kafka_setup.connection_metrics import Counts, connections_of
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.software_names import Software
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Request

FLEXIBLE_VERSIONS = st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION)
SLOWEST_LOG_S = 5.0
"""A container's log reaches us through the container engine, which may be busy with other containers."""
MAX_EXAMPLES_SLOW = 4
"""Number of examples; each new name stays in the broker for a while, and its metrics are slow to read."""
_NUMBERS = itertools.count(1)
NAMELESS = build_request(version=0)
ILLEGAL = Software("a b", "1")
UNKNOWN = Software("unknown", "unknown")
"""What Kafka counts a connection under that names no software."""
WHILE_OPEN = "while its connections are open"
ONCE_CLOSED = "after its connections are closed"
AFTER_FIRST_NAME = "after the first name"
IN_THE_LOG = "the request log"
NO_ENTRY = "it has no entry for the request"
SOFTWARE_NOT_NAMED = "its entry for the request does not name the software"


def fresh_name() -> str:
    """Return a client software name that is not used anywhere else, including by earlier examples."""
    return f"c.{time.time_ns():x}-{next(_NUMBERS)}"


def assert_counted(broker: Broker, software: Software, count: int, *, when: str) -> None:
    """Compare the metric of a client software with the connections that it has on the listener.

    Args:
        broker: the target.
        software: the client software.
        count: how many of its connections are open.
        when: what happened before, for the reader of a failure.
    """
    url = broker.running.metrics_url
    assert url is not None
    expected = {(broker.listener, software.version): count} if count else {}
    counted = poll_until(lambda: connections_of(url, software.name), expected)
    with violation_context(when, f"software {software.name}, version {software.version}"):
        assert counted == expected, miscount(counted, expected)


def miscount(counted: Counts, expected: Counts) -> str:
    """Say that the metric has other counts than there are connections."""
    return f"the metric counts {counted}, but {expected} are open"


def becomes_unknown(broker: Broker, connection: Connection, named: Request) -> bool:
    """Return whether a connection that continues without a name adds one to the count of unknown software."""

    def unknown() -> int:
        assert broker.running.metrics_url is not None
        counts = connections_of(broker.running.metrics_url, UNKNOWN.name)
        return counts.get((broker.listener, UNKNOWN.version), 0)

    connection.converse([named])
    expected = unknown() + 1
    connection.converse([NAMELESS])
    return poll_until(unknown, expected) == expected


def log_problem(broker: Broker, path: Path, client_id: str, software: Software) -> str:
    """Return what is wrong with the log entry of a request once the time is up; empty as soon as nothing is."""

    def read() -> str:
        broker.check_alive()
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
        entries = [line for line in lines if client_id in line]
        if not entries:
            return NO_ENTRY
        return "" if any(software.name in entry for entry in entries) else SOFTWARE_NOT_NAMED

    return poll_until(read, "", limit_s=SLOWEST_LOG_S)


@pytest.mark.needs("metrics")
@pytest.mark.clause("KIP-511.connections-metric")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(versions=st.lists(FLEXIBLE_VERSIONS, min_size=1, max_size=4))
@example(versions=[3])
@example(versions=[3, 3, 3])
def test_open_connections_are_counted_by_software(broker: Broker, versions: list[int]) -> None:
    """The metric counts the open connections of a client software, and is gone after the last one closes."""
    software = Software(fresh_name(), "1.0")
    with ExitStack() as opened:
        for version in versions:
            connection = opened.enter_context(broker.connect())
            served = min(version, broker.max_version)
            connection.converse([build_request(version=served, software=software)])
        assert_counted(broker, software, len(versions), when=WHILE_OPEN)
    assert_counted(broker, software, 0, when=ONCE_CLOSED)


@pytest.mark.malformed
@pytest.mark.needs("metrics")
@pytest.mark.clause("KIP-511.name-attached-to-connection")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    version=FLEXIBLE_VERSIONS,
    later=st.sampled_from(("another name", "an illegal name", "no name")),
)
@example(version=3, later="another name")
@example(version=3, later="an illegal name")
@example(version=3, later="no name")
def test_last_name_counts_for_the_connection(broker: Broker, version: int, later: str) -> None:
    """A connection counts under its last name; a refused one changes nothing, a nameless version makes it unknown."""
    assume(version <= broker.max_version)
    first, second = Software(fresh_name(), "1.0"), Software(fresh_name(), "2.0")
    sent, first_count, second_count = {
        "another name": (build_request(version=version, software=second), 0, 1),
        "an illegal name": (build_request(version=version, software=ILLEGAL), 1, 0),
        "no name": (NAMELESS, 0, 0),
    }[later]
    named = build_request(version=version, software=first)
    with broker.connect() as connection:
        connection.converse([named])
        assert_counted(broker, first, 1, when=AFTER_FIRST_NAME)
        connection.converse([sent])
        assert_counted(broker, first, first_count, when=f"the first name, after {later}")
        assert_counted(broker, second, second_count, when=f"the second name, after {later}")
        if sent is NAMELESS:
            # During the first attempt, a connection that closed a moment ago may still be counted.
            counted = any(becomes_unknown(broker, connection, named) for _ in range(2))
            assert counted, f"after {later}: the connection is not counted as unknown"


@pytest.mark.needs("request_log")
@pytest.mark.clause("KIP-511.request-log")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(version=FLEXIBLE_VERSIONS)
@example(version=3)
def test_request_log_names_the_software(broker: Broker, version: int) -> None:
    """The request log names a connection's software for requests after the one that named it."""
    assume(version <= broker.max_version)
    running = broker.running
    assert running.administration is not None
    assert running.request_log is not None
    software, client_id = Software(fresh_name(), "1.0"), fresh_name()
    with running.administration.log_requests():
        with broker.connect() as connection:
            connection.converse([build_request(version=version, software=software)])
            # The request that names the software has the name in its body; this one does not contain it.
            (following,) = connection.converse([build_request(version=0, client_id=client_id)])
        assert_error(following, ErrorCode.NONE)
        problem = log_problem(broker, running.request_log, client_id, software)
    with violation_context(IN_THE_LOG, f"software {software.name}, client id {client_id}"):
        assert not problem, problem
