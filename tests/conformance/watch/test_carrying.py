"""What the proxy asks a broker on a connection of its own."""

from __future__ import annotations

import asyncio

import pytest

from conformance.watch.carrying import Ways, newest_api_versions
from fixtures.client.running_broker import Address
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.exchange import probe_request
from wire.frames import SIZE_BYTES, encode_frame, read_size
from wire.headers import correlation_id_bytes

TABLE = (ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=4),)


def response_to(request: bytes) -> bytes:
    """Return the response to a request of ApiVersions v0."""
    body = encode(ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=TABLE), version=0)
    return encode_frame(correlation_id_bytes(request[SIZE_BYTES:]) + body)


async def asked(*, kept: int | None = None) -> int:
    """Ask a broker that writes its response byte by byte, and closes after `kept` of them."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = await reader.readexactly(SIZE_BYTES)
        request = size + await reader.readexactly(read_size(size))
        assert request == probe_request(0).data
        for each in response_to(request)[:kept]:
            writer.write(bytes([each]))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
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
