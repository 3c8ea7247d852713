"""Tests of the proxy of `watch` with hostile brokers and with planted faults.

The proxy keeps its promises whatever a broker sends. The checks of its promises find each planted fault.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from fixtures.client.addresses import Address
from fixtures.recording_proxy.frame_reader import MAX_READ_BYTES, QUICK_BYTES
from tests.upgrade.watching.relay import (
    HOST,
    METADATA_KEY,
    answering,
    asking,
    metadata,
    next_frame,
    relayed,
    request,
    response,
    serve_tables,
    table,
)
from tests.upgrade.watching.relay_checks import CHECKS
from upgrade.prediction.report import report_of
from upgrade.watching import proxy
from upgrade.watching import proxy as proxy_module
from upgrade.watching.pending_requests import PendingRequests
from upgrade.watching.proxy import MAX_OBSTACLE, CannotListen, WatchProxy
from upgrade.watching.rehearsal import Rehearsal
from upgrade.watching.request_headers import RequestHeaders
from upgrade.watching.responses import HeldResponse
from upgrade.watching.sasl_tokens import SaslTokens
from upgrade.watching.sockets import connect, newest_api_versions
from upgrade.watching.tls_sides import TlsSides, tls_for_application
from upgrade.watching.watcher import Watcher
from wire.broker_addresses import HostAndPort
from wire.exchange import probe_request
from wire.frames import SIZE_BYTES, read_size
from wire.plain_header import PLAIN_CORRELATION_ID

_FEED = RequestHeaders.feed
TIME_S = 1.0
"""A fault that makes a check wait for ever is found by this time."""


async def _answer_as_itself(self: WatchProxy, opened: object, held: HeldResponse) -> bytes:
    return table(0)


async def _write_without_waiting(writer: asyncio.StreamWriter, parts: Any) -> None:
    writer.write(b"".join(parts))


def _wait_for_complete_frames(self: RequestHeaders, data: bytes) -> list[bytes]:
    self._head += data
    size = SIZE_BYTES + read_size(self._head) if len(self._head) >= SIZE_BYTES else 1 << 30
    return [] if len(self._head) < size else [bytes(self._head)]


def _drop_what_is_not_read(self: RequestHeaders, data: bytes) -> list[bytes | memoryview]:
    parts = _FEED(self, data)
    return [] if self.problem else parts


def _read_everything(self: RequestHeaders) -> int:
    head = self._head
    return SIZE_BYTES if len(head) < SIZE_BYTES else SIZE_BYTES + read_size(head)


def _nothing(*args: object, **options: object) -> None:
    return None


def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()


FAULTS: dict[str, tuple[object, str, object, str]] = {
    "answers-as-itself": (WatchProxy, "_for_client", _answer_as_itself, "bytes_arrive_as_they_are"),
    "loses-a-half-close": (proxy, "end", _nothing, "a_half_close_arrives"),
    "closes-at-a-half-close": (proxy, "end", _close, "the_end_of_a_broker_arrives"),
    "ends-where-the-broker-resets": (proxy, "reset", _close, "a_reset_of_the_broker_arrives"),
    "ends-where-the-client-resets": (proxy, "reset", _close, "a_reset_of_the_client_arrives"),
    "waits-for-complete-frames": (
        RequestHeaders,
        "feed",
        _wait_for_complete_frames,
        "a_pause_arrives",
    ),
    "drops-what-it-cannot-read": (
        RequestHeaders,
        "feed",
        _drop_what_is_not_read,
        "what_is_not_kafka_passes",
    ),
    "buffers-without-end": (
        proxy,
        "write",
        _write_without_waiting,
        "a_slow_broker_stops_the_client",
    ),
    "stores-a-payload": (RequestHeaders, "_wanted", _read_everything, "no_payload_is_kept"),
    "takes-a-token-for-a-request": (
        SaslTokens,
        "_is_request",
        lambda self, data: True,
        "no_payload_is_kept",
    ),
    "leaves-addresses-as-they-are": (
        proxy,
        "with_addresses",
        lambda payload, *others: payload,
        "brokers_get_addresses_of_ours",
    ),
    "forgets-the-software": (Watcher, "_learn_software", _nothing, "clients_are_counted"),
    "shows-the-oracle-nothing": (Watcher, "_record", _nothing, "forbidden_requests_are_found"),
    "cuts-open-requests": (proxy, "ENDING_S", 0.0, "open_requests_are_answered_at_the_end"),
    "remembers-every-request": (
        PendingRequests,
        "_forget_half",
        _nothing,
        "unanswered_requests_are_bounded",
    ),
    "forgets-the-oldest-request": (
        PendingRequests,
        "_put_first",
        _nothing,
        "unanswered_requests_are_bounded",
    ),
    "passes-what-follows-the-end": (
        RequestHeaders,
        "end_with_frame",
        _nothing,
        "a_busy_connection_is_not_cut",
    ),
    "rehearses-nothing": (Rehearsal, "substitute", _nothing, "a_rehearsed_release_answers"),
}
"""Each fault: what is replaced, where, by what, and the check that finds it."""


# A check that failed leaves connections open, about which Python warns when they are collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails, or waits for what never comes."""
    owner, attribute, fault, check = FAULTS[name]
    monkeypatch.setattr(owner, attribute, fault)
    if attribute != "ENDING_S":
        monkeypatch.setattr(proxy, "ENDING_S", 0.2)
    with pytest.raises((AssertionError, TimeoutError, OSError, EOFError, ValueError, KeyError)):
        asyncio.run(asyncio.wait_for(CHECKS[check](), TIME_S))
    gc.collect()


ENOUGH_S = 20


@pytest.mark.parametrize("name", CHECKS)
def test_the_proxy_keeps_its_promises(name: str) -> None:
    """Each check holds."""
    asyncio.run(asyncio.wait_for(CHECKS[name](), ENOUGH_S))


def test_tls_is_spoken_on_both_sides(tmp_path: Path) -> None:
    """Brokers and the application have TLS of their own; each trusts the authority of its side."""
    any_port = Address(HOST, 0)
    of_brokers, of_proxy = (tls_for_application(tmp_path / name, any_port) for name in ("a", "b"))
    to_brokers, to_proxy = (ssl.create_default_context(cafile=tmp_path / name) for name in ("a", "b"))

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_frame(reader)
        writer.write(table(3))
        await next_frame(reader)
        writer.write(metadata(HOST, 1, number=2))
        await reader.read()
        writer.close()

    async def talk() -> None:
        async with await asyncio.start_server(broker, HOST, 0, ssl=of_brokers) as server:
            address = Address(HOST, int(server.sockets[0].getsockname()[1]))
            proxy = WatchProxy(Watcher(lambda: 0), TlsSides(upstream=to_brokers, listen=of_proxy))
            ours = await proxy.listen(any_port, [address])
            reader, writer = await asyncio.open_connection(HOST, ours.port, ssl=to_proxy)
            writer.write(asking(3))
            assert await next_frame(reader) == table(3)
            writer.write(request(METADATA_KEY, 1, b"\xff\xff\xff\xff", number=2))
            assert await next_frame(reader) != metadata(HOST, 1, number=2)
            writer.close()
            await proxy.end()
            assert proxy.watcher.requests == 2

    asyncio.run(asyncio.wait_for(talk(), ENOUGH_S))


def test_a_listener_on_all_interfaces_is_certified_for_this_machine(tmp_path: Path) -> None:
    """An application on another machine checks the name or the address by which it reaches the proxy."""
    for host, has_name in ((HOST, False), ("0.0.0.0", True)):
        context = tls_for_application(tmp_path / "ca", Address(host, 0))
        client = ssl.create_default_context(cafile=tmp_path / "ca")
        assert _is_trusted(client, context, socket.gethostname()) is has_name
        assert _is_trusted(client, context, "localhost")


def _is_trusted(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> bool:
    """Return whether a client that connects to a name trusts the server, in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(3):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


def test_a_name_with_several_addresses_has_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """With port 0 each address of localhost would get another free port, of which the application learns one."""

    async def listen() -> None:
        proxy = WatchProxy(Watcher(lambda: 0), TlsSides())
        loop = asyncio.get_running_loop()

        async def both(*args: object, **options: object) -> list[tuple[object, ...]]:
            port = args[1]
            return [(socket.AF_INET, 1, 6, "", (each, port)) for each in (HOST, "127.0.0.2")]

        monkeypatch.setattr(loop, "getaddrinfo", both)
        address = await proxy.listen(Address("localhost", 0), [Address(HOST, 1)])
        (broker,) = proxy._brokers
        ports = [each.getsockname()[1] for each in broker.server.sockets]
        await proxy.end()
        assert ports == [address.port, address.port]

    asyncio.run(asyncio.wait_for(listen(), ENOUGH_S))


async def asked(*, kept: int | None = None) -> int:
    """Ask a broker that writes its response byte by byte, and closes after `kept` of them."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await next_frame(reader) == probe_request(0).data
        for each in table(0, number=PLAIN_CORRELATION_ID)[:kept]:
            writer.write(bytes([each]))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        return await newest_api_versions(Address(*server.sockets[0].getsockname()), TlsSides())


def test_response_may_come_in_pieces() -> None:
    """A plain request is sent, and its complete response is read."""
    assert asyncio.run(asked()) == 4


@pytest.mark.parametrize("kept", [0, 2, 9])
def test_response_that_is_cut_off_is_none(kept: int) -> None:
    """The reason says where it ends."""
    reason = f"does not answer ApiVersions: it closes the connection after {kept} bytes"
    with pytest.raises(ConnectionAbortedError, match=reason):
        asyncio.run(asked(kept=kept))


ODD = {
    "long": Address("a" * 30_000, 1),
    "long label": Address("a" * 100, 1),
    "dots": Address("a..b", 1),
    "null": Address("a\0b", 1),
    "no Unicode": Address("\ud800", 1),
    "large port": Address(HOST, 70_000),
    "negative port": Address(HOST, -1),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_address_cannot_be_reached(name: str) -> None:
    with pytest.raises(OSError, match=r"."):
        asyncio.run(connect(ODD[name], TlsSides()))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_address_to_listen_on_is_refused(name: str) -> None:
    proxy = WatchProxy(Watcher(lambda: 0), TlsSides())
    with pytest.raises(CannotListen, match=r"^cannot listen on .*: ."):
        asyncio.run(proxy.listen(ODD[name], []))


@pytest.mark.parametrize("name", ["long", "large port"])
def test_a_broker_with_an_odd_address_is_an_obstacle(name: str) -> None:
    """The client gets an address of ours; there its connection is reset, and the report says why."""
    errors: list[dict[str, Any]] = []

    async def act() -> list[str]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with relayed(answering(metadata(*ODD[name]))) as relay:
            reader, _ = await relay.connect(await relay.named_broker())
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            return list(relay.proxy.obstacles)

    (obstacle,) = asyncio.run(asyncio.wait_for(act(), ENOUGH_S))
    assert obstacle.startswith(str(ODD[name])[:100])
    assert len(obstacle) <= MAX_OBSTACLE
    assert not errors


def test_others_are_served_while_metadata_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding ends here only when the event loop has done something else; until then the response is open."""
    was_served = threading.Event()
    large = response(bytes(QUICK_BYTES), number=1)

    def decode(payload: bytes, *_: object) -> tuple[HostAndPort, ...]:
        assert was_served.wait(ENOUGH_S)
        return ()

    async def act() -> None:
        async with relayed(answering(large)) as relay:
            reader, writer = await relay.connect()
            writer.write(request(METADATA_KEY, 1))
            while not any(each.is_changing for each in relay.proxy._open.values()):
                await asyncio.sleep(0.01)
            (opened,) = relay.proxy._open.values()
            assert not opened.is_idle(may_wait_for_writes=False)
            was_served.set()
            assert await next_frame(reader) == large
            assert opened.is_idle(may_wait_for_writes=False)

    monkeypatch.setattr(proxy_module, "addresses_in", decode)
    asyncio.run(asyncio.wait_for(act(), ENOUGH_S))


def test_what_is_not_read_makes_the_outcome_uncertain() -> None:
    """The client may find the brokers themselves in it, and what it sends there is not seen."""
    large = response(bytes(MAX_READ_BYTES), number=2)

    async def act() -> tuple[str, ...]:
        async with relayed(answering(large)) as relay:
            assert await relay.ask(request(METADATA_KEY, 1, number=2)) == [large]
            observed = relay.proxy.watcher.observed
            (client,) = observed.clients
            assert observed.of(client).missed_requests
            return report_of(observed, {}, ()).all_remarks

    assert asyncio.run(asyncio.wait_for(act(), ENOUGH_S))[-1] == (
        f"a Metadata v1 response of {MAX_READ_BYTES + 4} bytes is not read, "
        "so the client may connect to brokers directly"
    )


def test_brokers_without_end_get_no_listen_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response of 4 MiB can name 300,000."""

    def decode(*_: object) -> tuple[HostAndPort, ...]:
        return tuple((HOST, port) for port in range(1, 9))

    async def act() -> tuple[str, ...]:
        async with relayed(serve_tables) as relay:
            await relay.ask(asking(3), request(METADATA_KEY, 1, number=2))
            return tuple(relay.proxy.obstacles)

    monkeypatch.setattr(proxy_module, "addresses_in", decode)
    monkeypatch.setattr(proxy_module, "MAX_BROKERS", 3)
    obstacles = asyncio.run(asyncio.wait_for(act(), ENOUGH_S))
    # The broker at the other end has the first of three; no more than four of the eight are looked at.
    assert obstacles == tuple(f"no listen address is left for the broker {HOST}:{port}" for port in (3, 4))
