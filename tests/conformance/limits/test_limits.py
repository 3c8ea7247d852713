"""A planted fault breaks its clause alone, and a correct broker breaks none."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from conformance.limits.asking import ListenerToAsk, ask_for_versions
from conformance.limits.connections import MORE, PER_ADDRESS, try_connections
from conformance.limits.sessions import LIFETIME_MS, session_problems
from conformance.limits.unstable_versions import unstable_problems, unstable_versions
from fixtures.artefacts.schema_jars import clients_jar, read_schemas
from fixtures.client.access import SaslAccess
from fixtures.client.own_connection import Reply
from fixtures.errors import AuthenticationFailed
from tests.conformance.limits.limited_broker import (
    UNSTABLE_KEY,
    UNSTABLE_VERSION,
    WRONG_BROKERS,
    BrokerWithLimits,
    LimitedConnection,
)
from tests.fixtures.scripted_server import Peer, answer, closed_port, scripted_server

ACCESS = SaslAccess(username="u", password="p", mechanisms=("PLAIN",))
LIMIT = 3
SCHEMAS = [
    {
        "apiKey": UNSTABLE_KEY,
        "type": kind,
        "name": f"InitProducerId{kind.capitalize()}",
        "listeners": ["broker"],
        "validVersions": f"0-{UNSTABLE_VERSION}",
        "flexibleVersions": "2+",
        "latestVersionUnstable": kind == "request",
        "fields": [],
    }
    for kind in ("request", "response")
]


def broken_by(broker: type[BrokerWithLimits]) -> set[str]:
    """Return the clauses that a broker breaks, of all limits."""
    problems = session_problems(broker(lifetime_ms=LIFETIME_MS), ACCESS)
    problems += try_connections(broker(limit=LIMIT), PER_ADDRESS, limit=LIMIT).problems
    for is_enabled in (False, True):
        limited = broker(is_enabled=is_enabled)
        problems += unstable_problems(limited, unstable_versions(SCHEMAS), is_enabled=is_enabled)
    return {each.clause for each in problems}


def test_correct_broker_breaks_nothing() -> None:
    assert broken_by(BrokerWithLimits) == set()
    assert try_connections(BrokerWithLimits(limit=LIMIT), PER_ADDRESS, limit=LIMIT).served == LIMIT


@pytest.mark.parametrize("wrong", WRONG_BROKERS, ids=lambda each: each.__name__)
def test_planted_fault_breaks_its_clause(wrong: type[BrokerWithLimits]) -> None:
    assert broken_by(wrong) == {wrong.breaks}


def test_connections_above_the_limit_may_be_closed() -> None:
    """Kafka does so above the limit of an address."""

    class Closes(BrokerWithLimits):
        def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
            return None if super().above_limit(connection) is None else (Reply.CLOSED, b"")

    assert broken_by(Closes) == set()


def test_broker_that_serves_nobody_is_wrong() -> None:
    """Otherwise a limit of none would pass."""
    tried = try_connections(BrokerWithLimits(limit=0), PER_ADDRESS, limit=LIMIT)
    assert [each.sentence for each in tried.problems] == [
        f"0 connections are served at the same time; {PER_ADDRESS} is {LIMIT}",
        "a new connection is not served after the others were closed: silent",
    ]


def test_session_may_be_shorter_than_the_setting() -> None:
    """A broker that says so ends it then: KIP-368 has the lifetime of a token as well."""

    class ShorterSessions(BrokerWithLimits):
        def told_ms(self) -> int:
            return self.real_ms()

        def real_ms(self) -> int:
            return self.lifetime_ms // 2

    assert broken_by(ShorterSessions) == set()


def test_connection_of_a_broker_to_itself_counts() -> None:
    """As in 2.3.1, which serves one less than the limit."""
    assert try_connections(BrokerWithLimits(limit=LIMIT - 1), PER_ADDRESS, limit=LIMIT).problems == []


def test_slow_machine_proves_nothing_about_a_session() -> None:
    """A connection that is closed may have been closed because the session had ended before it was asked."""

    class ShortSessions(BrokerWithLimits):
        def open(self) -> LimitedConnection:
            self.now_s += LIFETIME_MS
            return super().open()

        def real_ms(self) -> int:
            return 1

    assert {each.clause for each in session_problems(ShortSessions(lifetime_ms=1), ACCESS, lifetime_ms=1)} == set()


def test_failed_login_is_no_violation() -> None:
    """Nothing is known about sessions then."""

    class Refuses(BrokerWithLimits):
        def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
            return Reply.CLOSED, b""

    with pytest.raises(AuthenticationFailed, match="SaslHandshake: refused or closed"):
        session_problems(Refuses(lifetime_ms=LIFETIME_MS), ACCESS)


def test_listener_without_a_table_hides_nothing() -> None:
    broker = BrokerWithLimits(limit=0)
    (problem,) = unstable_problems(broker, unstable_versions(SCHEMAS), is_enabled=False)
    assert problem.sentence == "ApiVersions v0: silent, instead of a table"


def test_unstable_versions_are_those_that_the_release_marks() -> None:
    """As the jar of the release says it, for brokers and not for controllers."""
    found = unstable_versions(read_schemas(clients_jar("3.5.2")))
    assert [(each.api.name, each.version) for each in found] == [
        ("AddPartitionsToTxn", 4),
        ("ConsumerGroupHeartbeat", 0),
    ]
    assert unstable_versions(read_schemas(clients_jar("3.4.1"))) == []


def test_real_connections_answer_and_are_refused() -> None:
    """The listener that the command asks: one connection after the other, until the end of the block."""

    def serve(peer: Peer) -> None:
        for _ in range(2):
            (correlation_id,) = peer.read_correlation_ids(1)
            peer.socket.sendall(answer(correlation_id))

    with scripted_server(serve) as server, ExitStack() as opened:
        listener = ListenerToAsk(server.address, opened)
        connection = listener.open()
        assert [ask_for_versions(connection)[0] for _ in range(3)] == [Reply.ANSWERED, Reply.ANSWERED, Reply.CLOSED]
        connection.close()
        began_s = listener.now_s
        listener.wait_until(began_s - 1)
        assert listener.now_s - began_s < MORE
    with closed_port() as address, ExitStack() as opened:
        assert ask_for_versions(ListenerToAsk(address, opened).open()) == (Reply.CLOSED, b"")
