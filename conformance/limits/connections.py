"""Limits of connections: `max.connections` and `max.connections.per.ip`.

A connection above the limit is not served: it waits, or is closed. The others are served, and new ones once those are
closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.assertions.clause_ids import CONNECTIONS_ABOVE_LIMIT_WAIT
from conformance.limits.asking import AskedBroker, AskedConnection, LimitProblem, ask_for_versions, table_in
from fixtures.client.own_connection import Reply

LIMIT = 10
BROKER_WIDE, PER_ADDRESS = "max.connections", "max.connections.per.ip"
FIRST_RELEASES = {BROKER_WIDE: "2.3", PER_ADDRESS: "0.10"}
MORE = 3
"""How many connections are opened above the limit."""
OWN_CONNECTIONS = 1
"""How many connections a broker has to itself, which count as well. Measured: at most 1, in 0.10.0.1 and 2.3.1; none in
3.3.2 and 4.4.0."""
RECOVERY_S = 10.0
"""How long a broker may take to notice that connections were closed. Measured: less than 0.1 s."""


class ManyConnections(NamedTuple):
    """What became of more connections than a broker may serve.

    Attributes:
        served: how many were served at the same time.
        problems: what was wrong.
    """

    served: int
    problems: list[LimitProblem]


def try_connections(broker: AskedBroker, setting: str, *, limit: int = LIMIT) -> ManyConnections:
    """Open more connections than a listener may serve, and return how many it serves and what it does wrong.

    Args:
        broker: the listener, to which nothing is connected.
        setting: the name of the limit, for the sentences.
        limit: its value.
    """
    served: list[AskedConnection] = []
    problems = list(_problems(broker, setting, limit, served))
    return ManyConnections(len(served), problems)


def _problems(broker: AskedBroker, setting: str, limit: int, served: list[AskedConnection]) -> Iterator[LimitProblem]:
    others = []
    for number in range(1, limit + MORE + 1):
        connection = broker.open()
        reply, payload = ask_for_versions(connection)
        if table_in(reply, payload) is not None:
            served.append(connection)
            continue
        others.append(connection)
        if reply not in (Reply.CLOSED, Reply.SILENT):
            yield LimitProblem(
                CONNECTIONS_ABOVE_LIMIT_WAIT, f"connection {number} is answered without a table: {reply}", payload
            )
    if not limit - OWN_CONNECTIONS <= len(served) <= limit:
        sentence = f"{len(served)} connections are served at the same time; {setting} is {limit}"
        yield LimitProblem(CONNECTIONS_ABOVE_LIMIT_WAIT, sentence)
    for number, connection in enumerate(served[:limit], 1):
        reply, payload = ask_for_versions(connection)
        if table_in(reply, payload) is None:
            sentence = f"connection {number} is not served any more while others are above the limit: {reply}"
            yield LimitProblem(CONNECTIONS_ABOVE_LIMIT_WAIT, sentence, payload)
    for connection in (*served, *others):
        connection.close()
    yield from _after(broker)


def _after(broker: AskedBroker) -> Iterator[LimitProblem]:
    """Yield a problem unless a new connection is served in time."""
    give_up_at = broker.now_s + RECOVERY_S
    while True:
        connection = broker.open()
        reply, payload = ask_for_versions(connection)
        connection.close()
        if table_in(reply, payload) is not None:
            return
        if broker.now_s >= give_up_at:
            sentence = f"a new connection is not served after the others were closed: {reply}"
            yield LimitProblem(CONNECTIONS_ABOVE_LIMIT_WAIT, sentence, payload)
            return
        broker.wait_until(broker.now_s + 0.1)
