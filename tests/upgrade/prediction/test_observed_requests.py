"""Observed clients are counted within memory bounds.

The proxy, the capture and the request log of one broker yield the same counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from upgrade.prediction import observed_requests
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests
from upgrade.traffic_files.captures import read_captures
from upgrade.traffic_files.request_logs import read_request_logs
from upgrade.traffic_files.tcp_packets import Endpoint, read_segments
from upgrade.watching.request_headers import RequestHeaders
from upgrade.watching.watcher import Watcher

BROKER = Endpoint("127.0.0.1", 40579)
FOLDER = Path(__file__).parents[2] / "vectors" / "same-traffic"


def test_the_rows_are_the_same() -> None:
    """What differs is said: the log has the user, which the capture cannot know."""
    captured, logged = ObservedRequests(), ObservedRequests()
    sentence = read_captures([FOLDER / "requests.pcap"], captured)
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
    assert any("which user" in each for each in sentence)


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
