"""A small, correct Kafka client with one blocking socket after the other.

It uses nothing but Python's standard library.

It was written from the protocol guide and the KIPs, and imports nothing of this project: a red cell for it is the
suite's own fault. It begins with ApiVersions v5, asks for Metadata at its bootstrap address, and then again at each
broker that it learnt of, where it sends the ids of KIP-1242.

    python blocking_client.py HOST:PORT SECONDS [--again] [--tls-ca FILE] [--username NAME --password WORD] [--no-check]
"""

import argparse
import socket
import ssl
import struct
import sys
import time

SASL_HANDSHAKE, API_VERSIONS, METADATA, SASL_AUTHENTICATE = 17, 18, 3, 36
OWN_VERSIONS = {
    API_VERSIONS: (0, 5),
    METADATA: (1, 8),
    SASL_HANDSHAKE: (0, 1),
    SASL_AUTHENTICATE: (0, 1),
}
UNSUPPORTED_VERSION, REBOOTSTRAP_REQUIRED = 35, 129
MAX_FRAME = 16 << 20
FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.1, 1.0
Address = tuple[str, int]
Ranges = dict[int, tuple[int, int]]
NAME, VERSION = "independent-blocking", "1.0"


class BrokerUnusable(Exception):
    """The broker cannot be used; the message says why."""


class RebootstrapNeeded(BrokerUnusable):
    """This is not the broker that the client meant to reach."""


class Reader:
    """Reads a response field by field."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.position + count
        if count < 0 or end > len(self.data):
            raise BrokerUnusable("a response ends too early")
        taken, self.position = self.data[self.position : end], end
        return taken

    def number(self, layout: str) -> int:
        """Return the next number, laid out as `struct` says."""
        value: int = struct.unpack(">" + layout, self.take(struct.calcsize(layout)))[0]
        return value

    def varint(self) -> int:
        """Return the next unsigned varint."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise BrokerUnusable("a varint is too long")

    def text(self) -> str | None:
        """Return the next nullable string."""
        length = self.number("h")
        return None if length == -1 else self.take(length).decode()

    def tags(self) -> None:
        """Skip a section of tagged fields."""
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())

    def ranges(self, version: int) -> Ranges:
        """Return the usable ranges of a table in the layout of a version of ApiVersions."""
        flexible = version >= 3
        count = self.varint() - 1 if flexible else self.number("i")
        if count < 0:
            raise BrokerUnusable("the table is null")
        ranges = {}
        for _ in range(count):
            key, low, high = (self.number("h") for _ in range(3))
            if flexible:
                self.tags()
            if 0 <= low <= high:
                ranges[key] = low, high
        if version >= 1:
            self.number("i")
        if flexible:
            self.tags()
        return ranges


def text(value: str | None) -> bytes:
    """Encode a nullable string."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def compact(value: str | None) -> bytes:
    """Encode a compact nullable string."""
    if value is None:
        return b"\0"
    assert len(value) < 127
    return bytes([len(value) + 1]) + value.encode()


class BlockingConnection:
    """One connection, on which one request waits at a time."""

    def __init__(self, address: Address, arguments: argparse.Namespace, deadline: float) -> None:
        self.deadline = deadline
        self.correlation_id = 0
        self.table: Ranges = {}
        self.socket: socket.socket = socket.create_connection(address, timeout=self.left())
        if arguments.tls_ca:
            context = ssl.create_default_context(cafile=arguments.tls_ca)
            context.check_hostname = False
            self.socket = context.wrap_socket(self.socket)

    def left(self) -> float:
        """Return the seconds that are left."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise BrokerUnusable("no answer in time")
        return left

    def exactly(self, count: int) -> bytes:
        """Return the next bytes of the connection."""
        data = b""
        while len(data) < count:
            self.socket.settimeout(self.left())
            more = self.socket.recv(min(count - len(data), 65536))
            if not more:
                raise BrokerUnusable("the broker closed the connection")
            data += more
        return data

    def frame(self) -> bytes:
        """Return the payload of the next response."""
        size = struct.unpack(">i", self.exactly(4))[0]
        if not 0 <= size <= MAX_FRAME:
            raise BrokerUnusable(f"a response of {size} bytes")
        return self.exactly(size)

    def write(self, payload: bytes) -> None:
        """Write a request, or a token of SASL v0."""
        self.socket.settimeout(self.left())
        self.socket.sendall(struct.pack(">i", len(payload)) + payload)

    def request(self, api_key: int, version: int, body: bytes) -> Reader:
        """Send a request, and return its response without the header."""
        self.correlation_id += 1
        flexible = api_key == API_VERSIONS and version >= 3
        header = struct.pack(">hhi", api_key, version, self.correlation_id) + text("independent")
        self.write(header + (b"\0" if flexible else b"") + body)
        reader = Reader(self.frame())
        if reader.number("i") != self.correlation_id:
            raise BrokerUnusable("a response with another correlation id")
        return reader

    def negotiate(self, cluster_id: str | None, node_id: int) -> None:
        """Ask for the table: first in our newest version, and if that is refused in the newest that is named."""
        version = OWN_VERSIONS[API_VERSIONS][1]
        while True:
            error, ranges = self.ask_for_table(version, cluster_id, node_id)
            if error == 0:
                self.table = ranges
                return
            if error == REBOOTSTRAP_REQUIRED and version == 5:
                raise RebootstrapNeeded("the broker is another one")
            if error != UNSUPPORTED_VERSION or version == 0:
                raise BrokerUnusable(f"ApiVersions v{version} got error {error}")
            low, high = ranges.get(API_VERSIONS, (0, 0))
            version = min(high, version - 1) if low <= min(high, version - 1) else 0

    def ask_for_table(self, version: int, cluster_id: str | None, node_id: int) -> tuple[int, Ranges]:
        """Send ApiVersions, and return the error code and the ranges."""
        body = b""
        if version >= 3:
            body += compact(NAME) + compact(VERSION)
        if version >= 5:
            body += compact(cluster_id) + struct.pack(">i", node_id)
        reader = self.request(API_VERSIONS, version, body + (b"\0" if version >= 3 else b""))
        error = reader.number("h")
        if error not in (0, UNSUPPORTED_VERSION):
            return error, {}
        # A refusal has the layout of v0.
        ranges = reader.ranges(version if error == 0 else 0)
        if not ranges and error == 0:
            raise BrokerUnusable("the table has no usable range")
        return error, ranges

    def common(self, api_key: int) -> int:
        """Return the newest version of an API that both ends have."""
        own_low, own_high = OWN_VERSIONS[api_key]
        low, high = self.table.get(api_key, (0, -1))
        newest = min(own_high, high)
        if newest < max(own_low, low):
            raise BrokerUnusable(f"no common version of API {api_key}")
        return newest

    def authenticate(self, username: str, password: str) -> None:
        """Authenticate with SASL PLAIN."""
        token = b"\0" + username.encode() + b"\0" + password.encode()
        version = self.common(SASL_HANDSHAKE)
        if version == 1 and SASL_AUTHENTICATE not in self.table:
            raise BrokerUnusable("SaslHandshake v1, but no SaslAuthenticate")
        step = self.common(SASL_AUTHENTICATE) if version == 1 else None
        error = self.request(SASL_HANDSHAKE, version, text("PLAIN")).number("h")
        if error:
            raise BrokerUnusable(f"SaslHandshake got error {error}")
        if step is None:
            self.write(token)
            self.frame()
            return
        error = self.request(SASL_AUTHENTICATE, step, struct.pack(">i", len(token)) + token).number("h")
        if error:
            raise BrokerUnusable(f"SaslAuthenticate got error {error}")

    def metadata(self) -> tuple[str | None, dict[int, Address]]:
        """Return the id of the cluster and the addresses of its brokers."""
        version = self.common(METADATA)
        body = struct.pack(">i", 0)
        if version >= 4:
            body += b"\0"
        if version >= 8:
            body += b"\0\0"
        reader = self.request(METADATA, version, body)
        if version >= 3:
            reader.number("i")
        brokers = {}
        for _ in range(reader.number("i")):
            node_id, host, port = reader.number("i"), reader.text(), reader.number("i")
            reader.text()
            brokers[node_id] = host or "", port
        if not brokers:
            raise BrokerUnusable("Metadata names no broker")
        return (reader.text() if version >= 2 else None), brokers


class BlockingClient:
    """What the client knows of the cluster, and its connections by broker."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        host, _, port = arguments.bootstrap.rpartition(":")
        self.bootstrap = host, int(port)
        self.forget()

    def forget(self) -> None:
        """Forget the cluster, as if the client had just begun."""
        self.cluster_id: str | None = None
        self.brokers: dict[int, Address] = {}
        self.connections: dict[int | None, BlockingConnection] = {}

    def ask(self, deadline: float) -> None:
        """Ask at the bootstrap address if no broker is known, and then at each known broker."""
        try:
            if not self.brokers:
                self.learn(None, deadline)
            for node_id in list(self.brokers):
                self.learn(node_id, deadline)
        except RebootstrapNeeded:
            self.close()
            self.forget()
            raise
        except (BrokerUnusable, OSError, UnicodeDecodeError) as error:
            self.close()
            if not isinstance(error, BrokerUnusable):
                # A broker that cannot be reached may have moved.
                self.forget()
            raise

    def learn(self, node_id: int | None, deadline: float) -> None:
        """Ask one broker for Metadata; None for the bootstrap address."""
        if node_id is not None and node_id not in self.brokers:
            return
        connection = self.connections.get(node_id)
        if connection is None:
            address = self.bootstrap if node_id is None else self.brokers[node_id]
            connection = self.connections[node_id] = BlockingConnection(address, self.arguments, deadline)
            ids: tuple[str | None, int] = (None, -1)
            if node_id is not None and self.cluster_id is not None and not self.arguments.no_check:
                ids = self.cluster_id, node_id
            connection.negotiate(*ids)
            if self.arguments.username:
                connection.authenticate(self.arguments.username, self.arguments.password)
        connection.deadline = deadline
        self.cluster_id, self.brokers = connection.metadata()
        if node_id is None:
            self.connections.pop(None).socket.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self.connections.values():
            connection.socket.close()
        self.connections = {}


def main() -> int:
    """Ask once, or again and again, and return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--tls-ca")
    parser.add_argument("--username")
    parser.add_argument("--password")
    parser.add_argument("--no-check", action="store_true")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    client = BlockingClient(arguments)
    backoff = FIRST_BACKOFF_S
    while True:
        problem: Exception | None = None
        try:
            client.ask(end)
            backoff = FIRST_BACKOFF_S
        except (BrokerUnusable, OSError, UnicodeDecodeError) as error:
            problem = error
        asks_again = arguments.again or isinstance(problem, RebootstrapNeeded)
        if not asks_again or time.monotonic() + backoff >= end:
            break
        time.sleep(backoff)
        if problem is not None:
            backoff = min(2 * backoff, MAX_BACKOFF_S)
    if problem is not None:
        sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
