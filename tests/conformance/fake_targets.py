"""Small servers on loopback that are no proper Kafka brokers, each in one way."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fixtures.broker import CALIBRATION_EXCHANGES
from reference_model.profile import KIP_TEXT, NEWEST_RELEASE, profile_of
from reference_model.server import CLUSTER_ID, NODE_ID
from reference_model.state_machine import ConnectionState, Identity, ReferenceBroker

READ_BYTES = 65536
LOOPBACK = "127.0.0.1"
BETWEEN_BYTES_S = 0.3
COUNTS = 20_000
"""How many of them follow each other in one answer."""
PREPARATORY_CONNECTIONS = 1 + CALIBRATION_EXCHANGES + 1
"""What a run opens before its first example: readiness, calibration and the question for the table."""


@dataclass(slots=True, kw_only=True)
class FakeTarget:
    """A server with one behaviour.

    Attributes:
        address: "host:port".
        stopped: set when the server ends.
        received: what came on each connection, in the order in which they were opened.
    """

    address: str
    stopped: threading.Event = field(default_factory=threading.Event)
    received: list[bytearray] = field(default_factory=list)

    def reads(self, connection: socket.socket) -> Iterator[bytes]:
        """Give what comes on a connection, read by read, until it ends; and keep it."""
        kept = bytearray()
        self.received.append(kept)
        while data := connection.recv(READ_BYTES):
            kept += data
            yield data


Behaviour = Callable[[FakeTarget, socket.socket], None]
"""What is done with one connection, in a thread of its own."""


@contextmanager
def serve(behaviour: Behaviour) -> Iterator[FakeTarget]:
    """Serve one behaviour on a free port until the block ends."""
    with socket.create_server((LOOPBACK, 0), backlog=64) as listener:
        target = FakeTarget(address=f"{LOOPBACK}:{listener.getsockname()[1]}")
        open_sockets: set[socket.socket] = set()
        threads: list[threading.Thread] = []

        def handle(connection: socket.socket) -> None:
            # That the suite closes first, or the block ends, is how every connection here ends.
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
            # Closing alone does not wake a thread that waits in the call.
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
    broker = reference_broker()
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


def turning(behaviour: Behaviour, *, after: int = PREPARATORY_CONNECTIONS) -> Behaviour:
    """Answer properly on a number of connections, and then behave otherwise."""
    proper = reference_behaviour()
    opened = iter(range(after))

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        (behaviour if next(opened, None) is None else proper)(target, connection)

    return behave


def answer_http(target: FakeTarget, connection: socket.socket) -> None:
    """Be a web server."""
    next(target.reads(connection), None)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def answer_nothing(target: FakeTarget, connection: socket.socket) -> None:
    """Read, and never answer."""
    for _ in target.reads(connection):
        pass


def close_at_once(target: FakeTarget, connection: socket.socket) -> None:
    """Close the connection before anything is read."""


def answer_garbage(target: FakeTarget, connection: socket.socket) -> None:
    """Answer every read with bytes that are no frame."""
    for _ in target.reads(connection):
        connection.sendall(b"\xde\xad\xbe\xef" * 8)


def flood(target: FakeTarget, connection: socket.socket) -> None:
    """Answer the first read with frames without end."""
    next(target.reads(connection), None)
    while not target.stopped.is_set():
        connection.sendall(b"\0\0\4\0" + b"\xff" * 1024)


def announce_more_than_comes(target: FakeTarget, connection: socket.socket) -> None:
    """Announce a frame of 2 GiB and send a little of it."""
    for _ in target.reads(connection):
        connection.sendall(b"\x7f\xff\xff\xff" + b"\0" * 64)


def answer_bombs(target: FakeTarget, connection: socket.socket) -> None:
    """Answer with a whole frame in which every count says 2^31 - 1, whichever layout it is read in."""
    for data in target.reads(connection):
        correlation_id, no_error = data[8:12].ljust(4, b"\0"), b"\0\0"
        payload = correlation_id + no_error + b"\x7f\xff\xff\xff" + b"\xff\xff\xff\xff\x07" * COUNTS
        connection.sendall(len(payload).to_bytes(4) + payload)


def answer_flexible_bombs(target: FakeTarget, connection: socket.socket) -> None:
    """Answer as `answer_bombs` does, with every count as a varint."""
    for data in target.reads(connection):
        correlation_id, no_error = data[8:12].ljust(4, b"\0"), b"\0\0"
        payload = correlation_id + no_error + b"\xff\xff\xff\xff\x07" * COUNTS
        connection.sendall(len(payload).to_bytes(4) + payload)


def trickle(target: FakeTarget, connection: socket.socket) -> None:
    """Send a right answer byte by byte, each well before the target would count as silent."""
    model = reference_broker().connect()
    for data in target.reads(connection):
        model.receive_data(data)
        for byte in model.data_to_send():
            connection.sendall(bytes([byte]))
            if target.stopped.wait(BETWEEN_BYTES_S):
                return
