"""Thousands of slow or malformed connections do not stop a plain client.

The server accumulates nothing meanwhile.

`KAFKA_CONFORMANCE_SOAK_CONNECTIONS` says how many connections there are to each server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fixtures.launchers.free_port import free_port
from fixtures.polling import poll_until
from tests.conformance.suite_runs import REPOSITORY
from tests.soak.leftovers import HeldResources, held_by, number_in
from wire.exchange import probe_request

CONNECTIONS = number_in("KAFKA_CONFORMANCE_SOAK_CONNECTIONS", 10_000)
AT_ONCE = min(500, CONNECTIONS)
"""Connections that are open together; `watch` needs two sockets for each."""
MAX_ANSWER_S = 30.0
"""How long the plain client may wait; a machine with other work to do is slow."""
MAX_GROWTH_MIB = 16.0
SETTLING_S = 2.0
HOST = "127.0.0.1"
REQUEST = probe_request(0).data

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("server", ["reference", "scripted", "watch"])
def test_server_serves_and_gathers_nothing(server: str) -> None:
    """After the first fifth of the connections, it holds no more than at the end."""
    began = time.monotonic()
    with _served(server) as (process_id, port):
        _answer_s(port)
        _crowd(port, CONNECTIONS // 5)
        before = _settled(process_id)
        slowest_s = _crowd(port, CONNECTIONS - CONNECTIONS // 5)
        after = _settled(process_id)
    sys.stdout.write(
        f"{server}: {CONNECTIONS:,} connections in {time.monotonic() - began:.0f} s, slowest answer "
        f"{slowest_s:.2f} s, {before} then {after}\n"
    )
    assert after.growth_from(before, most_mib=MAX_GROWTH_MIB) == []


def _settled(process_id: int) -> HeldResources:
    time.sleep(SETTLING_S)
    return held_by(process_id)


def _crowd(port: int, connections: int) -> float:
    """Open connections, `AT_ONCE` together, half of them slow; return the longest wait of a plain client next to
    them."""
    draw = random.Random(connections)
    waits = []
    for _ in range(0, connections, AT_ONCE):
        waits.append(asyncio.run(_open_together(port, draw)))
    return max(waits)


async def _open_together(port: int, draw: random.Random) -> float:
    async def open_one(data: bytes) -> asyncio.StreamWriter:
        _, writer = await asyncio.open_connection(HOST, port)
        writer.write(data)
        with contextlib.suppress(OSError):
            await writer.drain()
        return writer

    half = len(REQUEST) // 2
    sent = [draw.randbytes(draw.randrange(1, 200)) if number % 2 else REQUEST[:half] for number in range(AT_ONCE)]
    writers = await asyncio.gather(*(open_one(data) for data in sent))
    waited_s = await asyncio.to_thread(_answer_s, port)
    for writer in writers:
        writer.transport.abort()
    await asyncio.sleep(0)
    return waited_s


def _answer_s(port: int) -> float:
    """Ask as a plain client on a new connection; return how long the beginning of the response took."""
    began = time.monotonic()
    with socket.create_connection((HOST, port), timeout=MAX_ANSWER_S) as client:
        client.sendall(REQUEST)
        assert len(client.recv(4)) > 0
    return time.monotonic() - began


@contextmanager
def _served(server: str) -> Iterator[tuple[int, int]]:
    """Start a server; yield its process and its port."""
    if server != "watch":
        with _program("start", server, "--listener", "plaintext", "--json") as process:
            assert process.stdout is not None
            summary = json.loads(process.stdout.readline())
            bootstrap = summary["listeners"]["plaintext"]["bootstrap_servers"]
            yield process.pid, int(bootstrap.rpartition(":")[2])
        return
    with _served("reference") as (_, upstream), free_port() as listen:
        options = ("--listen", str(listen), "--for", "apache-kafka-4.4.0")
        with _program("watch", "--bootstrap-server", f"{HOST}:{upstream}", *options) as process:
            is_there = poll_until(lambda: _is_open(listen.port), True, limit_s=MAX_ANSWER_S)
            assert is_there, "watch did not begin"
            yield process.pid, listen.port


@contextmanager
def _program(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "conformance", *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def _is_open(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port)):
        return True
    return False
