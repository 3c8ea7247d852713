"""The watcher counts within bounds, and judges each connection by itself."""

from __future__ import annotations

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
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.prediction import predict
from upgrade.prediction.releases import release_named
from upgrade.watching import watcher
from upgrade.watching.request_head import RequestHead
from upgrade.watching.request_headers import RequestHeaders
from upgrade.watching.watcher import Watcher


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
