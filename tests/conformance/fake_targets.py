"""Small servers on loopback that are not correct Kafka brokers, each in one way."""

from __future__ import annotations

import contextlib
import functools
import itertools
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fixtures.kafka_setup.certificates import write_certificates
from fixtures.launchers.built_in import certificate_options
from fixtures.model_processes.server import CLUSTER_ID, NODE_ID
from fixtures.under_test.first_requests import CALIBRATION_EXCHANGES
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.reaction import Identity
from reference_model.profiles.profile import KIP_TEXT, NEWEST_RELEASE, profile_of
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.errors import DecodeError
from wire.frames import FrameReader
from wire.primitives import write_compact_array_length

READ_BYTES = 65536
LOOPBACK = "127.0.0.1"
COUNTS = 20_000
"""How many of them follow each other in one answer."""
BYTES_OF_AN_ENTRY = 6
"""In a table up to v2; later ones have a byte more."""
PREPARATORY_TLS_CONNECTIONS = CALIBRATION_EXCHANGES + 1
"""What a run opens before its first example on a TLS listener: calibration, the table."""
PREPARATORY_CONNECTIONS = 4 + CALIBRATION_EXCHANGES
"""What it opens on a plaintext listener before it reads the table: preflight, three questions about the cluster,
calibration."""


@dataclass(slots=True, kw_only=True)
class FakeTarget:
    """A server with one behaviour.

    Attributes:
        address: "host:port".
        stopped: set when the server ends.
        received: the bytes received on each connection, in the order of opening.
    """

    address: str
    stopped: threading.Event = field(default_factory=threading.Event)
    received: list[bytearray] = field(default_factory=list)

    def reads(self, connection: socket.socket) -> Iterator[bytes]:
        """Yield each read of a connection until it ends, and record the bytes."""
        kept = bytearray()
        self.received.append(kept)
        while data := connection.recv(READ_BYTES):
            kept += data
            yield data


Behaviour = Callable[[FakeTarget, socket.socket], None]
"""What to do with one connection, in its own thread."""


@contextmanager
def serve(behaviour: Behaviour) -> Iterator[FakeTarget]:
    """Run one behaviour on a free port until the block ends."""
    with socket.create_server((LOOPBACK, 0), backlog=64) as listener:
        target = FakeTarget(address=f"{LOOPBACK}:{listener.getsockname()[1]}")
        open_sockets: set[socket.socket] = set()
        threads: list[threading.Thread] = []

        def handle(connection: socket.socket) -> None:
            # Every connection here ends when the suite closes it first, or when the block ends.
            with connection, contextlib.suppress(OSError):
                behaviour(target, connection)
            open_sockets.discard(connection)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    open_sockets.add(connection)
                    threads.append(threading.Thread(target=handle, args=[connection], daemon=True))
                    threads[-1].start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield target
        finally:
            target.stopped.set()
            # Closing alone does not wake a thread that is blocked in the call.
            for waiting in (listener, *open_sockets):
                with contextlib.suppress(OSError):
                    waiting.shutdown(socket.SHUT_RDWR)
            for thread in (acceptor, *threads):
                thread.join()


def reference_broker() -> ReferenceBroker:
    """Return a healthy reference broker of the newest release."""
    return ReferenceBroker(
        profile=profile_of(NEWEST_RELEASE, follows=KIP_TEXT),
        identity=Identity(cluster_id=CLUSTER_ID, node_id=NODE_ID),
    )


def reference_behaviour() -> Behaviour:
    """Answer as the reference broker does."""
    return behaviour_of(reference_broker())


def behaviour_of(broker: ReferenceBroker) -> Behaviour:
    """Answer as an in-memory broker does."""
    turn = threading.Lock()

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        with turn:
            model = broker.connect()
        try:
            for data in target.reads(connection):
                with turn:
                    model.receive_data(data)
                    answers = model.data_to_send()
                connection.sendall(answers)
                if model.state is ConnectionState.CLOSED:
                    return
        finally:
            with turn:
                model.drop()

    return behave


def turning(
    behaviour: Behaviour,
    *,
    after: int = PREPARATORY_CONNECTIONS,
    proper: Behaviour | None = None,
) -> Behaviour:
    """Answer correctly on a number of connections, then switch to another behaviour."""
    proper = proper or reference_behaviour()
    opened = iter(range(after))

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        (behaviour if next(opened, None) is None else proper)(target, connection)

    return behave


def turning_behind_tls(behaviour: Behaviour) -> Behaviour:
    """Answer correctly inside TLS until the examples begin, then switch, with or without TLS."""
    proper = behind_tls(reference_behaviour())
    return turning(behaviour, after=PREPARATORY_TLS_CONNECTIONS, proper=proper)


def answer_http(target: FakeTarget, connection: socket.socket) -> None:
    """Act as a web server."""
    next(target.reads(connection), None)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def answer_nothing(target: FakeTarget, connection: socket.socket) -> None:
    """Read, and never answer."""
    for _ in target.reads(connection):
        pass


def close_at_once(target: FakeTarget, connection: socket.socket) -> None:
    """Close the connection before anything is read."""


def answer_garbage(target: FakeTarget, connection: socket.socket) -> None:
    """Answer every read with bytes that are not a frame."""
    for _ in target.reads(connection):
        connection.sendall(b"\xde\xad\xbe\xef" * 8)


def flood(target: FakeTarget, connection: socket.socket) -> None:
    """Answer the first read with an endless stream of frames."""
    next(target.reads(connection), None)
    while not target.stopped.is_set():
        connection.sendall(b"\0\0\4\0" + b"\xff" * 1024)


def announce_more_than_comes(target: FakeTarget, connection: socket.socket) -> None:
    """Announce a frame of 2 GiB and send a small part of it."""
    for _ in target.reads(connection):
        connection.sendall(b"\x7f\xff\xff\xff" + b"\0" * 64)


def answering_bombs(first_count: bytes) -> Behaviour:
    """Answer every request with a complete frame of counts, without the elements that they count.

    Args:
        first_count: written before the others, which are varints of 2^31 - 1.
    """
    body = bytes(2) + first_count + b"\xff\xff\xff\xff\x07" * COUNTS

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        reader = FrameReader()
        # Bytes that are not a frame get no answer.
        with contextlib.suppress(DecodeError):
            for data in target.reads(connection):
                reader.receive_data(data)
                while (request := reader.next_payload()) is not None:
                    payload = request[4:8].ljust(4, b"\0") + body
                    connection.sendall(len(payload).to_bytes(4) + payload)

    return behave


answer_bombs = answering_bombs(b"\x7f\xff\xff\xff")
"""Every count is 2^31 - 1, in layouts whose first count is an INT32."""
answer_flexible_bombs = answering_bombs(b"")
"""The same in layouts whose counts are all varints."""


def answering_tables(table_bytes: int) -> Behaviour:
    """Answer every request with a table of about so many bytes, which has some keys many times."""
    count = table_bytes // BYTES_OF_AN_ENTRY
    keys = [key.to_bytes(2) for key in range(min(count, 32768))]
    times = count // len(keys)
    tables = {
        False: (times * len(keys)).to_bytes(4) + b"".join(key + b"\0\0\0\5" for key in keys) * times,
        True: write_compact_array_length(times * len(keys)) + b"".join(key + b"\0\0\0\5\0" for key in keys) * times,
    }

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        reader = FrameReader()
        # What is no frame is not answered.
        with contextlib.suppress(DecodeError):
            for data in target.reads(connection):
                reader.receive_data(data)
                while (request := reader.next_payload()) is not None:
                    version = int.from_bytes(request[2:4], signed=True)
                    table = tables[version >= FIRST_FLEXIBLE_VERSION]
                    throttle_and_tags = bytes(min(max(4 * version, 0), 4) + (version > 2))
                    size = 4 + 2 + len(table) + len(throttle_and_tags)
                    # Not joined: to copy so much takes longer than what is measured.
                    connection.sendall(size.to_bytes(4) + request[4:8].ljust(4, b"\0") + bytes(2))
                    connection.sendall(table)
                    connection.sendall(throttle_and_tags)

    return behave


def trickling(between_bytes_s: float) -> Behaviour:
    """Send a correct answer byte by byte."""

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        model = reference_broker().connect()
        for data in target.reads(connection):
            model.receive_data(data)
            for byte in model.data_to_send():
                connection.sendall(bytes([byte]))
                if target.stopped.wait(between_bytes_s):
                    return

    return behave


def behind_tls(behaviour: Behaviour, context: ssl.SSLContext | None = None) -> Behaviour:
    """Do the handshake of a TLS listener, with a context or a certificate of its own, then use the behaviour inside
    TLS."""
    # Created here, so that no handshake waits for key generation.
    context = context or _server_context()

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as tls:
            behaviour(target, tls)

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Use the next behaviour for each new connection, in a cycle."""
    turns = itertools.cycle(behaviours)

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        next(turns)(target, connection)

    return behave


@functools.cache
def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_certificates(folder, LOOPBACK)
        certificate_options(folder)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return context
