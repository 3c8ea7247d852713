"""Benchmark of `watch`: frames through its proxy and through a plain relay.

The plain relay uses asyncio and reads nothing of the frames.

`python -m benchmarks.watch` sends Produce requests of 1 KiB and of 100 KiB, each with a response of the same size,
directly and through both. Each relay is a process of its own, whose processor seconds are compared: seconds of the
clock depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import click
from rich.console import Console
from rich.table import Table

from benchmarks.measures import Goal, end_with, missed_goals, quick_option
from fixtures.client.addresses import Address
from reports.command_line.suite_command import SuiteCommand
from upgrade.watching.proxy import WatchProxy
from upgrade.watching.tls_sides import TlsSides
from upgrade.watching.watcher import Watcher
from wire.frames import SIZE_BYTES, encode_frame, read_size

HOST = "127.0.0.1"
SIZES = {"1 KiB": (1024, 20_000, 2.5), "100 KiB": (100 * 1024, 2_000, 1.25)}
"""Size of a request and of its response, how many are sent (a tenth with --quick), and the goal for the processor time.

A request of 1 KiB is the worst case: producers put many records into one. 1.25 is a throughput of 0.8."""
IN_FLIGHT = 5
"""As many requests as a producer has without a response by default."""
PINGS = 300
LATENCY = Goal(name="added median latency", most=1.0, unit="ms")
_HEADER = struct.Struct(">hhih3s")


async def relay(kind: str, broker: Address) -> None:
    """Pass bytes on until standard input ends; print the port first, and the processor seconds at the end."""
    if kind == "watch":
        proxy = WatchProxy(Watcher(lambda: round(1000 * time.monotonic())), TlsSides())
        port = (await proxy.listen(Address(HOST, 0), [broker])).port
    else:
        server = await asyncio.start_server(_bare(broker), HOST, 0)
        port = int(server.sockets[0].getsockname()[1])
    # What is open at the end is cut.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    before_s = _processor_s()
    click.echo(port)
    await asyncio.to_thread(sys.stdin.read)
    click.echo(_processor_s() - before_s)


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _bare(
    broker: Address,
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(broker.host, broker.port)
        await asyncio.gather(passed(reader, there_writer), passed(there_reader, writer))

    return serve


def _serve(listening: socket.socket) -> None:
    """Answer each request with a response of its size, on one connection after the other."""
    while True:
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as stream:
            while size := stream.read(SIZE_BYTES):
                payload = stream.read(read_size(size))
                connection.sendall(size + payload[4:8] + payload[4:])


def exchange(port: int, size: int, count: int, *, in_flight: int) -> list[float]:
    """Send requests of a size; return the seconds between each one and its response."""
    body = bytes(size)
    sent_at: dict[int, float] = {}
    times = []
    with socket.create_connection((HOST, port)) as connection, connection.makefile("rb") as stream:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(count + in_flight):
            if number < count:
                sent_at[number] = time.perf_counter()
                connection.sendall(encode_frame(_HEADER.pack(0, 7, number, 3, b"app") + body))
            if number >= in_flight - 1 and number - in_flight + 1 < count:
                payload = stream.read(read_size(stream.read(SIZE_BYTES)))
                answered = int.from_bytes(payload[:4])
                times.append(time.perf_counter() - sent_at.pop(answered))
    return times


def measured(kind: str, broker: Address, size: int, count: int) -> tuple[float, float]:
    """Return the processor seconds of a relay for so many requests, and the median latency in milliseconds."""
    command = [sys.executable, "-m", "benchmarks.watch", "--relay", kind, str(broker.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        exchange(port, size, count, in_flight=IN_FLIGHT)
        latency_ms = _median_ms(port, size)
        process.stdin.close()
        return float(process.stdout.readline()), latency_ms


def _median_ms(port: int, size: int) -> float:
    return 1000 * statistics.median(exchange(port, size, PINGS, in_flight=1))


@click.command(cls=SuiteCommand, name="benchmarks.watch")
@quick_option
@click.option("--relay", "relayed", nargs=2, type=(str, int), hidden=True)
def main(quick: bool, relayed: tuple[str, int] | None) -> None:
    """Compare `watch` with a relay that reads nothing."""
    if relayed is not None:
        asyncio.run(relay(relayed[0], Address(HOST, relayed[1])))
        return
    listening = socket.create_server((HOST, 0))
    threading.Thread(target=_serve, args=(listening,), daemon=True).start()
    broker = Address(HOST, int(listening.getsockname()[1]))
    table = Table("request", "bare relay", "watch", "ratio", "direct", "bare relay", "watch", box=None)
    results = []
    for name, (size, most, goal) in SIZES.items():
        cost = Goal(name=f"processor time with {name}, as a multiple of the bare relay's", most=goal)
        count = most // 10 if quick else most
        bare_s, bare_ms = measured("bare", broker, size, count)
        watch_s, watch_ms = measured("watch", broker, size, count)
        results += [(cost, watch_s / bare_s), (LATENCY, watch_ms - bare_ms)]
        latencies = (_median_ms(broker.port, size), bare_ms, watch_ms)
        seconds = (f"{bare_s:.2f} s", f"{watch_s:.2f} s", f"{watch_s / bare_s:.2f}")
        table.add_row(name, *seconds, *(f"{each:.2f} ms" for each in latencies))
    Console().print(table)
    end_with(missed_goals(results))


if __name__ == "__main__":
    main()
