"""Recording of a scripted broker as steps.

Records, hex dumps and captures take exchanged bytes in this form.

The client sends, so a step's pieces are its bytes, and the response in the exchange is the scripted broker's. A step
without pieces is the end of a connection: by the broker if its `ended` is true, by the client otherwise.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from reference_model.clients.scripts.recording import Recording, SeenConnection, SeenRequest
from reference_model.clients.scripts.script import node_id
from reference_model.clients.scripts.transaction_steps import TRANSACTION_STEPS
from reference_model.profiles.listeners import TLS_LISTENERS
from wire.described_messages import CLUSTER_APIS, SASL_APIS
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, Step
from wire.frames import SIZE_BYTES, FrameReader
from wire.headers import RequestHeader


@dataclass(slots=True)
class _Stream:
    """The responses on one connection so far, split into frames as its client splits them.

    Attributes:
        reader: the frames; its unread bytes are those of an unfinished one.
        error: why no further frame can be read.
        indexes: where its requests are among the steps.
    """

    reader: FrameReader = field(default_factory=FrameReader)
    error: DecodeError | None = None
    indexes: list[int] = field(default_factory=list)

    def receive(self, data: bytes) -> list[bytes]:
        """Return the payloads that a response completes."""
        self.reader.receive_data(data)
        payloads: list[bytes] = []
        if self.error is None:
            try:
                while (payload := self.reader.next_payload()) is not None:
                    payloads.append(payload)
            except DecodeError as error:
                self.error = error
        return payloads


def steps_of(recording: Recording) -> tuple[Step, ...]:
    """Return the recorded requests in the order in which they came, each as a step, and how connections ended.

    If the broker ended a connection, its last step says so. There is a step without pieces if the client ended it, if
    no request came on it, or if later requests are not recorded.
    """
    nodes = {connection.number: connection.node for connection in recording.connections}
    streams: defaultdict[int, _Stream] = defaultdict(_Stream)
    steps: list[Step] = []
    for event in _events(recording):
        if isinstance(event, SeenRequest):
            stream = streams[event.connection]
            stream.indexes.append(len(steps))
            steps.append(_asked(event, stream))
        else:
            steps += _ended(event, streams[event.number], steps)
    tls = recording.script.listener in TLS_LISTENERS
    return tuple(
        dataclasses.replace(step, listener=node_name(nodes.get(step.connection, 0)), tls=tls) for step in steps
    )


def node_name(node: int) -> str:
    """Return what stands for a listener's name in a step: the first node, like a broker's own listener, has none."""
    return f"node {node_id(node)}" if node else ""


def _events(recording: Recording) -> Iterator[SeenRequest | SeenConnection]:
    """Return the requests and, where each ended, the connections, by time."""
    ends = sorted(
        recording.connections,
        key=lambda each: recording.duration_ms if each.closed_ms is None else each.closed_ms,
    )
    remaining = list(recording.requests)
    for connection in ends:
        until = connection.closed_ms
        while remaining and (until is None or remaining[0].at_ms <= until):
            yield remaining.pop(0)
        yield connection
    yield from remaining


def _asked(seen: SeenRequest, stream: _Stream) -> Step:
    is_in_step = not stream.reader.unread
    payloads = stream.receive(seen.response)
    # Bytes that an earlier response left unread make the client cut this one elsewhere.
    payload = payloads[0] if payloads and is_in_step else None
    stray = seen.response if payload is None else seen.response[SIZE_BYTES + len(payload) :]
    exchange = Exchange(
        request=_request(seen),
        outcome=Outcome.SILENT if payload is None else Outcome.ANSWER,
        payload=payload,
        usable=payload is not None,
        stray=stray,
        framing_error=stream.error,
    )
    return Step(
        connection=seen.connection,
        pieces=(seen.data,),
        exchanges=(exchange,),
        following=tuple(payloads if payload is None else payloads[1:]),
        unread=stream.reader.unread,
    )


def _ended(connection: SeenConnection, stream: _Stream, steps: list[Step]) -> Iterator[Step]:
    """Return the steps at the end of a connection; if the broker ended it, its last requests say so."""
    unread = stream.reader.unread
    by_broker = connection.closed_by == "broker"
    is_complete = len(stream.indexes) == connection.requests > 0
    if connection.unreadable:
        pieces = (connection.unreadable,)
        yield Step(connection=connection.number, pieces=pieces, unread=unread, ended=by_broker)
    elif by_broker and is_complete:
        last = stream.indexes[-1]
        steps[last] = dataclasses.replace(steps[last], ended=True)
    elif by_broker:
        yield Step(connection=connection.number, unread=unread, ended=True)
    if connection.closed_by == "client":
        yield Step(connection=connection.number, unread=unread)
    if by_broker and is_complete:
        _close_unanswered(stream, steps)


def _close_unanswered(stream: _Stream, steps: list[Step]) -> None:
    """Mark the requests after the last response of a connection that the broker ended."""
    for index in reversed(stream.indexes):
        (exchange,) = steps[index].exchanges
        if exchange.payload is not None:
            closed = dataclasses.replace(exchange, usable=not steps[index].ended)
            steps[index] = dataclasses.replace(steps[index], exchanges=(closed,))
            return
        closed = dataclasses.replace(exchange, outcome=Outcome.CLOSED)
        steps[index] = dataclasses.replace(steps[index], exchanges=(closed,))


def _request(seen: SeenRequest) -> Request:
    header = RequestHeader(
        request_api_key=seen.api_key,
        request_api_version=seen.api_version,
        correlation_id=seen.correlation_id,
        client_id=seen.client_id,
    )
    api = {**CLUSTER_APIS, **SASL_APIS, **TRANSACTION_STEPS}.get(seen.api_key)
    is_described = api is not None and seen.api_version in api.valid_versions
    return Request(
        data=seen.data,
        header=header,
        body=seen.body,
        broken=seen.problem,
        layout=api.layout(seen.api_version) if api is not None and is_described else None,
    )
