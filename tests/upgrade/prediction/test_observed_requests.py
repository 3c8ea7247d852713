"""Observed clients are counted within memory bounds.

The proxy, the capture and the request log of one broker yield the same counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from reference_model.clients.scripts import recording
from tests.upgrade.watching.relay import (
    API_VERSIONS,
    SASL_HANDSHAKE,
    asking,
    request,
    response,
    table,
)
from upgrade.prediction import observed_requests
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests
from upgrade.prediction.prediction import PredictedOutcome, predict
from upgrade.prediction.releases import release_named
from upgrade.traffic_files.captures import read_captures
from upgrade.traffic_files.request_logs import read_request_logs
from upgrade.traffic_files.tcp_packets import Endpoint, read_segments
from upgrade.watching import watcher
from upgrade.watching.request_head import RequestHead
from upgrade.watching.request_headers import RequestHeaders
from upgrade.watching.watcher import Watcher

BROKER = Endpoint("127.0.0.1", 40579)
FOLDER = Path(__file__).parents[2] / "vectors" / "same-traffic"


def test_the_rows_are_the_same() -> None:
    """What differs is said: the log has the user, which the capture cannot know."""
    captured, logged = ObservedRequests(), ObservedRequests()
    said = read_captures([FOLDER / "requests.pcap"], captured)
    read_request_logs([FOLDER / "requests.log"], logged)
    assert {each.principal for each in logged.clients} == {"User:ANONYMOUS"}
    without_user = [(replace(client, principal=None), logged.requests(client)) for client in logged.clients]
    assert [(each, captured.requests(each)) for each in captured.clients] == without_user
    asked = [[each.of(client).asked for client in each.clients] for each in (captured, logged)]
    assert asked[0] == asked[1]
    assert {True, False} == set(asked[0])
    assert {each.software_name for each in captured.clients} == {
        None,
        "confluent-kafka-python",
        "my-app",
    }
    assert captured.tables == logged.tables
    assert [len(each) for each in logged.tables.values()] == [61]
    assert any("which user" in each for each in said)


def test_the_proxy_sees_the_same() -> None:
    """What clients sent, read as the proxy reads it, gives the rows of the capture."""
    captured, watching = ObservedRequests(), Watcher(lambda: 0)
    read_captures([FOLDER / "requests.pcap"], captured)
    connections: dict[Endpoint, RequestHeaders] = {}
    for segment in read_segments(FOLDER / "requests.pcap", Counter()):
        if segment.source == BROKER or not segment.data:
            continue
        if segment.source not in connections:
            watched = watching.opened(segment.source.host, 0)
            connections[segment.source] = RequestHeaders(partial(watching.requested, watched))
        connections[segment.source].feed(segment.data)
    proxied = watching.observed
    assert proxied.clients == captured.clients
    assert all(proxied.requests(each) == captured.requests(each) for each in captured.clients)


ONE = ClientIdentity("one", "10.0.0.1")
OTHER = ClientIdentity("other", "10.0.0.2", software_name="sarama")


def test_requests_are_counted_in_a_stable_order() -> None:
    """Requests are counted by client, API key and version, in whatever order they come."""
    seen = ObservedRequests()
    seen.add(OTHER, 3, 1, connection=7)
    seen.add(ONE, 3, 1, 5)
    seen.add(ONE, 0, 2)
    seen.add(ONE, 3, 1, connection=8)
    assert [[*seen.requests(each).items()] for each in seen.clients] == [
        [((0, 2), 1), ((3, 1), 6)],
        [((3, 1), 1)],
    ]
    assert seen.of(ONE).connections == {8}


def test_a_client_that_was_seen_from_its_middle_may_have_asked() -> None:
    """A client asks, never asks, or may have asked before it was seen."""
    seen = ObservedRequests()
    seen.add(ONE, 3, 1)
    assert seen.asks(ONE) is False
    seen.of(ONE).missed_beginning = True
    assert seen.asks(ONE) is None
    seen.add(ONE, 18, 0)
    assert seen.asks(ONE)
    assert seen.of(ONE).asked


def test_a_client_that_names_its_software_on_one_connection_alone_asks() -> None:
    """What has the same client id and address is the same client when it comes to asking."""
    seen = ObservedRequests()
    named = ClientIdentity(ONE.client_id, ONE.address, software_name="kafka-python")
    seen.add(named, 18, 3)
    seen.add(ONE, 3, 1)
    assert seen.asks(ONE)
    assert not seen.of(ONE).asked


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients, kinds of requests, connections and sentences are kept up to a limit, and the result says so."""
    monkeypatch.setattr(observed_requests, "MAX_CLIENTS", 2)
    seen = ObservedRequests()
    for number in range(5):
        seen.add(ClientIdentity(str(number), "h"), 3, 1)
    assert len(seen.clients) == 2
    assert seen.are_incomplete
    assert "more than 2 clients" in next(iter(seen.limits))
    client = seen.clients[0]
    for number in range(observed_requests.MAX_VERSIONS + 5):
        seen.add(client, number, 0, connection=number)
        seen.note(client, str(number))
    assert len(seen.requests(client)) == observed_requests.MAX_VERSIONS
    assert len(seen.of(client).connections) == observed_requests.MAX_CONNECTIONS
    assert len(seen.of(client).notes) == observed_requests.MAX_NOTES


def head_of(frame: bytes) -> RequestHead:
    """Return what is read of a request."""
    heads: list[RequestHead] = []
    RequestHeaders(heads.append).feed(frame)
    return heads[0]


def test_a_day_of_connections_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients, their software, and what the oracle is shown have limits; requests are counted further."""
    monkeypatch.setattr(watcher, "MAX_JUDGED", 5)
    monkeypatch.setattr(watcher, "MAX_CLIENTS", 20)
    seen = Watcher(lambda: 0)
    for number in range(300):
        connection = seen.opened("10.0.0.1", 0)
        asked = head_of(asking(3))
        written = head_of(request(0, 7, b"records", client_id=f"client {number % 50}"))
        for head in (asked, written, written):
            seen.requested(connection, head)
        seen.take_table(connection, asked, table(3))
        seen.closed(connection, by_client=True)
        seen.over(connection)
        assert not connection.unanswered
    assert not seen._open
    kept = seen._judged.values()
    assert len(kept) <= 5
    assert all(len(each.connections) <= recording.MAX_CONNECTIONS for each in kept)
    assert all(len(each.requests) <= recording.MAX_REQUESTS for each in kept)
    assert len(seen._software) <= 20
    assert len(seen.observed.clients) <= observed_requests.MAX_CLIENTS
    found = [seen.observed.of(each).requests.total() for each in seen.observed.clients]
    assert sum(found) == seen.requests == 900


def test_what_is_not_read_counts_against_the_client_that_sent_it() -> None:
    seen = Watcher(lambda: 0)
    connection = seen.opened("10.0.0.1", 0)
    seen.requested(connection, head_of(request(3, 4)))
    assert len(seen.observed.clients) == 1
    seen.miss_rest(connection, "unread from here on")
    (client,) = seen.observed.clients
    assert client.client_id == "app"
    assert seen.observed.of(client).missed_requests
    found = predict(seen.observed, client, {}, release_named("apache-kafka-4.4.0"))
    assert found.outcome is PredictedOutcome.CANNOT_SAY


def _exchange(seen: Watcher, *frames: bytes, answers: tuple[bytes, ...]) -> None:
    """Let one connection send requests that are answered, in turn."""
    connection = seen.opened("10.0.0.1", 0)
    for frame, answer in zip(frames, answers, strict=True):
        head = head_of(frame)
        seen.requested(connection, head)
        (seen.take_table if head.api_key == API_VERSIONS else seen.answered)(connection, head, answer)
    seen.closed(connection, by_client=True)
    seen.over(connection)


def test_a_connection_is_not_judged_by_another_one() -> None:
    """A client of a SASL listener begins with v0 on every connection; and two programs may share a client id."""
    seen = Watcher(lambda: 0)
    done = response(b"\0\0")
    _exchange(seen, asking(0), asking(3), answers=(table(0), table(3)))
    _exchange(
        seen,
        asking(0),
        request(SASL_HANDSHAKE, 1),
        asking(3, name="another"),
        answers=(table(0), done, table(3)),
    )
    assert list(seen.violations().values()) == [()]


def test_a_handshake_without_a_header_after_it_hides_no_request() -> None:
    """Tokens are not recorded, so the request after SaslHandshake v0 is judged as what it is."""
    seen = Watcher(lambda: 0)
    named, late = asking(3, name="my app"), asking(3, number=2)
    _exchange(
        seen,
        asking(0),
        request(SASL_HANDSHAKE, 0, b"\0\5PLAIN"),
        named,
        late,
        answers=(table(0), response(b"\0\0"), table(3), table(3)),
    )
    ((found, *_),) = seen.violations().values()
    assert found.clause == "KIP-511.client-name-valid"


def test_tables_are_intersected() -> None:
    """What a client may use is what all brokers list that were asked."""
    seen = Watcher(lambda: 0)
    assert seen.watched == {}
    for node in (0, 1):
        connection = seen.opened("10.0.0.1", node)
        asked = head_of(asking(3))
        seen.requested(connection, asked)
        seen.take_table(connection, asked, table(3))
    assert seen.watched[API_VERSIONS] == (0, 4)
    refused = head_of(asking(9))
    seen.requested(connection, refused)
    seen.take_table(connection, refused, b"\0\0\0\6\0\0\0\1\0\x23")
    assert seen.watched[API_VERSIONS] == (0, 4)
