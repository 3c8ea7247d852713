"""What listeners do is kept when it differs from before."""

from __future__ import annotations

import pytest

from conformance.life.sightings import Reply, Watch, reply_of, wait_until
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


def test_watch_keeps_what_differs() -> None:
    """A listener that does the same all the time costs one sighting for each version."""
    watch = Watch(newest_version=4)
    with closed_port() as address, watch.of([(1, "plaintext", address)]):

        def was_asked_again() -> bool:
            last = watch.last(1, "plaintext", 4)
            return last is not None and last not in watch.sightings

        assert wait_until(was_asked_again, limit_s=10)
    assert [(each.api_version, each.reply) for each in watch.sightings] == [(0, Reply.CLOSED), (4, Reply.CLOSED)]


def test_release_without_features_is_asked_in_v0_alone() -> None:
    """Before v3 a response lists none."""
    watch = Watch(newest_version=2)
    with closed_port() as address, watch.of([(1, "plaintext", address)]):
        assert wait_until(lambda: watch.last(1, "plaintext") is not None, limit_s=10)
    assert {each.api_version for each in watch.sightings} == {0}


def test_waiting_ends_in_time() -> None:
    """It returns whether what was waited for holds."""
    assert not wait_until(lambda: False, limit_s=0)
    assert wait_until(lambda: True, limit_s=0)
