"""What the proxy asks a broker on a connection of its own."""

from __future__ import annotations

import asyncio

import pytest

from conformance.watch.carrying import Ways, newest_api_versions
from fixtures.client.running_broker import Address
from tests.conformance.watch.relay import HOST, next_frame, table
from wire.exchange import probe_request
from wire.headers import PLAIN_CORRELATION_ID


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
        return await newest_api_versions(Address(*server.sockets[0].getsockname()), Ways())


def test_response_may_come_in_pieces() -> None:
    """A plain request is sent, and its complete response is read."""
    assert asyncio.run(asked()) == 4


@pytest.mark.parametrize("kept", [0, 2, 9])
def test_response_that_is_cut_off_is_none(kept: int) -> None:
    """The reason says where it ends."""
    reason = f"does not answer ApiVersions: it closes the connection after {kept} bytes"
    with pytest.raises(ConnectionAbortedError, match=reason):
        asyncio.run(asked(kept=kept))
