"""The reference broker as a process of its own, over TCP."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from strategies.api_versions import build_request
from tests.reference_model.release_lines import profile_at
from wire.frames import SIZE_BYTES

PATIENCE_S = 20
"""Bounds a hang; seen on a busy machine: 1 s until the port is printed, the rest at once."""

V0 = build_request(version=0).data
UNSUPPORTED = build_request(version=99).data
UNREADABLE = build_request(version=3, body=b"").data
REFUSAL = bytes.fromhex("00000010 00000007 0023 00000001 0012 0000 0005")
KEYS = len(profile_at("4.4.0").api_keys)
SUCCESS_BYTES = SIZE_BYTES + 4 + 2 + 4 + 6 * KEYS


@contextmanager
def server(*options: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start the server and give its process and port; it is gone afterwards."""
    command = [sys.executable, "-m", "reference_model.server", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def connect(port: int) -> socket.socket:
    """Open a connection on which nothing waits for ever."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def read(connection: socket.socket, size: int) -> bytes:
    """Read so many bytes, or all until the end of the stream where that comes first."""
    data = b""
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    return data


def test_server_speaks_as_the_state_machine_and_ends_with_its_input() -> None:
    """Pipelined requests are answered, half-close is honoured, a bad request closes just its connection."""
    with server() as (process, port):
        with connect(port) as bystander, connect(port) as offender, connect(port) as leaver:
            offender.sendall(UNSUPPORTED + UNREADABLE)
            assert read(offender, 1000) == REFUSAL
            leaver.sendall(V0 + UNSUPPORTED + V0[:5])
            leaver.shutdown(socket.SHUT_WR)
            answers = read(leaver, 10000)
            assert len(answers) == SUCCESS_BYTES + len(REFUSAL)
            assert answers.endswith(REFUSAL)
            for byte in UNSUPPORTED:
                bystander.sendall(bytes([byte]))
            assert read(bystander, len(REFUSAL)) == REFUSAL
        _, error_output = process.communicate(timeout=PATIENCE_S)
        assert error_output == b""
        assert process.returncode == 0


def test_defect_reaches_the_neighbours_sockets() -> None:
    """A defect that closes other connections closes their sockets too."""
    with (
        server("--defect", "a-malformed-request-closes-every-connection") as (_, port),
        connect(port) as bystander,
        connect(port) as offender,
    ):
        bystander.sendall(UNSUPPORTED)
        assert read(bystander, len(REFUSAL)) == REFUSAL
        offender.sendall(UNREADABLE)
        assert read(bystander, 1) == b""
        assert read(offender, 1) == b""


def test_release_without_a_table_is_refused() -> None:
    """A release and quorum that no table is recorded for ends the server with a usage error."""
    command = [sys.executable, "-m", "reference_model.server", "--release", "2.4.1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 2
    assert "no table of release 2.4.1 with kraft is recorded" in ended.stderr
