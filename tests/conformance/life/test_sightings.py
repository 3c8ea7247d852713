"""What listeners do is kept when it differs from before."""

from __future__ import annotations

import struct
import threading
from contextlib import suppress

import pytest

from conformance.life.sightings import CROWD, Sighting, Watch, replies_of, reply_of
from fixtures.client.own_connection import Reply
from fixtures.polling import poll_until
from tests.fixtures.scripted_server import Peer, answer, closed_port, frame, scripted_server
from wire.api_versions import NEWEST_VERSION


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
    watch = Watch()
    assert watch.now_s == 0
    with watch.of([]):
        assert poll_until(lambda: watch.now_s > 0, True, limit_s=10)


def test_watch_keeps_what_differs() -> None:
    """A listener that does the same all the time costs one sighting, which counts."""
    watch = Watch()
    with closed_port() as address, watch.of([(1, "plaintext", address)]):
        assert poll_until(lambda: bool(watch.sightings) and watch.sightings[0].times > 1, True, limit_s=10)
    (seen,) = watch.sightings
    assert (seen.api_version, seen.reply) == (0, Reply.CLOSED)
    assert seen.until_s > seen.at_s


@pytest.mark.parametrize(("newest", "asked"), [(2, {0}), (3, {0, 3}), (99, {0, NEWEST_VERSION})])
def test_newest_version_is_that_of_the_table(newest: int, asked: set[int]) -> None:
    """It is asked for if it lists features, which there are from v3 on, and if the suite knows it."""

    def list_itself(peer: Peer) -> None:
        peer.read_request()
        peer.socket.sendall(frame(struct.pack(">ihihhh", 7, 0, 1, 18, 0, newest)))

    watch = Watch()
    with scripted_server(list_itself) as server, watch.of([(1, "plaintext", server.address)]):
        assert poll_until(lambda: {each.api_version for each in watch.sightings}, asked, limit_s=10) == asked


def test_crowd_keeps_what_is_new() -> None:
    """Many connections that see the same are one sighting, and what the listener's own thread saw is none of theirs."""
    watch, refuses = Watch(), threading.Event()

    def serve_or_refuse(peer: Peer) -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                (correlation_id,) = peer.read_correlation_ids(1)
                code = -1 if refuses.is_set() else 0
                peer.socket.sendall(frame(struct.pack(">ihi", correlation_id, code, 0)))

    with scripted_server(serve_or_refuse) as server:
        listener = {"plaintext": server.address}
        with watch.of([]), watch.crowd(1, listener):
            assert poll_until(lambda: bool(watch.sightings), True, limit_s=10)
            refuses.set()
            assert poll_until(lambda: len(watch.sightings) == 2 and watch.sightings[1].times > CROWD, True, limit_s=10)
    assert [each.error_code for each in watch.sightings] == [0, -1]


def test_connection_of_a_crowd_ends_without_a_response() -> None:
    """It asks again on the same connection only if it was answered."""
    over = threading.Event()

    def serve_twice(peer: Peer) -> None:
        for _ in range(2):
            serve(peer)

    with scripted_server(serve_twice) as server:
        replies = [reply for reply, _ in replies_of(server.address, 0, over)]
    assert replies == [Reply.ANSWERED, Reply.ANSWERED, Reply.CLOSED]
    with closed_port() as address:
        assert list(replies_of(address, 0, over)) == [(Reply.CLOSED, b"")]


def test_waiting_ends_in_time() -> None:
    """It returns whether what was waited for holds."""
    assert not poll_until(lambda: False, True, limit_s=0)
    assert poll_until(lambda: True, True, limit_s=0)
