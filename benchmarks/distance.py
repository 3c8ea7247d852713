"""Simulation of a distant target: a TCP proxy and a pytest plugin that add delay.

The proxy delays both directions. The plugin delays the opening of connections.

`python -m benchmarks.distance HOST:PORT --each-way-ms 100` prints the port on which it listens on loopback. Bytes, the
end of a stream and a reset all arrive one way's time after they came. A proxy cannot delay the opening of a connection,
because the kernel accepts it; `-p benchmarks.distance` does that in the process that connects, by the round trip in
milliseconds that `FAR_CONNECT_MS` has.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import click

from fixtures.client.addresses import Address, parse_address
from reports.command_line.suite_command import SuiteCommand

ROUND_TRIP_MS = "FAR_CONNECT_MS"
"""The variable with the round trip."""
_near = socket.socket.connect


READ_BYTES = 65536


def _connect(self: socket.socket, address: Any) -> None:
    time.sleep(float(os.environ[ROUND_TRIP_MS]) / 1000)
    _near(self, address)


def pytest_configure() -> None:
    """Delay every connection of this process from now on."""
    socket.socket.connect = _connect  # type: ignore[method-assign,assignment]


Arrival = Callable[[], None]
"""What happens at the other end once something arrives there."""


async def _read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, each_way_s: float) -> None:
    """Pass on what one end sends, each part `each_way_s` later, until its stream has ended there as well."""
    loop = asyncio.get_running_loop()
    arrived = loop.create_future()

    def end(ending: Arrival) -> None:
        with contextlib.suppress(OSError):
            ending()
        arrived.set_result(None)

    def later(what: Callable[..., None], argument: object) -> None:
        # Callbacks of equal delays run in the order in which they were scheduled.
        loop.call_later(each_way_s, what, argument)

    try:
        while data := await reader.read(READ_BYTES):
            later(writer.write, data)
        later(end, writer.write_eof)
    except OSError:
        later(end, writer.transport.abort)
    await arrived


async def _pass_on(near: tuple[asyncio.StreamReader, asyncio.StreamWriter], target: Address, each_way_s: float) -> None:
    """Connect to the target, and pass on both directions of one connection until both have ended."""
    far = await asyncio.open_connection(*target)
    try:
        await asyncio.gather(_read_late(near[0], far[1], each_way_s), _read_late(far[0], near[1], each_way_s))
    finally:
        for _, writer in (near, far):
            writer.close()


async def serve(target: Address, *, each_way_s: float, listens: Callable[[int], None], port: int = 0) -> None:
    """Serve until cancelled.

    Args:
        target: where connections are passed on to.
        each_way_s: how much later everything arrives, in seconds.
        listens: called with the port once connections are accepted.
        port: the port to listen on; 0 for a free one.
    """
    # The loop itself has only weak references to tasks, so it could lose a connection on which both ends wait.
    under_way: set[asyncio.Task[None] | None] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        under_way.add(task)
        # A target that refuses, or a stream that breaks, is seen by the other end as a close.
        with contextlib.suppress(OSError):
            await _pass_on((reader, writer), target, each_way_s)
        writer.close()
        under_way.discard(task)

    server = await asyncio.start_server(accepted, "127.0.0.1", port)
    listens(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


@click.command(cls=SuiteCommand, name="benchmarks.distance")
@click.argument("target", metavar="HOST:PORT")
@click.option("--each-way-ms", default=100.0, show_default=True, help="Delay of each direction.")
@click.option("--port", default=0, help="Port to listen on; a free one by default.")
def main(target: str, each_way_ms: float, port: int) -> None:
    """Make the target at an address far away, until interrupted."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(
            serve(
                parse_address(target),
                each_way_s=each_way_ms / 1000,
                listens=click.echo,
                port=port,
            )
        )


if __name__ == "__main__":
    main()
