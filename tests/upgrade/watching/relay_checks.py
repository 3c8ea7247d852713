"""Checks of the proxy of `watch`.

Each check is a function that fails if its statement is false.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping

from fixtures.client.transport import reset_on_close
from tests.upgrade.watching.rehearsal_checks import REHEARSAL_CHECKS
from tests.upgrade.watching.relay import (
    API_VERSIONS,
    FETCH,
    HOST,
    METADATA_KEY,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    answering,
    asking,
    keep_silent,
    metadata,
    next_frame,
    relayed,
    request,
    response,
    serve_tables,
    start_broker,
    table,
)
from upgrade.watching import pending_requests
from upgrade.watching import proxy as proxy_module

MAX_BUFFERED = 1 << 20
SECRET = b"correct horse battery staple"


async def bytes_arrive_as_they_are() -> None:
    """Requests and responses arrive byte for byte, however they are cut."""
    sent = asking(3) + request(PRODUCE, 9, bytes(range(256)) * 300, number=2) + request(60, 0, number=3)
    answers = table(3) + response(b"\xff" * 70_000, number=2) + response(b"", number=3)
    arrived = asyncio.get_running_loop().create_future()

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set_result(await reader.readexactly(len(sent)))
        for at in range(0, len(answers), 13_001):
            writer.write(answers[at : at + 13_001])
            await writer.drain()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        for piece in (sent[:1], sent[1:9], sent[9:20], sent[20:40_000], sent[40_000:]):
            writer.write(piece)
            await writer.drain()
        assert await arrived == sent
        assert await reader.readexactly(len(answers)) == answers


async def a_half_close_arrives() -> None:
    """A client that ends its direction still gets its response; so does a broker that ends its own."""

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.write(b"\0\0\0\4late")
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(request(METADATA_KEY, 1))
        writer.write_eof()
        assert await reader.read() == b"\0\0\0\4late"


async def the_end_of_a_broker_arrives() -> None:
    """When the broker ends its direction, the client sees the end, and can still send."""
    rest = asyncio.get_running_loop().create_future()

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write_eof()
        rest.set_result(await reader.read())
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        assert await reader.read() == b""
        writer.write(request(METADATA_KEY, 1))
        writer.write_eof()
        assert await rest == request(METADATA_KEY, 1)


async def a_reset_of_the_broker_arrives() -> None:
    """A broker that resets its connection resets that of the client."""

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        _reset(writer)

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(request(METADATA_KEY, 1))
        try:
            await reader.read()
        except ConnectionResetError:
            return
        raise AssertionError("the client saw an end, and no reset")


async def a_reset_of_the_client_arrives() -> None:
    """A client that resets its connection resets that to the broker."""
    seen = asyncio.get_running_loop().create_future()

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(await reader.readexactly(4))
            seen.set_result((await reader.read()) and None)
        except ConnectionResetError as error:
            seen.set_result(error)

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(request(METADATA_KEY, 1)[:4])
        await reader.readexactly(4)
        _reset(writer)
        assert isinstance(await seen, ConnectionResetError)


async def a_pause_arrives() -> None:
    """A piece of a request arrives before the rest of it is sent, and so does a piece of a response."""
    sent = request(PRODUCE, 9, b"x" * 100)

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(3))
        writer.write(await reader.readexactly(len(sent) - 3))
        await reader.read()
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(sent[:3])
        assert await reader.readexactly(3) == sent[:3]
        writer.write(sent[3:])
        assert await reader.readexactly(len(sent) - 3) == sent[3:]
        writer.close()


async def what_is_not_kafka_passes() -> None:
    """Bytes of another protocol pass in both directions, and are noted."""

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(18))
        await reader.read()
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.readexactly(18) == b"GET / HTTP/1.1\r\n\r\n"
        (client,) = relay.proxy.watcher.observed.clients
        assert "is no size of a request" in min(relay.proxy.watcher.observed.of(client).notes)
        writer.close()


async def a_slow_broker_stops_the_client() -> None:
    """A client cannot send more than what is buffered, if the broker does not read."""
    stop = asyncio.Event()

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await stop.wait()
        writer.close()

    async with relayed(broker) as relay:
        _, writer = await relay.connect()
        writer.write(request(PRODUCE, 9, bytes(64 << 20)))
        sending = asyncio.create_task(writer.drain())
        try:
            async with asyncio.timeout(0.7):
                while not sending.done():
                    await asyncio.sleep(0.01)
                    assert all(_buffered(each) < MAX_BUFFERED for each in relay.proxy._open.values())
        except TimeoutError:
            return
        finally:
            sending.cancel()
            stop.set()
            writer.transport.abort()
        raise AssertionError("64 MiB were taken although the broker reads nothing")


def _buffered(opened: proxy_module._RelayedConnection) -> int:
    return 0 if opened.broker is None else opened.broker.transport.get_write_buffer_size()


async def no_payload_is_kept() -> None:
    """Records and tokens are in no object that the proxy keeps."""

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in (1, 2):
            await next_frame(reader)
            writer.write(response(b"\0\0" + SECRET, number=number))
        await next_frame(reader)
        writer.write(b"\0\0\0\0")
        for number in (4, 5, 6):
            await next_frame(reader)
            writer.write(response(SECRET, number=number))

    async with relayed(broker) as relay:
        await relay.ask(
            request(SASL_HANDSHAKE, 1, b"\0\5PLAIN", number=1),
            request(SASL_HANDSHAKE, 0, b"\0\5PLAIN", number=2),
            len(b"\0me\0" + SECRET).to_bytes(4) + b"\0me\0" + SECRET,
            request(SASL_AUTHENTICATE, 1, SECRET, number=4),
            request(PRODUCE, 9, SECRET * 100, number=5),
            request(FETCH, 12, SECRET, number=6),
        )
        kept = _reachable([relay.proxy.watcher, *relay.proxy._open.values()])
        assert not any(SECRET in each for each in kept)
        observed = relay.proxy.watcher.observed
        seen = {key for each in observed.clients for key, _ in observed.requests(each)}
        assert seen == {SASL_HANDSHAKE, SASL_AUTHENTICATE, PRODUCE, FETCH}


async def brokers_get_addresses_of_ours() -> None:
    """A broker that a response names is reached through the proxy, and what it answers comes from it."""
    writers: list[asyncio.StreamWriter] = []
    second = await start_broker(serve_tables, writers)
    port = int(second.sockets[0].getsockname()[1])

    async with second, relayed(answering(metadata(HOST, port))) as relay:
        ours = await relay.named_broker()
        assert ours.port != port
        assert await relay.ask(asking(3), address=ours) == [table(3)]
        assert list(relay.proxy.watcher.tables) == [1]
        relay.writers += writers


async def clients_are_counted() -> None:
    """Requests are counted with the software that the client names, also those on its other connections."""
    async with relayed(serve_tables) as relay:
        await relay.ask(asking(3), request(PRODUCE, 7, number=2))
        await relay.ask(request(80, 0, number=3))
        observed = relay.proxy.watcher.observed
        (client,) = observed.clients
        assert (client.client_id, client.software_name, client.software_version) == (
            "app",
            "librdkafka",
            "1.2",
        )
        assert observed.requests(client) == {(PRODUCE, 7): 1, (API_VERSIONS, 3): 1, (80, 0): 1}
        assert len(observed.of(client).connections) == 2
        assert relay.proxy.watcher.watched[PRODUCE] == (0, 11)


async def forbidden_requests_are_found() -> None:
    """A request that the broker's table does not list is found, with its clause and its bytes."""
    async with relayed(serve_tables) as relay:
        await relay.ask(asking(3), request(80, 9, b"payload", number=2))
        (found,) = relay.proxy.watcher.violations()["app", HOST]
        assert found.clause == "KIP-35.client-uses-overlap"
        assert found.data.endswith(b"app")


async def open_requests_are_answered_at_the_end() -> None:
    """When the proxy is to end, a request that is open still gets its response."""
    go = asyncio.Event()

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_frame(reader)
        await go.wait()
        writer.write(response(b"done"))
        await reader.read()
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(request(PRODUCE, 9))
        await _eventually(lambda: relay.proxy.watcher.requests == 1)
        ending = asyncio.create_task(relay.proxy.end())
        await asyncio.sleep(0)
        go.set()
        assert await reader.read() == response(b"done")
        await ending


async def a_busy_connection_is_not_cut() -> None:
    """When the proxy is to end, no further request is passed on, one that is incomplete is, and all get their
    responses."""
    go = asyncio.Event()
    first, second, third = (request(PRODUCE, 9, b"x" * 50, number=each) for each in (1, 2, 3))
    arrived: list[bytes] = []

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in (1, 2):
            arrived.append(await next_frame(reader))
            writer.write(response(b"", number=number))
        arrived.append(await reader.read())
        go.set()
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writer.write(first + second[:20])
        assert await next_frame(reader) == response(b"", number=1)
        ending = asyncio.create_task(relay.proxy.end())
        await asyncio.sleep(0)
        writer.write(second[20:] + third)
        assert await reader.read() == response(b"", number=2)
        await ending
        await go.wait()
        assert arrived == [first, second, b""]


async def the_end_may_be_at_once() -> None:
    """A second signal does not wait for open requests, of which one may wait for minutes, such as JoinGroup."""
    async with relayed(keep_silent) as relay:
        _, writer = await relay.connect()
        writer.write(request(11, 5))
        await _eventually(lambda: relay.proxy.watcher.requests == 1)
        at_once = asyncio.Event()
        at_once.set()
        await asyncio.wait_for(relay.proxy.end(at_once), proxy_module.ENDING_S / 10)


async def writes_without_responses_do_not_delay_the_end() -> None:
    """A connection on which no write was ever answered sends them with acks=0, and is not waited for as long as
    others."""
    before = proxy_module.WRITES_ENDING_S
    async with relayed(keep_silent) as relay:
        _, writer = await relay.connect()
        writer.write(request(PRODUCE, 9))
        await _eventually(lambda: relay.proxy.watcher.requests == 1)
        try:
            proxy_module.WRITES_ENDING_S = 0.0
            await asyncio.wait_for(relay.proxy.end(), proxy_module.ENDING_S / 10)
        finally:
            proxy_module.WRITES_ENDING_S = before


async def unanswered_requests_are_bounded() -> None:
    """Writes with acks=0 get no response, and are forgotten in the end; a request before them is answered as itself."""
    count = pending_requests.MAX_PENDING + 50
    arrived = asyncio.get_running_loop().create_future()
    asked = request(METADATA_KEY, 1, b"\xff\xff\xff\xff", number=-1)

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(1 + count):
            await next_frame(reader)
        (opened,) = relay.proxy._open.values()
        arrived.set_result(len(opened.pending))
        writer.write(metadata(HOST, 1, number=-1))
        await reader.read()
        writer.close()

    async with relayed(broker) as relay:
        reader, writer = await relay.connect()
        writes = (request(PRODUCE, 9, number=each) for each in range(count))
        writer.write(b"".join((asked, *writes)))
        assert await arrived <= pending_requests.MAX_PENDING
        assert await next_frame(reader) != metadata(HOST, 1, number=-1)
        writer.close()


CHECKS: Mapping[str, Callable[[], Awaitable[None]]] = {
    check.__name__: check
    for check in (
        bytes_arrive_as_they_are,
        a_half_close_arrives,
        the_end_of_a_broker_arrives,
        a_reset_of_the_broker_arrives,
        a_reset_of_the_client_arrives,
        a_pause_arrives,
        what_is_not_kafka_passes,
        a_slow_broker_stops_the_client,
        no_payload_is_kept,
        brokers_get_addresses_of_ours,
        clients_are_counted,
        forbidden_requests_are_found,
        open_requests_are_answered_at_the_end,
        a_busy_connection_is_not_cut,
        the_end_may_be_at_once,
        writes_without_responses_do_not_delay_the_end,
        unanswered_requests_are_bounded,
        *REHEARSAL_CHECKS,
    )
}


def _reset(writer: asyncio.StreamWriter) -> None:
    reset_on_close(writer.get_extra_info("socket"))
    writer.transport.abort()


async def _eventually(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


def _reachable(root: object) -> list[bytes]:
    """Return all bytes that can be reached from an object, without those of modules and functions."""
    found: list[bytes] = []
    seen: set[int] = set()
    waiting: list[object] = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, bytes | bytearray):
            found.append(bytes(each))
        elif not isinstance(each, type | asyncio.StreamWriter) and not callable(each):
            waiting += gc.get_referents(each)
    return found
