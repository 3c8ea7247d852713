"""Sightings count what clients sent, within bounds."""

from __future__ import annotations

import pytest

from conformance.watch import sightings
from conformance.watch.sightings import ClientIdentity, Sightings

ONE = ClientIdentity("one", "10.0.0.1")
OTHER = ClientIdentity("other", "10.0.0.2", software_name="sarama")


def test_requests_are_counted_in_a_stable_order() -> None:
    """Requests are counted by client, API key and version, in whatever order they come."""
    seen = Sightings()
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
    seen = Sightings()
    seen.add(ONE, 3, 1)
    assert seen.asks(ONE) is False
    seen.of(ONE).missed_beginning = True
    assert seen.asks(ONE) is None
    seen.add(ONE, 18, 0)
    assert seen.asks(ONE)
    assert seen.of(ONE).asked


def test_a_client_that_names_its_software_on_one_connection_alone_asks() -> None:
    """What has the same client id and address is the same client when it comes to asking."""
    seen = Sightings()
    named = ClientIdentity(ONE.client_id, ONE.address, software_name="kafka-python")
    seen.add(named, 18, 3)
    seen.add(ONE, 3, 1)
    assert seen.asks(ONE)
    assert not seen.of(ONE).asked


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients, kinds of requests, connections and sentences are kept up to a limit, and the result says so."""
    monkeypatch.setattr(sightings, "MOST_CLIENTS", 2)
    seen = Sightings()
    for number in range(5):
        seen.add(ClientIdentity(str(number), "h"), 3, 1)
    assert len(seen.clients) == 2
    assert seen.are_incomplete
    assert "more than 2 clients" in next(iter(seen.cannot_see))
    client = seen.clients[0]
    for number in range(sightings.MOST_VERSIONS + 5):
        seen.add(client, number, 0, connection=number)
        seen.note(client, str(number))
    assert len(seen.requests(client)) == sightings.MOST_VERSIONS
    assert len(seen.of(client).connections) == sightings.MOST_CONNECTIONS
    assert len(seen.of(client).notes) == sightings.MOST_NOTES
