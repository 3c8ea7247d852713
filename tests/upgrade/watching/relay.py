"""A broker, an application and the proxy of `watch` between them, for tests.

All three run in one process. The module also makes the messages that they exchange.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from fixtures.client.addresses import Address
from upgrade.prediction.releases import Release
from upgrade.watching.proxy import WatchProxy
from upgrade.watching.tls_sides import TlsSides
from upgrade.watching.watcher import Watcher
from wire.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from wire.broker_addresses import addresses_in
from wire.codec import encode
from wire.described_messages import METADATA
from wire.error_codes import ErrorCode
from wire.frames import SIZE_BYTES, encode_frame, read_size
from wire.header_versions import request_header_version
from wire.plain_header import plain_header

HOST = "127.0.0.1"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PRODUCE, FETCH, METADATA_KEY, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 0, 1, 3, 17, 18, 36
TABLE = (
    ApiVersion(api_key=PRODUCE, min_version=0, max_version=11),
    ApiVersion(api_key=METADATA_KEY, min_version=0, max_version=12),
    ApiVersion(api_key=API_VERSIONS, min_version=0, max_version=4),
    ApiVersion(api_key=80, min_version=0, max_version=1),
)


@dataclass
class Relay:
    """What a check works with."""

    proxy: WatchProxy
    address: Address
    writers: list[asyncio.StreamWriter]

    async def connect(self, address: Address | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect as the application does, to the listen address or to another one."""
        host, port = address or self.address
        reader, writer = await asyncio.open_connection(host, port)
        self.writers.append(writer)
        return reader, writer

    async def ask(self, *frames: bytes, address: Address | None = None) -> list[bytes]:
        """Send requests on a connection of their own, one after the other; return their responses."""
        reader, writer = await self.connect(address)
        responses = []
        for frame in frames:
            writer.write(frame)
            responses.append(await next_frame(reader))
        return responses

    async def named_broker(self) -> Address:
        """Ask for metadata; return the address of the broker that it names."""
        (found,) = await self.ask(request(METADATA_KEY, 1, b"\xff\xff\xff\xff"))
        named = addresses_in(found[SIZE_BYTES:], METADATA_KEY, 1)
        assert named is not None
        return Address(*named[0])


@asynccontextmanager
async def relayed(handler: Handler, rehearsed: Release | None = None) -> AsyncIterator[Relay]:
    """Run a broker and the proxy in front of it."""
    writers: list[asyncio.StreamWriter] = []
    server = await start_broker(handler, writers)
    broker = Address(HOST, int(server.sockets[0].getsockname()[1]))
    proxy = WatchProxy(Watcher(lambda: 0), TlsSides(), rehearsed)
    try:
        yield Relay(proxy, await proxy.listen(Address(HOST, 0), [broker]), writers)
    finally:
        server.close()
        await proxy.end()
        for each in writers:
            each.transport.abort()
        # Lets the transports end.
        await asyncio.sleep(0)


async def start_broker(handler: Handler, writers: list[asyncio.StreamWriter]) -> asyncio.Server:
    """Start a broker; its connections are kept in a list, to be closed by the caller."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(OSError, EOFError):
            await handler(reader, writer)

    return await asyncio.start_server(serve, HOST, 0)


def request(
    api_key: int,
    api_version: int,
    body: bytes = b"",
    *,
    number: int = 1,
    client_id: str | None = "app",
) -> bytes:
    """Return the frame of a request with a header that is not flexible."""
    header = plain_header(api_key, api_version, number, client_id=client_id)
    return encode_frame(encode(header, version=1) + body)


def asking(api_version: int, *, number: int = 1, name: str = "librdkafka", client_id: str = "app") -> bytes:
    """Return the frame of an ApiVersions request."""
    header = plain_header(API_VERSIONS, api_version, number, client_id=client_id)
    body = ApiVersionsRequest(client_software_name=name, client_software_version="1.2")
    header_version = request_header_version(API_VERSIONS, api_version)
    return encode_frame(encode(header, version=header_version) + encode(body, version=api_version))


def response(body: bytes, *, number: int = 1) -> bytes:
    """Return the frame of a response."""
    return encode_frame(struct.pack(">i", number) + body)


def table(api_version: int, *, number: int = 1) -> bytes:
    """Return the frame of an ApiVersions response."""
    body = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=TABLE)
    return response(encode(body, version=api_version), number=number)


def metadata(host: str, port: int, *, number: int = 1) -> bytes:
    """Return the frame of a Metadata response v1 that names one broker."""
    (brokers,) = (each.element for each in METADATA.response.FIELDS if each.name == "brokers")
    assert brokers is not None
    message = METADATA.response(brokers=(brokers(node_id=7, host=host, port=port),))
    return response(encode(message, version=1), number=number)


async def next_frame(reader: asyncio.StreamReader) -> bytes:
    """Read a frame, size included."""
    size = await reader.readexactly(SIZE_BYTES)
    return size + await reader.readexactly(read_size(size))


def answering(answer: bytes) -> Handler:
    """Return how a broker answers that answers one request on each connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_frame(reader)
        writer.write(answer)

    return serve


async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read until the client ends."""
    await reader.read()
    writer.close()


async def serve_tables(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer ApiVersions as a broker does that serves v0 to v4, and anything else with an empty body, until the
    client ends."""
    try:
        while True:
            frame = await next_frame(reader)
            api_key, version, number = struct.unpack_from(">hhi", frame, SIZE_BYTES)
            is_about_versions = api_key == API_VERSIONS
            writer.write(table(version, number=number) if is_about_versions else response(b"", number=number))
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()
