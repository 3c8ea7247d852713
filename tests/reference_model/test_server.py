"""The reference broker as a separate process, over TCP."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from fixtures.client.running_broker import TlsFiles
from fixtures.client.transport import reset_on_close
from fixtures.kafka_setup.certificates import write_certificates
from fixtures.kafka_setup.connection_metrics import counts_of, gauges_of
from fixtures.launchers.built_in import certificate_options
from fixtures.polling import poll_until
from reference_model.profile import profile_of
from reference_model.server import (
    CANNOT_SERVE,
    _defect_name,
    _Listener,
    _Protocol,
    broker_for_listener,
    main,
)
from reference_model.state_machine import Stage, Tampering
from strategies.api_versions import build_request
from strategies.software_names import Software
from tests.reference_model.release_lines import profile_at
from wire.frames import SIZE_BYTES

PATIENCE_S = 20
"""Bounds a hang. Observed on a busy machine: 1 s until the port is printed, the rest at once."""

V0 = build_request(version=0).data
UNSUPPORTED = build_request(version=99).data
UNREADABLE = build_request(version=3, body=b"").data
REFUSAL = bytes.fromhex("00000010 00000007 0023 00000001 0012 0000 0005")
KEYS = len(profile_at("4.4.0").api_keys)
SUCCESS_BYTES = SIZE_BYTES + 4 + 2 + 4 + 6 * KEYS


@contextmanager
def server(*options: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start the server and yield its process and plaintext port; kill it afterwards."""
    command = [sys.executable, "-m", "reference_model.server", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["plaintext"]
        finally:
            process.kill()


def connect(port: int) -> socket.socket:
    """Open a connection on which every wait has a time limit."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def read(connection: socket.socket, size: int) -> bytes:
    """Read the given number of bytes, or fewer if the stream ends earlier."""
    data = b""
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    return data


def test_server_speaks_as_the_state_machine_and_ends_with_its_input() -> None:
    """Pipelined requests are answered, half-close works, and a bad request closes only its connection."""
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
    """A defect that closes other connections also closes their sockets."""
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


@pytest.mark.parametrize(
    ("tampering", "looked_at"), [(None, 1), (Tampering(stage=Stage.TLS, act=print), 3)]
)
def test_healthy_server_looks_at_the_reading_connection_alone(
    tampering: Tampering | None, looked_at: int
) -> None:
    """With 900 slow clients, a walk of all connections at each read left a new client waiting for 21 s."""

    async def play() -> int:
        listener = _Listener(
            broker=broker_for_listener("plaintext", release="4.4.0", tampering=tampering)
        )
        shells = [_Protocol(listener) for _ in range(3)]
        transports = [Mock(spec=asyncio.Transport) for _ in shells]
        for shell, transport in zip(shells, transports, strict=True):
            transport.is_closing.return_value = False
            transport.get_write_buffer_size.return_value = 0
            shell.connection_made(transport)
        shells[0].data_received(V0[:5])
        return sum(transport.is_closing.called for transport in transports)

    assert asyncio.run(play()) == looked_at


def test_defect_sees_a_reset() -> None:
    """A connection that its client resets inside a frame reaches a defect of resets, which closes another socket."""
    with (
        server("--defect", "a-reset-inside-a-frame-closes-the-others") as (_, port),
        connect(port) as bystander,
    ):
        with connect(port) as leaver:
            leaver.sendall(UNSUPPORTED + V0[:9])
            assert read(leaver, len(REFUSAL)) == REFUSAL
            reset_on_close(leaver)
        assert read(bystander, 1) == b""


@pytest.fixture
def certificates(tmp_path: Path) -> TlsFiles:
    """Write certificates for one server, and PEM files with the server's own next to them."""
    files = write_certificates(tmp_path, "127.0.0.1")
    certificate_options(tmp_path)
    return files


@contextmanager
def tls_server(files: TlsFiles, *options: str) -> Iterator[dict[str, int]]:
    """Start the server with all its listeners and yield their ports."""
    folder = files.ca_file.parent
    command = [sys.executable, "-m", "reference_model.server", *options]
    command += [f"--tls-authority={files.ca_file}", f"--tls-key={folder / 'server.key'}"]
    command += [f"--tls-certificate={folder / 'server.pem'}"]
    command += [f"--request-log={folder / 'requests.log'}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def connect_by_tls(port: int, files: TlsFiles, *, show_certificate: bool) -> ssl.SSLSocket:
    """Open a connection and do the handshake, with or without a client certificate."""
    context = ssl.create_default_context(cafile=files.ca_file)
    if show_certificate:
        context.load_cert_chain(files.client_certificate, files.client_key)
    return context.wrap_socket(connect(port), server_hostname="127.0.0.1")


@pytest.mark.parametrize(
    ("listener", "show_certificate"),
    [
        pytest.param("ssl", False, id="without-certificate"),
        pytest.param("ssl_client_auth", True, id="with-certificate"),
    ],
)
def test_tls_listener_serves_after_the_handshake(
    certificates: TlsFiles, listener: str, show_certificate: bool
) -> None:
    """The table is served over TLS, and each request on that connection is logged."""
    with tls_server(certificates) as ports:
        with connect_by_tls(
            ports[listener], certificates, show_certificate=show_certificate
        ) as client:
            client.sendall(V0 + UNSUPPORTED + UNREADABLE)
            answers = read(client, 10000)
        assert len(answers) == SUCCESS_BYTES + len(REFUSAL)
        log = (certificates.ca_file.parent / "requests.log").read_text()
        assert log.count("Completed request:{") == 2
        assert f'"listener": "{listener}"' in log


def table_of(port: int, files: TlsFiles, *, show_certificate: bool) -> bytes:
    """Return a TLS listener's answer to a request; empty if the listener refuses the connection."""
    try:
        with connect_by_tls(port, files, show_certificate=show_certificate) as client:
            client.sendall(V0)
            return read(client, 1000)
    except OSError:
        return b""


def test_tls_listener_says_nothing_without_tls(certificates: TlsFiles) -> None:
    """Without TLS, or without a certificate that is required, a client gets no byte."""
    with tls_server(certificates) as ports:
        with connect(ports["ssl"]) as plain:
            plain.sendall(V0)
            assert read(plain, 1000) == b""
        assert table_of(ports["ssl_client_auth"], certificates, show_certificate=False) == b""


def test_controller_has_its_own_table_and_sasl_its_states(certificates: TlsFiles) -> None:
    """The controller has its own table, and SASL allows one ApiVersions before the handshake."""
    with tls_server(certificates) as ports:
        with connect(ports["controller"]) as client:
            client.sendall(V0)
            size = int.from_bytes(read(client, SIZE_BYTES))
            assert size == 4 + 2 + 4 + 6 * len(profile_of("4.4.0", listener="controller").api_keys)
        with connect(ports["sasl_plaintext"]) as client:
            client.sendall(V0 + V0)
            assert len(read(client, 10000)) == SUCCESS_BYTES


def test_metric_counts_connections(certificates: TlsFiles) -> None:
    """The metrics endpoint counts a connection under its software name while it is open."""
    with tls_server(certificates) as ports:
        url = f"http://127.0.0.1:{ports['metrics']}/jolokia"
        with connect(ports["plaintext"]) as client:
            client.sendall(build_request(version=3, software=Software("counted", "7")).data)
            read(client, 10)
            counted = counts_of(gauges_of(url, "counted"), listener="ssl")
            assert counted == {("plaintext", "7"): 1}
        assert poll_until(lambda: len(gauges_of(url, "counted")), 0) == 0


def test_throttled_connection_is_answered_before_it_waits() -> None:
    """A throttled request is answered at once, the next one after the pause, even at end of stream."""
    throttled = build_request(version=0, client_id="throttled").data
    with server() as (_, port), connect(port) as client:
        client.sendall(throttled + UNSUPPORTED)
        client.shutdown(socket.SHUT_WR)
        assert len(read(client, SUCCESS_BYTES)) == SUCCESS_BYTES
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.settimeout(PATIENCE_S)
        assert read(client, 1000) == REFUSAL


def test_unknown_defect_gets_the_nearest_names() -> None:
    """The error names no more than these, and the command that lists all."""
    assert _defect_name("tags-descend") == "tags-descend"
    with pytest.raises(
        ArgumentTypeError, match=r"named 'tags-descent'; nearest: tags-descend; `kaf"
    ):
        _defect_name("tags-descent")


def test_release_without_a_table_is_refused() -> None:
    """Without a recorded table for release and quorum, the server ends with a usage error."""
    command = [sys.executable, "-m", "reference_model.server", "--release", "2.4.1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 2
    assert "there is no recorded table of release 2.4.1 with kraft" in ended.stderr


def test_port_that_is_taken_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """And no verdict: 1 is that of a violation."""
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SystemExit) as ended:
        main(["--port", str(other.getsockname()[1])])
    assert ended.value.code == CANNOT_SERVE
    assert "address already in use" in capsys.readouterr().err
