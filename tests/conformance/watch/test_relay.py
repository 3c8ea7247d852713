"""The proxy of `watch` keeps its promises, and planted faults of it are found."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from conformance.watch.carrying import Ways, tls_for_application
from conformance.watch.proxy import WatchProxy
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
    any_port = Address(HOST, 0)
    of_brokers, of_proxy = (tls_for_application(tmp_path / name, any_port) for name in ("a", "b"))
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
        proxy = WatchProxy(Watcher(lambda: 0), Ways())
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
