"""What listeners do is kept when it differs from before."""

from __future__ import annotations

import pytest

from conformance.life.sightings import Reply, Sighting, Watch, reply_of
from fixtures.polling import poll_until
from tests.fixtures.scripted_server import Peer, answer, closed_port, scripted_server


def close(peer: Peer) -> None:
    """Close the connection after the request."""
    peer.read_request()


def stay_silent(peer: Peer) -> None:
    """Answer nothing until the client closes."""
    peer.read_request()
    with pytest.raises(EOFError):
        peer.read_request()


def serve(peer: Peer) -> None:
    """Answer one request with an empty table."""
    (correlation_id,) = peer.read_correlation_ids(1)
    peer.socket.sendall(answer(correlation_id))


def test_replies_of_listeners_are_distinguished() -> None:
    """It answers, closes, or stays silent."""
    with scripted_server(serve) as server:
        reply, payload = reply_of(server.address, 0)
    assert (reply, payload[4:]) == (Reply.ANSWERED, bytes(6))
    with scripted_server(close) as server:
        assert reply_of(server.address, 0) == (Reply.CLOSED, b"")
    with scripted_server(stay_silent) as server:
        assert reply_of(server.address, 0, silence_s=0.05) == (Reply.SILENT, b"")
    with closed_port() as address:
        assert reply_of(address, 3) == (Reply.CLOSED, b"")


@pytest.mark.parametrize(
    ("sent", "reply", "payload"),
    [
        (answer(99), Reply.NO_RESPONSE, answer(99)[4:]),
        (b"\xff\xff\xff\xff", Reply.NO_RESPONSE, b"\xff\xff\xff\xff"),
        (b"HTTP/1.1 400 Bad Request", Reply.NO_RESPONSE, b"HTTP/1.1 400 Bad Request"),
        (answer(7)[:-1], Reply.CUT_OFF, b""),
    ],
)
def test_bytes_that_are_no_response_are_no_closed_connection(sent: bytes, reply: Reply, payload: bytes) -> None:
    """A client that sees them must not trust them; only what a node's end cut off is no fault."""

    def send(peer: Peer) -> None:
        peer.read_request()
        peer.socket.sendall(sent)

    with scripted_server(send) as server:
        assert reply_of(server.address, 0) == (reply, payload)


def test_bytes_that_are_no_response_have_no_error_code() -> None:
    """They could look like a success."""
    seen = Sighting(
        at_s=1.0, node_id=1, listener="controller", api_version=0, reply=Reply.NO_RESPONSE, payload=bytes(10)
    )
    assert (seen.error_code, seen.table) == (None, None)


def test_time_begins_with_the_watch() -> None:
    """Preparing nodes is no part of it."""
    watch = Watch(newest_version=0)
    assert watch.now_s == 0
    with watch.of([]):
        assert poll_until(lambda: watch.now_s > 0, True, limit_s=10)


def test_watch_keeps_what_differs() -> None:
    """A listener that does the same all the time costs one sighting for each version."""
    watch = Watch(newest_version=4)
    with closed_port() as address, watch.of([(1, "plaintext", address)]):

        def was_asked_again() -> bool:
            last = watch.last(1, "plaintext", 4)
            return last is not None and last not in watch.sightings

        assert poll_until(was_asked_again, True, limit_s=10)
    assert [(each.api_version, each.reply) for each in watch.sightings] == [(0, Reply.CLOSED), (4, Reply.CLOSED)]


def test_release_without_features_is_asked_in_v0_alone() -> None:
    """Before v3 a response lists none."""
    watch = Watch(newest_version=2)
    with closed_port() as address, watch.of([(1, "plaintext", address)]):
        assert poll_until(lambda: watch.last(1, "plaintext") is not None, True, limit_s=10)
    assert {each.api_version for each in watch.sightings} == {0}


def test_waiting_ends_in_time() -> None:
    """It returns whether what was waited for holds."""
    assert not poll_until(lambda: False, True, limit_s=0)
    assert poll_until(lambda: True, True, limit_s=0)
