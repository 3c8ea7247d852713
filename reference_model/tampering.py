"""What a planted defect gets into its hands: one frame on its way through the broker, an end, the opening of TLS."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reference_model.answers import encode_body
from reference_model.connection_states import ConnectionState
from reference_model.reaction import Reaction
from reference_model.request_parser import ParsedHeader
from wire.api_versions import ApiVersionsResponse
from wire.codec import encode
from wire.frames import encode_frame
from wire.headers import ResponseHeader

if TYPE_CHECKING:
    from reference_model.state_machine import BrokerConnection, ReferenceBroker


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """How long a connection stands still for its quota.

    Attributes:
        milliseconds: how long.
        before_answer: whether the answer waits too; from Kafka 2.0 on it does not.
    """

    milliseconds: int
    before_answer: bool = False


@dataclass(slots=True, kw_only=True)
class Handling:
    """One frame on its way through the reference broker; a planted defect changes it at one stage.

    Attributes:
        broker: the broker that serves the connection.
        connection: the connection that the frame came on.
        state: where the connection stood when the frame came.
        payload: the frame without its size prefix.
        segments: in how many pieces the frame arrived.
        header: what was read of the header; None where it is unreadable, or a bare token.
        reaction: what the broker does.
        token: what answers a token of the client.
        response: the body of an answer to ApiVersions; None where there is none.
        answer: the answer's frame; empty where there is none.
        pause: for how long the connection then stands still; None for not at all.
    """

    broker: ReferenceBroker
    connection: BrokerConnection
    state: ConnectionState
    payload: bytes
    segments: int
    header: ParsedHeader | None
    reaction: Reaction
    token: bytes = b""
    response: ApiVersionsResponse | None = None
    answer: bytes = b""
    pause: Pause | None = None

    def encode_answer(
        self,
        *,
        layout: int | None = None,
        header_version: int = 0,
        raw: Mapping[str, bytes] | None = None,
    ) -> bytes:
        """Return the frame of the answer there is; a defect asks for another form than the right one."""
        assert self.header is not None
        assert self.response is not None
        header = ResponseHeader(correlation_id=self.header.correlation_id)
        version = self.reaction.layout if layout is None else layout
        if raw:
            body = encode(self.response, version=version, raw=raw)
        else:
            body = encode_body(self.response, version)
        return encode_frame(encode(header, version=header_version) + body)


@dataclass(slots=True, kw_only=True)
class TlsOpening:
    """The first bytes on a TLS listener, and what is made of them.

    Attributes:
        listener: the listener's name.
        first_bytes: what the client sent first.
        open_connections: how many connections to the listener are open, this one included.
        serves_plaintext: whether Kafka's protocol is spoken without TLS.
        certificate_required: whether a client without a certificate is turned away.
    """

    listener: str
    first_bytes: bytes
    open_connections: int = 1
    serves_plaintext: bool = False
    certificate_required: bool = False


@dataclass(slots=True, kw_only=True)
class Ending:
    """What ends a connection: a size prefix that is refused, or the end of the client's stream.

    Attributes:
        connection: the connection.
        unread: what arrived and is no whole frame; of a refused frame it begins with the size prefix.
        answer: what is sent before the connection closes: nothing.
        keeps_open: whether the connection stays open instead.
        skipped_bytes: how many bytes of `unread` are left out behind a refused size, so as to read on.
    """

    connection: BrokerConnection
    unread: bytes
    answer: bytes = b""
    keeps_open: bool = False
    skipped_bytes: int = 0


class Stage(enum.Enum):
    """When a planted defect acts, and on what.

    On one `Handling`: on the decision, on the message (answers to ApiVersions alone), on the bytes. On the
    list of all answers of a read. On the `Ending` that a refused size or the client's end of stream is. On the
    `TlsOpening` of a connection. On the `Counts` of the metric each time
    that it is asked for. On the entry (a dict) of the request log before it is written.
    """

    REACTION = "reaction"
    RESPONSE = "response"
    ANSWER = "answer"
    READ = "read"
    SIZE = "size"
    END = "end"
    TLS = "tls"
    METRIC = "metric"
    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampering:
    """What a planted defect does; `Stage` says what it gets."""

    stage: Stage
    act: Callable[[Any], None]
