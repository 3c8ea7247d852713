"""The proxy of `watch` keeps its promises, and planted faults of it are found."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from conformance.watch.proxy import WatchProxy, Ways
from conformance.watch.tls import tls_for_application
from conformance.watch.watcher import Watcher
from fixtures.client.running_broker import Address
from tests.conformance.watch.relay import (
    HOST,
    METADATA_KEY,
    asking,
    metadata,
    next_frame,
    request,
    table,
)
from tests.conformance.watch.relay_checks import CHECKS

ENOUGH_S = 20


@pytest.mark.parametrize("name", CHECKS)
def test_the_proxy_keeps_its_promises(name: str) -> None:
    """Each check holds."""
    asyncio.run(asyncio.wait_for(CHECKS[name](), ENOUGH_S))


def test_tls_is_spoken_on_both_sides(tmp_path: Path) -> None:
    """Brokers and the application have TLS of their own; each trusts the authority of its side."""
    place = Address(HOST, 0)
    of_brokers, of_proxy = (tls_for_application(tmp_path / name, place) for name in ("a", "b"))
    to_brokers, to_proxy = (
        ssl.create_default_context(cafile=tmp_path / name) for name in ("a", "b")
    )

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
            proxy = WatchProxy(Watcher(lambda: 0), Ways(upstream=to_brokers, listen=of_proxy))
            ours = await proxy.listen(place, [address])
            reader, writer = await asyncio.open_connection(HOST, ours.port, ssl=to_proxy)
            writer.write(asking(3))
            assert await next_frame(reader) == table(3)
            writer.write(request(METADATA_KEY, 1, b"\xff\xff\xff\xff", number=2))
            assert await next_frame(reader) != metadata(HOST, 1, number=2)
            writer.close()
            await proxy.end()
            assert proxy.watcher.requests == 2

    asyncio.run(asyncio.wait_for(talk(), ENOUGH_S))
