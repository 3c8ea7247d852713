"""A small, correct Kafka client that does not wait for responses.

It writes several requests at once, and asks all brokers side by side.

It was written from the protocol guide and the KIPs with nothing but Python's standard library, and imports nothing of
this project: a red cell for it is the suite's own fault. It begins with ApiVersions v4. With SASL it asks in v0 first,
and after authentication for the table again, with Metadata and FindCoordinator on their way before the response comes.

    python pipelining_client.py HOST:PORT SECONDS [--again] [--tls-ca FILE] [--username NAME --password WORD]
"""

import argparse
import asyncio
import ssl
import struct
import sys
from typing import NamedTuple

API_VERSIONS, METADATA, FIND_COORDINATOR, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 3, 10, 17, 36
OWN = {
    API_VERSIONS: (0, 4),
    METADATA: (1, 9),
    FIND_COORDINATOR: (0, 3),
    SASL_HANDSHAKE: (0, 1),
    SASL_AUTHENTICATE: (0, 1),
}
FLEXIBLE_FROM = {API_VERSIONS: 3, METADATA: 9, FIND_COORDINATOR: 3}
UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42
MAX_FRAME = 16 << 20
FIRST_PAUSE_S, MAX_PAUSE_S, MAX_WAIT_S = 0.1, 1.0, 5.0
NAME, VERSION = "independent-pipelining", "1.0"
Address = tuple[str, int]
Table = dict[int, tuple[int, int]]


class UnfitBroker(Exception):
    """A broker cannot be used; the message says why."""


class RefusedByBroker(UnfitBroker):
    """A broker considers the client itself wrong, so that another attempt is pointless."""


class PlannedRequest(NamedTuple):
    """A request without its correlation id."""

    api_key: int
    version: int
    body: bytes

    @property
    def is_flexible(self) -> bool:
        """Whether header and body have tag sections."""
        return self.version >= FLEXIBLE_FROM.get(self.api_key, 100)


class ResponseFields:
    """Reads the fields of a response one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise UnfitBroker("a response ends too early")
        self.at, begin = end, self.at
        return self.data[begin:end]

    def number(self, size: int) -> int:
        """Return the next signed number of some bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def varint(self) -> int:
        """Return the next unsigned varint."""
        value = 0
        for shift in range(0, 35, 7):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise UnfitBroker("a varint is too long")

    def length(self, *, compact: bool, size: int) -> int:
        """Return the next length or count; -1 for null."""
        return self.varint() - 1 if compact else self.number(size)

    def text(self, *, compact: bool) -> str | None:
        """Return the next nullable string."""
        length = self.length(compact=compact, size=2)
        return None if length < 0 else self.take(length).decode("utf-8", "replace")

    def skip_tags(self) -> None:
        """Skip a section of tagged fields."""
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())

    def table(self, version: int) -> Table:
        """Return the usable ranges of an ApiVersions response, after its error code."""
        compact = version >= 3
        count = self.length(compact=compact, size=4)
        if count < 0:
            raise UnfitBroker("the table is null")
        ranges = {}
        for _ in range(count):
            key, low, high = self.number(2), self.number(2), self.number(2)
            if compact:
                self.skip_tags()
            if 0 <= low <= high:
                ranges[key] = low, high
        if version >= 1:
            self.number(4)
        if compact:
            self.skip_tags()
        return ranges


def old_text(value: str) -> bytes:
    """Encode a string with a length of two bytes."""
    return struct.pack(">h", len(value)) + value.encode()


def compact_text(value: str) -> bytes:
    """Encode a short compact string."""
    return bytes([len(value) + 1]) + value.encode()


def about_versions(version: int) -> PlannedRequest:
    """Return a request for the table."""
    named = compact_text(NAME) + compact_text(VERSION) + b"\0" if version >= 3 else b""
    return PlannedRequest(API_VERSIONS, version, named)


def about_brokers(version: int) -> PlannedRequest:
    """Return a request for the brokers of the cluster, and no topic."""
    if version >= 9:
        return PlannedRequest(METADATA, version, b"\1\0\0\0\0")
    body = struct.pack(">i", 0) + (b"\0" if version >= 4 else b"")
    return PlannedRequest(METADATA, version, body + (b"\0\0" if version >= 8 else b""))


def about_coordinator(version: int) -> PlannedRequest:
    """Return a request for the coordinator of a group."""
    if version >= 3:
        return PlannedRequest(FIND_COORDINATOR, version, compact_text("group") + b"\0\0")
    return PlannedRequest(FIND_COORDINATOR, version, old_text("group") + (b"\0" if version else b""))


def brokers_in(response: ResponseFields, version: int) -> dict[int, Address]:
    """Return the addresses of the brokers that a Metadata response names."""
    compact = version >= 9
    if version >= 3:
        response.number(4)
    brokers = {}
    for _ in range(response.length(compact=compact, size=4)):
        node, host, port = response.number(4), response.text(compact=compact), response.number(4)
        response.text(compact=compact)
        if compact:
            response.skip_tags()
        brokers[node] = host or "", port
    if not brokers:
        raise UnfitBroker("Metadata names no broker")
    return brokers


class PipelinedConnection:
    """A connection on which requests are written without waiting for the responses to those before."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.last_id = 0
        self.table: Table = {}

    async def frame(self) -> bytes:
        """Return the payload of the next frame."""
        async with asyncio.timeout(MAX_WAIT_S):
            size = int.from_bytes(await self.reader.readexactly(4), "big", signed=True)
            if not 0 <= size <= MAX_FRAME:
                raise UnfitBroker(f"a response of {size} bytes")
            return await self.reader.readexactly(size)

    def write(self, request: PlannedRequest) -> int:
        """Write a request, and return its correlation id."""
        self.last_id += 1
        header = struct.pack(">hhi", request.api_key, request.version, self.last_id)
        header += old_text("pipelining") + (b"\0" if request.is_flexible else b"")
        self.write_frame(header + request.body)
        return self.last_id

    def write_frame(self, payload: bytes) -> None:
        """Write a payload with its size."""
        self.writer.write(struct.pack(">i", len(payload)) + payload)

    async def response(self, request: PlannedRequest, correlation_id: int) -> ResponseFields:
        """Return the next response without its header; it has to be that to a request."""
        fields = ResponseFields(await self.frame())
        if fields.number(4) != correlation_id:
            raise UnfitBroker("a response to another request")
        if request.is_flexible and request.api_key != API_VERSIONS:
            fields.skip_tags()
        return fields

    async def all_of(self, *requests: PlannedRequest) -> list[ResponseFields]:
        """Write requests, and return their responses."""
        ids = [self.write(each) for each in requests]
        return [await self.response(*each) for each in zip(requests, ids, strict=True)]

    def newest(self, api_key: int) -> int:
        """Return the newest version of an API that both ends have; -1 if there is none."""
        (own_low, own_high), (low, high) = OWN[api_key], self.table.get(api_key, (0, -1))
        return min(own_high, high) if max(own_low, low) <= min(own_high, high) else -1

    def common(self, api_key: int) -> int:
        """Return the newest version of an API that both ends have."""
        version = self.newest(api_key)
        if version < 0:
            raise UnfitBroker(f"the broker does not support a version of API {api_key} that we know")
        return version

    async def negotiate(self, version: int, *following: PlannedRequest) -> list[ResponseFields]:
        """Get the table, with further requests on their way; return the responses to these."""
        request = about_versions(version)
        ids = [self.write(each) for each in (request, *following)]
        code = await self.read_table(request, ids[0])
        # Nothing more is read after another error than that of an unknown version.
        rest = [await self.response(*each) for each in zip(following, ids[1:], strict=True)]
        if code is not None:
            await self.negotiate(code)
        return rest

    async def read_table(self, request: PlannedRequest, correlation_id: int) -> int | None:
        """Read a table; return the version to ask in next if this one was refused, or None."""
        response = await self.response(request, correlation_id)
        error = response.number(2)
        if error == INVALID_REQUEST:
            raise RefusedByBroker("ApiVersions got INVALID_REQUEST")
        if error not in (0, UNSUPPORTED_VERSION) or (error and request.version == 0):
            raise UnfitBroker(f"ApiVersions v{request.version} got error {error}")
        ranges = response.table(0 if error else request.version)
        if error:
            low, high = ranges.get(API_VERSIONS, (0, 0))
            named = min(high, request.version - 1)
            return named if named >= low else 0
        if not ranges:
            raise UnfitBroker("the table has no usable range")
        self.table = ranges
        return None

    def work(self) -> list[PlannedRequest]:
        """Return what is asked of each broker."""
        requests = [about_brokers(self.common(METADATA))]
        coordinator = self.newest(FIND_COORDINATOR)
        return requests + ([about_coordinator(coordinator)] if coordinator >= 0 else [])

    async def authenticate(self, username: str, password: str) -> None:
        """Authenticate with SASL PLAIN."""
        token = b"\0" + username.encode() + b"\0" + password.encode()
        version = self.common(SASL_HANDSHAKE)
        step = self.common(SASL_AUTHENTICATE) if version == 1 else -1
        (handshake,) = await self.all_of(PlannedRequest(SASL_HANDSHAKE, version, old_text("PLAIN")))
        if (error := handshake.number(2)) != 0:
            raise RefusedByBroker(f"SaslHandshake got error {error}")
        if version == 0:
            self.write_frame(token)
            await self.frame()
            return
        body = struct.pack(">i", len(token)) + token
        (response,) = await self.all_of(PlannedRequest(SASL_AUTHENTICATE, step, body))
        if (error := response.number(2)) != 0:
            raise RefusedByBroker(f"SaslAuthenticate got error {error}")


class PipeliningClient:
    """What the client knows of the cluster, and its connections by broker."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        host, _, port = arguments.bootstrap.rpartition(":")
        self.bootstrap = host, int(port)
        self.brokers: dict[int, Address] = {}
        self.pipelines: dict[int | None, PipelinedConnection] = {}

    async def ask(self) -> None:
        """Ask at the bootstrap address if no broker is known, and then at all known brokers side by side."""
        try:
            if not self.brokers:
                self.brokers = await self.learn(None, self.bootstrap)
                self.pipelines.pop(None).writer.close()
            async with asyncio.TaskGroup() as group:
                found = [group.create_task(self.learn(*each)) for each in self.brokers.items()]
            self.brokers = found[-1].result()
        except BaseException:
            self.close()
            self.brokers = {}
            raise

    async def learn(self, node: int | None, address: Address) -> dict[int, Address]:
        """Ask one broker for the brokers of the cluster, on its connection or a new one."""
        pipeline = self.pipelines.get(node)
        if pipeline is not None:
            request, *others = pipeline.work()
            response, *_ = await pipeline.all_of(request, *others)
            return brokers_in(response, request.version)
        pipeline = self.pipelines[node] = await self.opened(address)
        first = OWN[API_VERSIONS][1]
        if not self.arguments.username:
            await pipeline.negotiate(first)
            return await self.learn(node, address)
        await pipeline.negotiate(0)
        await pipeline.authenticate(self.arguments.username, self.arguments.password)
        # The table from before authentication is the broker's as well.
        request, *others = pipeline.work()
        response, *_ = await pipeline.negotiate(max(pipeline.newest(API_VERSIONS), 0), request, *others)
        return brokers_in(response, request.version)

    async def opened(self, address: Address) -> PipelinedConnection:
        """Open a connection."""
        context = None
        if self.arguments.tls_ca:
            context = ssl.create_default_context(cafile=self.arguments.tls_ca)
            context.check_hostname = False
        return PipelinedConnection(*await asyncio.open_connection(*address, ssl=context))

    def close(self) -> None:
        """Close all connections."""
        for pipeline in self.pipelines.values():
            pipeline.writer.close()
        self.pipelines = {}


PROBLEMS = (UnfitBroker, OSError, EOFError)


def cause(error: BaseException) -> BaseException:
    """Return the first error of a group."""
    return cause(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def run(arguments: argparse.Namespace) -> BaseException | None:
    """Ask until it succeeds or the time is over, or again and again; return the last problem."""
    client = PipeliningClient(arguments)
    clock = asyncio.get_running_loop().time
    end = clock() + arguments.seconds
    pause, problem, has_worked = FIRST_PAUSE_S, None, False
    while True:
        try:
            async with asyncio.timeout_at(end):
                await client.ask()
            pause, problem, has_worked = FIRST_PAUSE_S, None, True
        except* PROBLEMS as group:
            # The end of the time cuts an attempt off, which says nothing about the broker.
            if clock() < end or not has_worked:
                problem = cause(group)
        is_over = problem is None or isinstance(problem, RefusedByBroker)
        if (is_over and not arguments.again) or clock() + pause >= end:
            client.close()
            return problem
        await asyncio.sleep(pause)
        if problem is not None:
            pause = min(2 * pause, MAX_PAUSE_S)


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--tls-ca")
    parser.add_argument("--username")
    parser.add_argument("--password")
    problem = asyncio.run(run(parser.parse_args()))
    if problem is not None:
        sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
