"""The proxy, the capture and the request log of one real broker show the same clients."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

from conformance.watch.captures import read_captures
from conformance.watch.request_logs import read_request_logs
from conformance.watch.request_stream import RequestHeaders
from conformance.watch.sightings import Sightings
from conformance.watch.tcp_packets import Endpoint, read_segments
from conformance.watch.watcher import Watcher

BROKER = Endpoint("127.0.0.1", 40579)
FOLDER = Path(__file__).parents[2] / "vectors" / "same-traffic"


def test_the_rows_are_the_same() -> None:
    """What differs is said: the log has the user, which the capture cannot know."""
    captured, logged = Sightings(), Sightings()
    said = read_captures([FOLDER / "requests.pcap"], captured)
    read_request_logs([FOLDER / "requests.log"], logged)
    assert {each.principal for each in logged.clients} == {"User:ANONYMOUS"}
    without_user = [
        (replace(client, principal=None), logged.requests(client)) for client in logged.clients
    ]
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
    captured, watcher = Sightings(), Watcher(lambda: 0)
    read_captures([FOLDER / "requests.pcap"], captured)
    connections: dict[Endpoint, RequestHeaders] = {}
    for segment in read_segments(FOLDER / "requests.pcap", Counter()):
        if segment.source == BROKER or not segment.data:
            continue
        if segment.source not in connections:
            watched = watcher.opened(segment.source.host, 0)
            connections[segment.source] = RequestHeaders(partial(watcher.requested, watched))
        connections[segment.source].feed(segment.data)
    proxied = watcher.sightings
    assert proxied.clients == captured.clients
    assert all(proxied.requests(each) == captured.requests(each) for each in captured.clients)
