"""Tests of client software names in the broker's metrics and request log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

MAX_EXAMPLES_SLOW = 4
"""Number of examples; each new name stays in the broker for a while, and its metrics are slow to read."""
NAMELESS = build_request(version=0)
ILLEGAL = Software("a b", "1")
UNKNOWN = Software(UNKNOWN_SOFTWARE, UNKNOWN_SOFTWARE)
"""What Kafka counts a connection under that names no software."""
WHILE_OPEN = "while its connections are open"
ONCE_CLOSED = "after its connections are closed"
AFTER_FIRST_NAME = "after the first name"
AFTER_EARLY_NAME = "after a name before authentication"
AFTER_REQUESTS = "after DescribeConfigs v0, which may be deprecated, and v1, which is not"
STILL_THERE = "the metric is still there"
IN_THE_LOG = "the request log"


def gauges(broker: Broker, name: str) -> tuple[ConnectionsBean, ...]:
    """Return the metric's beans of a client software."""
    assert broker.running.metrics_url is not None
    return gauges_of(broker.running.metrics_url, name)


def miscount(broker: Broker, software: Software, count: int, *, with_names: bool = False) -> Callable[[], str]:
    """Return a function that returns what is wrong with the metric's count of a client software.

    `with_names` also checks the beans' names and values.
    """
    expected = {(broker.listener, software.version): count} if count else {}

    def problem() -> str:
        beans = gauges(broker, software.name)
        # First, because beans without a count of connections cannot be counted.
        wrong = (bean_problem(each, broker.listener) for each in beans if with_names)
        named = next(filter(None, wrong), "")
        if named:
            return named
        counted = counts_of(beans, listener=broker.listener)
        return "" if counted == expected else wrong_count(counted, expected)

    return problem


def wrong_count(counted: Counts, expected: Counts) -> str:
    """Say that the metric has other counts than there are connections."""
    return f"the metric counts {counted}, but {expected} are open"


def remaining_gauge(broker: Broker, software: Software) -> str:
    """Return what is wrong with a metric that has to be gone, by the text of the KIP."""
    return STILL_THERE if gauges(broker, software.name) else ""


def miscounted_requests(broker: Broker, software: Software, expected: dict[str, str] | None) -> str:
    """Return what is wrong with the count of a client software's requests in deprecated versions.

    `expected` has the keys of the only bean that there has to be, which counts one request; None for no bean.
    """
    assert broker.running.metrics_url is not None
    beans = deprecated_requests_of(broker.running.metrics_url, software.name)
    counted = [(dict(keys_of(bean)), count) for bean, count in beans.items()]
    if counted == ([] if expected is None else [(expected, 1)]):
        return ""
    return f"the metric has {printable(str(beans))}, but {'no bean' if expected is None else expected} is right"


def assert_soon(read: Callable[[], str], *, software: Software, when: str) -> None:
    """Wait until nothing is wrong with the metric of a client software."""
    problem = poll_until(read, "")
    with violation_context(when, f"software {software.name}, version {software.version}"):
        assert not problem, problem


def becomes_unknown(broker: Broker, connection: Connection, named: Request) -> bool:
    """Return whether a connection that continues without a name adds one to the count of unknown software."""

    def unknown() -> int:
        counts = counts_of(gauges(broker, UNKNOWN.name), listener=broker.listener)
        return counts.get((broker.listener, UNKNOWN.version), 0)

    connection.converse([named])
    expected = unknown() + 1
    connection.converse([NAMELESS])
    return poll_until(unknown, expected) == expected


@contextmanager
def named_connection(broker: Broker, named: Request, *, early: bool) -> Iterator[Connection]:
    """Open a connection and name its software; `early` does so before SASL authentication, where there is one."""
    is_early = early and broker.asks_for_authentication
    with broker.connect(authenticate=not is_early) as connection:
        connection.converse([named])
        if is_early:
            assert broker.running.sasl is not None
            connection.authenticate(broker.running.sasl)
        yield connection


def log_problem(broker: Broker, path: Path, client_id: str, software: Software) -> str:
    """Return what is wrong with the log entry of a request once the time is up; empty as soon as nothing is."""

    def read() -> str:
        broker.check_alive()
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
        return entry_problem([line for line in lines if client_id in line], software)

    return poll_until(read, "", limit_s=SLOWEST_LOG_S)


@pytest.mark.needs("metrics")
@pytest.mark.clause("KIP-511.connections-metric")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(versions=st.lists(FLEXIBLE_VERSIONS, min_size=1, max_size=4))
@example(versions=[3])
@example(versions=[3, 3, 3])
def test_open_connections_are_counted_by_software(broker: Broker, versions: list[int]) -> None:
    """The metric counts the open connections of a client software under the KIP's names alone.

    It counts none after the last connection closes.
    """
    software = Software(fresh_name(), "1.0")
    with ExitStack() as opened:
        for version in versions:
            connection = opened.enter_context(broker.connect())
            served = min(version, broker.max_version)
            connection.converse([build_request(version=served, software=software)])
        counted = miscount(broker, software, len(versions), with_names=True)
        assert_soon(counted, software=software, when=WHILE_OPEN)
    assert_soon(miscount(broker, software, 0), software=software, when=ONCE_CLOSED)
    if broker.profile.traits.unused_metrics_removed:
        gone = partial(remaining_gauge, broker, software)
        assert_soon(gone, software=software, when=ONCE_CLOSED)


@pytest.mark.needs("metrics", "deprecated_requests", "other_apis")
@pytest.mark.listeners(PLAINTEXT)
@pytest.mark.clause("KIP-896.deprecated-requests-metric")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(version=FLEXIBLE_VERSIONS)
@example(version=3)
def test_deprecated_requests_are_counted_by_software(broker: Broker, version: int) -> None:
    """The metric counts a request in a deprecated version under its client software, and no other request."""
    assume(version <= broker.max_version)
    deprecated, current = DESCRIBE_CONFIGS
    listed = [each for each in advertised_table(broker) if each.api_key == DESCRIBE_CONFIGS_KEY]
    assume(listed)
    is_served = listed[0].min_version == 0
    software = Software(fresh_name(), "1.0")
    named = build_request(version=version, software=software)
    with broker.connect() as connection:
        for exchange in connection.converse([named, deprecated, current] if is_served else [named, current]):
            payload_of(exchange)
    keys = {
        "type": "RequestMetrics",
        "name": "DeprecatedRequestsPerSec",
        "request": "DescribeConfigs",
        "version": "0",
        "clientSoftwareName": software.name,
        "clientSoftwareVersion": software.version,
    }
    wrong = partial(miscounted_requests, broker, software, keys if is_served else None)
    assert_soon(wrong, software=software, when=AFTER_REQUESTS)


@pytest.mark.malformed
@pytest.mark.needs("metrics")
@pytest.mark.clause("KIP-511.name-attached-to-connection")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(
    version=FLEXIBLE_VERSIONS,
    later=st.sampled_from(("another name", "another version", "an illegal name", "no name")),
)
@example(version=3, later="another name")
@example(version=3, later="another version")
@example(version=3, later="an illegal name")
@example(version=3, later="no name")
def test_last_name_counts_for_the_connection(broker: Broker, version: int, later: str) -> None:
    """A connection counts under its last name; a refused one changes nothing, a nameless version makes it unknown."""
    assume(version <= broker.max_version)
    first, second = Software(fresh_name(), "1.0"), Software(fresh_name(), "2.0")
    if later == "another version":
        second = Software(first.name, "2.0")
    sent, first_count, second_count = {
        "another name": (build_request(version=version, software=second), 0, 1),
        "another version": (build_request(version=version, software=second), 0, 1),
        "an illegal name": (build_request(version=version, software=ILLEGAL), 1, 0),
        "no name": (NAMELESS, 0, 0),
    }[later]
    named = build_request(version=version, software=first)
    with broker.connect() as connection:
        connection.converse([named])
        assert_soon(miscount(broker, first, 1), software=first, when=AFTER_FIRST_NAME)
        (exchange,) = connection.converse([sent])
        # A connection that has ended is not counted.
        payload_of(exchange)
        if second.name != first.name:
            when = f"the first name, after {later}"
            assert_soon(miscount(broker, first, first_count), software=first, when=when)
        when = f"the second name, after {later}"
        assert_soon(miscount(broker, second, second_count), software=second, when=when)
        if sent is NAMELESS:
            # During the first attempt, a connection that closed a moment ago may still be counted.
            counted = any(becomes_unknown(broker, connection, named) for _ in range(2))
            assert counted, f"after {later}: the connection is not counted as unknown"


@pytest.mark.needs("metrics")
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("KIP-511.name-attached-to-connection")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(version=FLEXIBLE_VERSIONS)
@example(version=3)
def test_name_given_before_authentication_counts_after_it(broker: Broker, version: int) -> None:
    """A connection that names its software before SASL authentication counts under that name after it."""
    assume(version <= broker.max_version)
    software = Software(fresh_name(), "1.0")
    named = build_request(version=version, software=software)
    with named_connection(broker, named, early=True):
        assert_soon(miscount(broker, software, 1), software=software, when=AFTER_EARLY_NAME)


@pytest.mark.needs("more_than_reading", "request_log")
@pytest.mark.clause("KIP-511.request-log")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(version=FLEXIBLE_VERSIONS, early=st.booleans(), choice=st.integers(0, 3))
@example(version=3, early=False, choice=0)
@example(version=3, early=True, choice=1)
def test_request_log_names_the_software(broker: Broker, version: int, early: bool, choice: int) -> None:
    """The request log has the name and version of a connection's software for the other APIs that it requests."""
    assume(version <= broker.max_version)
    running = broker.running
    assert running.administration is not None
    assert running.request_log is not None
    software, client_id = Software(fresh_name(), fresh_name()), fresh_name()
    named = build_request(version=version, software=software)
    # ApiVersions would have the software in its own body, or make the connection's software unknown.
    other = reading_request(broker, client_id, choice)
    with running.administration.log_requests():
        with named_connection(broker, named, early=early) as connection:
            (following,) = connection.converse([other])
        if following.outcome is not Outcome.ANSWER:
            raise HarnessError(
                f"a request of another API is not answered (judged by {EVERY_ADVERTISED_VERSION_SERVED}): {summary_of(following)}"
            )
        problem = log_problem(broker, running.request_log, client_id, software)
    if problem == NO_ENTRY:
        check_not_superseded(broker, "KIP-511.request-log")
    with violation_context(IN_THE_LOG, f"software {software.name}, client id {client_id}"):
        assert not problem, problem
