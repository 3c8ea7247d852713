"""What a broker says keeps `watch` neither from its work nor from saying so."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from conformance.watch import proxy as proxy_module
from conformance.watch.carrying import Ways, connect
from conformance.watch.proxy import LONGEST_OBSTACLE, MOST_BROKERS, CannotListen, WatchProxy
from conformance.watch.report import report_of
from conformance.watch.watcher import Watcher
from fixtures.client.running_broker import Address
from fixtures.recording_proxy.frames import LARGEST_READ_BYTES, QUICK_BYTES
from tests.conformance.watch.relay import (
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
)
from wire.broker_addresses import HostAndPort

ENOUGH_S = 20
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
    """It is an obstacle like any other, not an error of the proxy."""
    with pytest.raises(OSError, match=r"."):
        asyncio.run(connect(ODD[name], Ways()))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_address_to_listen_on_is_refused(name: str) -> None:
    """It comes from the command line; the sentence names it."""
    proxy = WatchProxy(Watcher(lambda: 0), Ways())
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
    assert len(obstacle) <= LONGEST_OBSTACLE
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
    large = response(bytes(LARGEST_READ_BYTES), number=2)

    async def act() -> tuple[str, ...]:
        async with relayed(answering(large)) as relay:
            assert await relay.ask(request(METADATA_KEY, 1, number=2)) == [large]
            sightings = relay.proxy.watcher.sightings
            (client,) = sightings.clients
            assert sightings.of(client).missed_requests
            return report_of(sightings, {}, ()).all_remarks

    assert asyncio.run(asyncio.wait_for(act(), ENOUGH_S))[-1] == (
        f"a Metadata v1 response of {LARGEST_READ_BYTES + 4} bytes is not read, "
        "so the client may connect to brokers directly"
    )


def test_brokers_without_end_get_no_listen_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response of 4 MiB can name 300,000."""
    asked: list[HostAndPort] = []

    async def port_of(_: object, address: HostAndPort) -> int:
        asked.append(address)
        return 1

    def decode(*_: object) -> tuple[HostAndPort, ...]:
        return tuple((HOST, port) for port in range(2 * MOST_BROKERS))

    async def act() -> None:
        async with relayed(serve_tables) as relay:
            await relay.ask(asking(3), request(METADATA_KEY, 1, number=2))

    monkeypatch.setattr(proxy_module, "addresses_in", decode)
    monkeypatch.setattr(proxy_module.WatchProxy, "_port_of", port_of)
    asyncio.run(asyncio.wait_for(act(), ENOUGH_S))
    assert len(asked) == MOST_BROKERS + 1
