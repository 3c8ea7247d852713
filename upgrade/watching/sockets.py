"""Opens, writes to and closes the connections of the watching proxy.

Writes have backpressure, and a connection ends in the way in which the other side ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence

from fixtures.client.addresses import Address
from fixtures.client.transport import reset_on_close
from upgrade.watching.tls_sides import TlsSides
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode
from wire.errors import DecodeError
from wire.exchange import probe_request
from wire.frames import FrameReader
from wire.headers import CORRELATION_ID_BYTES

BUFFER_BYTES = 1 << 16
"""How much is buffered of one direction before the other side has to wait; reading may add one chunk."""
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CONNECT_S = 10.0
ASK_S = 10.0
CLOSE_S = 5.0
"""How long what was written may take to arrive before a connection is cut."""
NO_FILES = (errno.EMFILE, errno.ENFILE)
"""Errors of a process, or of a machine, that has opened as many files and connections as it may."""


async def connect(address: Address, tls_sides: TlsSides) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a broker.

    Raises:
        OSError: it cannot be reached, or TLS fails, or a response named something that is no host or no port.
    """
    name = address.host if tls_sides.upstream is not None else None
    with _only_os_errors():
        async with asyncio.timeout(CONNECT_S):
            return await asyncio.open_connection(
                address.host,
                address.port,
                limit=BUFFER_BYTES,
                ssl=tls_sides.upstream,
                server_hostname=name,
            )


@contextlib.contextmanager
def _only_os_errors() -> Iterator[None]:
    """Raise errors about an invalid host or port as `OSError`.

    Callers then handle them like any other reason why an address cannot be used.
    """
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise OSError(str(error)) from error


async def listen(serve: Serve, address: Address, tls_sides: TlsSides) -> tuple[asyncio.Server, int]:
    """Listen on all addresses of a host, with the same port on each; return that port, which is chosen if 0 is given.

    Raises:
        OSError: the address cannot be used.
    """
    server = await _server(serve, address, tls_sides)
    ports = {int(each.getsockname()[1]) for each in server.sockets}
    if len(ports) > 1:
        # Each of several addresses got a free port of its own.
        server.close()
        server = await _server(serve, Address(address.host, min(ports)), tls_sides)
    return server, min(ports)


async def _server(serve: Serve, address: Address, tls_sides: TlsSides) -> asyncio.Server:
    with _only_os_errors():
        # With asyncio's queue of 100 connections, an application that opens more at once waits seconds for some.
        return await asyncio.start_server(
            serve, *address, limit=BUFFER_BYTES, ssl=tls_sides.listen, backlog=socket.SOMAXCONN
        )


async def newest_api_versions(address: Address, tls_sides: TlsSides) -> int:
    """Ask a broker, on a connection of its own, which version of ApiVersions is the newest that it lists.

    Raises:
        OSError: it cannot be reached, or does not answer; the message says which.
    """
    reader, writer = await connect(address, tls_sides)
    try:
        async with asyncio.timeout(ASK_S):
            return await _ask(reader, writer)
    except (EOFError, DecodeError) as error:
        raise ConnectionAbortedError(f"it does not answer ApiVersions: {error}") from error
    finally:
        writer.close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(probe_request(0).data)
    received = FrameReader()
    while (payload := received.next_payload()) is None:
        data = await reader.read(BUFFER_BYTES)
        if not data:
            raise EOFError(f"it closes the connection after {len(received.unread)} bytes")
        received.receive_data(data)
    table = decode(ApiVersionsResponse, payload[CORRELATION_ID_BYTES:], version=0)
    entry = table.range_of(API_VERSIONS_KEY)
    return 0 if entry is None else int(entry.max_version)


def reason_of(error: OSError) -> str:
    """Return why there is no connection, in words."""
    if error.errno in NO_FILES:
        return "this program may not open more files: raise the limit of open files, which `ulimit -n` shows"
    return str(error) or f"no connection within {CONNECT_S:.0f} s"


async def write(writer: asyncio.StreamWriter, parts: Sequence[bytes | memoryview]) -> None:
    """Write, and wait while the other side does not read."""
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    if data:
        writer.write(data)
        await writer.drain()


async def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection after its buffered bytes are sent, unless the other side does not read them."""
    writer.close()
    try:
        async with asyncio.timeout(CLOSE_S):
            await writer.wait_closed()
    except (OSError, asyncio.CancelledError):
        # It is over in any way; also if the proxy ends and has waited long enough.
        writer.transport.abort()


def end(writer: asyncio.StreamWriter) -> None:
    """End one direction. TLS cannot do that here: there the connection ends."""
    with contextlib.suppress(OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as it ended on the other side: with a reset."""
    own = writer.get_extra_info("socket")
    if own is not None:
        with contextlib.suppress(OSError):
            reset_on_close(own)
    writer.transport.abort()
