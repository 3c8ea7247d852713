"""A broker that does what a run has recorded of it, without a socket.

A property judges it as it judges any broker, and cannot notice the difference as long as it sends what the run has
recorded. Whatever else it sends, or wants to know, ends the example with `NotRecorded`: nothing is guessed.

What the rows of a run do not have, and this broker therefore does as a healthy one:

- it keeps a connection open after a response, and answers the sentinel after it;
- it answers at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from fixtures.client.access import ClientCertificate, SaslAccess
from fixtures.client.connection import Connection
from fixtures.client.patience import Patience
from fixtures.client.tls_stream import TlsShape
from fixtures.client.transport import Transport
from fixtures.kafka_setup.sasl_credentials import newest_handshake
from fixtures.registry.targets import Target
from fixtures.under_test.in_memory import LAUNCHER, NOWHERE, InMemoryBroker, InMemoryTarget, InMemoryTransport
from reference_model.broker.model.state_machine import MECHANISMS
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.sasl import CREDENTIALS
from reference_model.judging.rejudging import RecordedExchange
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, FrameReader, encode_frame
from wire.headers import CORRELATION_ID_BYTES
from wire.sentinel import SENTINEL_CORRELATION_ID, sentinel_for

_ID_OF_REQUEST = slice(SIZE_BYTES + 4, SIZE_BYTES + 4 + CORRELATION_ID_BYTES)
"""Where a request's correlation id is: after its size, API key and version."""
_ID_OF_RESPONSE = slice(SIZE_BYTES, SIZE_BYTES + CORRELATION_ID_BYTES)


_NO_ERROR_AND_EMPTY = bytes(6)
"""The body of the response to a sentinel: an error code and an empty list."""
_SENTINELS = tuple(
    sentinel_for(other, before_authentication=before).data
    for other in (SENTINEL_CORRELATION_ID, SENTINEL_CORRELATION_ID + 1)
    for before in (False, True)
)
OTHER_REQUESTS = "the stored requests cannot be drawn again"
"""Why an example is not judged: its drawn values, or what it depends on, are not those of the stored example."""


class NotRecorded(Exception):
    """A property did something that the run has not recorded; the message says what."""


@dataclass(slots=True)
class Record:
    """What a run has recorded of one target, and which example is played.

    Attributes:
        first: by listener, what became of each request that was the first one of an example, by `without_id`.
        left: the exchanges of the played example that were not asked for yet; None while no example is played, so that
            every request is answered from `first`.
        lacks: what was asked for and is not recorded; empty as long as everything was.
    """

    first: Mapping[str, Mapping[bytes, RecordedExchange]]
    left: deque[RecordedExchange] | None = None
    lacks: str = ""

    def begin(self, exchanges: Iterable[RecordedExchange] | None) -> None:
        """Begin to play an example; None for none."""
        self.left = None if exchanges is None else deque(exchanges)
        self.lacks = ""

    def lack(self, what: str) -> NotRecorded:
        """Note something that is not recorded, and return the error to raise."""
        self.lacks = self.lacks or what
        return NotRecorded(what)


def without_id(sent: bytes) -> bytes:
    """Return a request without its correlation id, because a target treats requests alike that differ in it alone."""
    return sent[: _ID_OF_REQUEST.start] + sent[_ID_OF_REQUEST.stop :]


class RecordedConnection:
    """One connection to the broker; a `reference_model.broker.model.served_connection.ServedConnection`."""

    pause: None = None

    def __init__(self, record: Record, listener: str, *, is_of_example: bool) -> None:
        """Open it; one that is not of the example is answered from what other examples have shown."""
        self.state = ConnectionState.OPEN
        self._record = record
        self._listener = listener
        self._is_of_example = is_of_example
        self._unread = b""
        self._output = b""
        self._is_silent = False

    def receive_data(self, data: bytes) -> None:
        """Answer the requests that are complete.

        Raises:
            NotRecorded: one is not recorded.
        """
        self._unread += data
        while self._unread and not self._is_silent and self.state is not ConnectionState.CLOSED:
            if not (self._takes_sentinel() or self._takes_request()):
                return

    def _takes_sentinel(self) -> bool:
        for each in _SENTINELS:
            if self._unread.startswith(each):
                self._unread = self._unread[len(each) :]
                self._output += encode_frame(each[_ID_OF_REQUEST] + _NO_ERROR_AND_EMPTY)
                return True
        return False

    def _takes_request(self) -> bool:
        """Answer the next request; return False if more of it has to come."""
        exchange = self._next_of_example() if self._is_of_example else self._seen_elsewhere()
        if exchange is None:
            return False
        self._unread = self._unread[len(exchange.sent) :]
        received = exchange.received or b""
        if exchange.outcome == Outcome.ANSWER and not _is_one_frame(received):
            raise self._record.lack("what came with the response is not recorded in its order")
        self._output += received
        if exchange.outcome == Outcome.CLOSED:
            self.state = ConnectionState.CLOSED
        self._is_silent = exchange.outcome == Outcome.SILENT
        return True

    def _next_of_example(self) -> RecordedExchange | None:
        left = self._record.left
        if not left or not (self._unread.startswith(left[0].sent) or left[0].sent.startswith(self._unread)):
            raise self._record.lack(OTHER_REQUESTS)
        return left.popleft() if self._unread.startswith(left[0].sent) else None

    def _seen_elsewhere(self) -> RecordedExchange | None:
        reader = FrameReader()
        reader.receive_data(self._unread)
        try:
            payload = reader.next_payload()
        except DecodeError:
            payload = None
        if payload is None:
            return None
        sent = encode_frame(payload)
        found = self._record.first.get(self._listener, {}).get(without_id(sent))
        if found is None:
            raise self._record.lack("the property asks for something that no stored example has sent")
        received = found.received
        if received is not None and received[_ID_OF_RESPONSE] == found.sent[_ID_OF_REQUEST]:
            received = received[:SIZE_BYTES] + sent[_ID_OF_REQUEST] + received[_ID_OF_RESPONSE.stop :]
        return RecordedExchange(step=0, sent=sent, outcome=found.outcome, received=received)

    def receive_eof(self) -> None:
        """Refuse to say what a broker does at the end of our stream.

        Raises:
            NotRecorded: always.
        """
        raise self._record.lack("what the target did at the end of our stream is not stored")

    def resume(self) -> None:
        """Do nothing: there are no pauses."""

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""
        data, self._output = self._output, b""
        return data

    def drop(self) -> None:
        """Close the connection."""
        self.state = ConnectionState.CLOSED


def _is_one_frame(data: bytes) -> bool:
    return len(data) >= SIZE_BYTES and data == encode_frame(data[SIZE_BYTES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTarget(InMemoryTarget):
    """A target of a run; `record` is what the run has recorded of it."""

    record: Record


class RecordedBroker(InMemoryBroker):
    """One listener of a `RecordedTarget`."""

    _is_apart = True

    def connect(
        self,
        *,
        authenticate: bool = True,
        plain: bool = False,
        certificate: ClientCertificate = ClientCertificate.TRUSTED,
        shape: TlsShape | None = None,
        silence_bound_s: float | None = None,
    ) -> Connection:
        """Open a connection of the example that is played; see `Listener.connect`."""
        self._is_apart = False
        try:
            return super().connect(
                authenticate=authenticate,
                plain=plain,
                certificate=certificate,
                shape=shape,
                silence_bound_s=silence_bound_s,
            )
        finally:
            self._is_apart = True

    def _open(
        self,
        *,
        tls: bool,
        certificate: ClientCertificate = ClientCertificate.TRUSTED,
        shape: TlsShape | None = None,
    ) -> Transport:
        record = self._record
        if certificate is not ClientCertificate.TRUSTED or shape is not None:
            raise record.lack("what the target did in the TLS handshake is not stored")
        is_of_example = record.left is not None and not self._is_apart
        return InMemoryTransport(RecordedConnection(record, self.listener, is_of_example=is_of_example))

    def begin(self, exchanges: Iterable[RecordedExchange] | None) -> None:
        """Begin to play an example; None for none."""
        self.begin_example()
        self._record.begin(exchanges)

    @property
    def is_played(self) -> bool:
        """Whether all that the example exchanged was asked for, and nothing else."""
        return not self._record.left and not self._record.lacks

    @property
    def _record(self) -> Record:
        assert isinstance(self.running, RecordedTarget)
        return self.running.record

    @property
    def can_restart(self) -> bool:
        """Whether it can be started again: it cannot."""
        return False

    def restart(self) -> None:
        """Refuse to start again.

        Raises:
            NotRecorded: always.
        """
        raise self._record.lack("what a target does that is started again is not stored")


def recorded_broker(target: Target, listeners: Sequence[str], record: Record) -> RecordedBroker:
    """Return the first listener of a target of a run; the others are its siblings."""
    running = RecordedTarget(
        target=target,
        launcher=LAUNCHER,
        addresses=dict.fromkeys(listeners, NOWHERE),
        # What the suite starts knows these credentials; of others, the tokens are not stored.
        sasl=SaslAccess(**asdict(CREDENTIALS), mechanisms=MECHANISMS, handshake_version=newest_handshake(target)),
        served={},
        record=record,
    )
    return RecordedBroker(running, listeners[0], patience=Patience(math.inf))
