"""The proxy of `watch`, between an application and its brokers.

It passes bytes on unchanged and reads only headers.

- Bytes are passed on as they arrive. Only a response that names brokers or versions is kept until it is complete.
- The memory of a connection is bounded: a side that reads slowly stops the other one.
- The end of one direction ends that direction, and a reset is passed on as a reset.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from fixtures.client.addresses import Address
from fixtures.recording_proxy.frame_reader import Decoder
from reference_model.profiles.known_apis import label_of
from reports.wording.escaping import cut
from upgrade.prediction.observed_requests import MAX_NOTES
from upgrade.prediction.releases import Release
from upgrade.watching.pending_requests import PendingRequests
from upgrade.watching.rehearsal import Rehearsal
from upgrade.watching.request_head import RequestHead
from upgrade.watching.request_headers import RequestHeaders
from upgrade.watching.responses import HeldResponse, Responses
from upgrade.watching.sockets import close, connect, end, listen, newest_api_versions, reason_of, reset, write
from upgrade.watching.tls_sides import TlsSides
from upgrade.watching.watcher import WatchedConnection, Watcher
from wire.api_keys import API_VERSIONS_KEY
from wire.broker_addresses import HostAndPort, addresses_in, with_addresses
from wire.frames import encode_frame

CHUNK_BYTES = 1 << 18
ENDING_S = 30.0
"""How long open requests may take once the proxy is to end: as long as clients wait for a response by default."""
WRITES_ENDING_S = 5.0
"""The same for a connection with nothing open but writes, of which none was answered before: they may have acks=0."""
MAX_BROKERS = 1000
MAX_OBSTACLE = 400
"""In characters; a host name has at most 253."""
_GOES_AROUND = "so the client may connect to brokers directly"
_END_LOOK_S = 0.05


class CannotListen(Exception):
    """The address to listen on cannot be used; the message says why."""


class _ClosedByRelease(Exception):
    """The release that is rehearsed closes a connection."""


@dataclass(slots=True)
class _Broker:
    """One listen address, and the addresses of the broker that it leads to."""

    addresses: Sequence[Address]
    server: asyncio.Server
    port: int


@dataclass(slots=True, eq=False)
class _RelayedConnection:
    """One open connection."""

    watched: WatchedConnection
    client: asyncio.StreamWriter
    pending: PendingRequests = field(default_factory=PendingRequests)
    broker: asyncio.StreamWriter | None = None
    rehearsal: Rehearsal | None = None
    headers: RequestHeaders | None = None
    responses: Responses | None = None
    is_changing: bool = False

    def is_idle(self, *, may_wait_for_writes: bool) -> bool:
        """Return whether no request and no response is in progress.

        A request is in progress while it is incomplete or waits for its response, a response while it is incomplete or
        being changed.

        Args:
            may_wait_for_writes: whether a request that may be a write with acks=0 counts as one that waits.
        """
        if self.is_changing:
            return False
        sides = (self.headers, self.responses)
        has_none = not self.pending or (self.pending.may_all_stay_unanswered and not may_wait_for_writes)
        return has_none and all(each is None or each.is_between_frames for each in sides)


class WatchProxy:
    """A proxy in front of a cluster.

    Attributes:
        watcher: what was found out.
        obstacles: what kept the application from a broker, each a sentence; at most `MAX_NOTES`, however many brokers
            are named.
    """

    def __init__(self, watcher: Watcher, tls_sides: TlsSides, rehearsed: Release | None = None) -> None:
        """Open nothing yet.

        Args:
            watcher: gets what is found out.
            tls_sides: TLS on both sides.
            rehearsed: the release that the brokers are made to look like; None for none.
        """
        self.watcher = watcher
        self.obstacles: dict[str, None] = {}
        self._tls_sides = tls_sides
        self._rehearsed = rehearsed
        self._rehearsals: dict[Address, Rehearsal] = {}
        self._host = ""
        self._brokers: list[_Broker] = []
        self._ports: dict[HostAndPort, int] = {}
        self._opening = asyncio.Lock()
        self._open: dict[asyncio.Task[None], _RelayedConnection] = {}
        self._decoder = Decoder()
        self._is_ending = False

    async def listen(self, address: Address, brokers: Sequence[Address]) -> Address:
        """Listen for the application, and return the address with the chosen port.

        Port 0 lets the operating system choose. Brokers are tried in order.

        Raises:
            CannotListen: the address cannot be used.
        """
        self._host = address.host
        try:
            port = await self._serve(address.port, brokers)
        except OSError as error:
            raise CannotListen(f"cannot listen on {address}: {error.strerror or error}") from error
        if len(brokers) == 1:
            self._ports[brokers[0].host, brokers[0].port] = port
        return Address(address.host, port)

    async def end(self, at_once: asyncio.Event | None = None) -> None:
        """Stop accepting connections and requests, wait for pending responses, and close everything.

        The waiting ends early when `at_once` is set.
        """
        self._is_ending = True
        for broker in self._brokers:
            broker.server.close()
        for opened in self._open.values():
            if opened.headers is not None:
                opened.headers.end_with_frame()
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._open and loop.time() < began + ENDING_S:
            if at_once is not None and at_once.is_set():
                break
            patient = loop.time() < began + WRITES_ENDING_S
            idle = [task for task, each in self._open.items() if each.is_idle(may_wait_for_writes=patient)]
            self._cancel(idle)
            await asyncio.wait(self._open, timeout=_END_LOOK_S)
        self._cancel(list(self._open))
        await asyncio.gather(*self._open, return_exceptions=True)
        self._decoder.end()

    def obstruct(self, sentence: str) -> None:
        """Remember what kept the application from a broker; the host in a sentence can have 32 KiB."""
        if len(self.obstacles) < MAX_NOTES:
            self.obstacles[cut(sentence, MAX_OBSTACLE)] = None

    def _cancel(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Cancel connections, each once: another time would end the writing of what is buffered."""
        for task in tasks:
            if not task.cancelling():
                task.cancel()

    async def _serve(self, port: int, brokers: Sequence[Address]) -> int:
        node = len(self._brokers)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.carry(node, reader, writer)

        server, chosen = await listen(serve, Address(self._host, port), self._tls_sides)
        self._brokers.append(_Broker(brokers, server, chosen))
        return chosen

    async def carry(self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection of the application to its end."""
        task = asyncio.current_task()
        assert task is not None
        address = str((writer.get_extra_info("peername") or ("",))[0])
        opened = _RelayedConnection(self.watcher.opened(address, node), writer)
        self._open[task] = opened
        try:
            broker_reader, broker = await self._connect(opened, self._brokers[node].addresses)
            opened.broker = broker
            await self._carry_both(opened, reader, broker_reader, broker)
        except OSError:
            reset(writer)
            if opened.broker is not None:
                reset(opened.broker)
        except asyncio.CancelledError:
            # Only `end` cancels; what is open is closed below.
            pass
        finally:
            for side in (writer, opened.broker):
                if side is not None:
                    await close(side)
            self.watcher.over(opened.watched)
            del self._open[task]

    async def _carry_both(
        self,
        opened: _RelayedConnection,
        reader: asyncio.StreamReader,
        broker_reader: asyncio.StreamReader,
        broker: asyncio.StreamWriter,
    ) -> None:
        is_reset = False
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_requests(opened, reader, broker))
                both.create_task(self._pass_responses(opened, broker_reader))
        except* _ClosedByRelease:
            self.watcher.closed(opened.watched, by_client=False)
        except* OSError:
            # Raised below: what is raised here reaches the caller of Python 3.11.2 in a group.
            is_reset = True
        if is_reset:
            raise ConnectionResetError

    async def _pass_requests(
        self, opened: _RelayedConnection, reader: asyncio.StreamReader, broker: asyncio.StreamWriter
    ) -> None:
        def requested(head: RequestHead) -> None:
            opened.pending.add(head)
            self.watcher.requested(opened.watched, head)
            if head.api_key != API_VERSIONS_KEY:
                # A client id has up to 32 KiB, and many requests may wait.
                head.client_id, head.data = None, b""

        substitute = None if opened.rehearsal is None else opened.rehearsal.substitute
        headers = opened.headers = RequestHeaders(requested, substitute)
        while data := await reader.read(CHUNK_BYTES):
            was_read = not headers.problem
            parts = headers.feed(data)
            if was_read and headers.problem:
                self.watcher.miss_rest(
                    opened.watched,
                    f"a connection is passed on unread from here on: {headers.problem}",
                )
            await write(broker, parts)
        await write(broker, [headers.held])
        self.watcher.closed(opened.watched, by_client=True)
        end(broker)

    async def _pass_responses(self, opened: _RelayedConnection, reader: asyncio.StreamReader) -> None:
        def answered(head: RequestHead, start: bytes) -> None:
            if head.api_key != API_VERSIONS_KEY:
                self.watcher.answered(opened.watched, head, start)

        def unread(head: RequestHead, size: int) -> None:
            what = f"a {label_of(head.api_key)} v{head.api_version} response of {size} bytes is not read"
            if head.api_key == API_VERSIONS_KEY:
                self.watcher.note(opened.watched, what)
            else:
                self.watcher.miss_rest(opened.watched, f"{what}, {_GOES_AROUND}")

        responses = opened.responses = Responses(opened.pending, answered, unread)
        while data := await reader.read(CHUNK_BYTES):
            parts: list[bytes | memoryview] = []
            for part in responses.feed(data):
                if not isinstance(part, HeldResponse):
                    parts.append(part)
                    continue
                opened.is_changing = True
                changed = await self._for_client(opened, part)
                opened.is_changing = False
                if changed is None:
                    # The release that is rehearsed closes the connection here.
                    await write(opened.client, parts)
                    raise _ClosedByRelease
                parts.append(changed)
            await write(opened.client, parts)
        await write(opened.client, [responses.held])
        self.watcher.closed(opened.watched, by_client=False)
        end(opened.client)

    async def _for_client(self, opened: _RelayedConnection, held: HeldResponse) -> bytes | None:
        """Return a response, with its size, as the application gets it; None to close the connection."""
        head, payload = held.request, held.payload
        if head.answer is not None:
            answer = head.answer(payload)
            if answer is None:
                return None
            payload = answer
        if head.api_key == API_VERSIONS_KEY:
            frame = encode_frame(payload)
            self.watcher.take_table(opened.watched, head, frame)
            return frame
        asked = head.api_key, head.api_version
        named = await self._decoder.run(addresses_in, payload, *asked)
        if named is None:
            what = f"a {label_of(head.api_key)} v{head.api_version} response cannot be read"
            self.watcher.note(opened.watched, f"the addresses in {what}, {_GOES_AROUND}")
            return encode_frame(payload)
        host = self._host_for(opened.client)
        ours: dict[HostAndPort, HostAndPort] = {}
        # One more than there are listen addresses, so that it is noted that there is none for the others.
        for address in islice(dict.fromkeys(named), MAX_BROKERS + 1):
            port = await self._port_of(address)
            if port is not None:
                ours[address] = (host, port)
        return encode_frame(await self._decoder.run(with_addresses, payload, *asked, ours))

    def _host_for(self, client: asyncio.StreamWriter) -> str:
        """Return the host by which the application reached us."""
        name = client.get_extra_info("sockname")
        return str(name[0]) if name else self._host

    async def _port_of(self, address: HostAndPort) -> int | None:
        """Return our port that leads to a broker, which is opened if there is none; None if it cannot be opened."""
        async with self._opening:
            if address in self._ports:
                return self._ports[address]
            if len(self._brokers) >= MAX_BROKERS or self._is_ending:
                self.obstruct(f"no listen address is left for the broker {address[0]}:{address[1]}")
                return None
            try:
                port = await self._next_port(Address(*address))
            except OSError as error:
                why = error.strerror or error
                self.obstruct(f"no listen address for {address[0]}:{address[1]}: {why}")
                return None
            self._ports[address] = port
            return port

    async def _next_port(self, broker: Address) -> int:
        """Listen on the port after the last one, so that ports are predictable; on any free port if that is in use."""
        following = self._brokers[-1].port + 1
        with contextlib.suppress(OSError, OverflowError):
            return await self._serve(following, [broker])
        return await self._serve(0, [broker])

    @property
    def not_rehearsed(self) -> frozenset[int]:
        """The APIs that cannot be rehearsed, because a broker and the release serve no version in common."""
        return frozenset[int]().union(*(each.not_shared for each in self._rehearsals.values()))

    async def _connect(
        self, opened: _RelayedConnection, addresses: Sequence[Address]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first address that accepts, and find out how a release is rehearsed there.

        Raises:
            OSError: none does.
        """
        for address in addresses:
            try:
                opened.rehearsal = await self._rehearsal_at(address)
                return await connect(address, self._tls_sides)
            except OSError as error:
                self.obstruct(f"{address} cannot be reached: {reason_of(error)}")
        raise ConnectionRefusedError

    async def _rehearsal_at(self, address: Address) -> Rehearsal | None:
        """Return the rehearsal for a broker, or None if no release is rehearsed.

        The first call asks the broker for its newest version of ApiVersions.
        """
        if self._rehearsed is None:
            return None
        if address not in self._rehearsals:
            newest = await newest_api_versions(address, self._tls_sides)
            self._rehearsals[address] = Rehearsal(self._rehearsed, newest)
        return self._rehearsals[address]
