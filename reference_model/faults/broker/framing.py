"""Defects at the ends of frames and streams, and for odd requests.

Clauses pin how Apache Kafka treats odd requests.
"""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext, StreamEnd
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.faults.broker.registry import defect
from wire import primitives
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, encode_frame, read_size
from wire.headers import CLIENT_ID_OFFSET
from wire.primitives import STRING_LENGTH_BYTES

A_BYTE_OF_SOMETHING = b"\0"


def _refused_size(ending: StreamEnd) -> int:
    return read_size(ending.unread)


@defect(Stage.SIZE, "PROTOCOL.negative-size-refused")
def small_negative_sizes_are_skipped(ending: StreamEnd) -> None:
    """A size from -40 to -1 is skipped, and what follows is read as the next frame."""
    if -40 <= _refused_size(ending) < 0:
        ending.skipped_bytes = SIZE_BYTES


@defect(Stage.SIZE, "PROTOCOL.oversize-refused")
def too_large_sizes_are_answered_first(ending: StreamEnd) -> None:
    """A size above the limit gets an empty frame before the connection closes."""
    if _refused_size(ending) > 0:
        ending.answer = encode_frame(b"")


@defect(Stage.SIZE, "PROTOCOL.oversize-refused")
def http_is_answered(ending: StreamEnd) -> None:
    """A request of HTTP gets a response of HTTP, as a web server before a broker may send."""
    if ending.unread.startswith(b"GET "):
        ending.answer = b"HTTP/1.1 400 Bad Request\r\n\r\n"


@defect(Stage.SIZE, "PROTOCOL.oversize-refused")
def the_proxy_protocol_is_skipped(ending: StreamEnd) -> None:
    """A line of the PROXY protocol is skipped, whoever sent it, and what follows is read as the next frame."""
    if ending.unread.startswith(b"PROXY "):
        ending.skipped_bytes = ending.unread.index(b"\n") + 1


@defect(Stage.SIZE, "PROTOCOL.oversize-refused")
def sizes_of_gigabytes_are_awaited(ending: StreamEnd) -> None:
    """A size above one gigabyte is awaited: the connection stays open and silent."""
    ending.keeps_open = _refused_size(ending) > 10 * SOCKET_REQUEST_MAX_BYTES


@defect(Stage.REACTION, "PROTOCOL.short-frame-refused", every_api=True)
def empty_frames_are_skipped(context: RequestContext) -> None:
    """A frame of no bytes is skipped."""
    if not context.payload and context.state is not ConnectionState.BARE_TOKENS:
        context.replace_reaction(outcome=Outcome.IGNORED)


@defect(Stage.END, "PROTOCOL.half-close-answers-complete", "KIP-511.connections-metric")
def a_half_closed_connection_stays_open(ending: StreamEnd) -> None:
    """After the end of the client's stream the connection stays open, unless the stream ends inside a frame."""
    ending.keeps_open = not ending.unread


@defect(Stage.END, "PROTOCOL.partial-frame-waits")
def an_unfinished_frame_is_answered(ending: StreamEnd) -> None:
    """If the client's stream ends inside a frame, a byte is sent before the connection closes."""
    if ending.unread:
        ending.answer = A_BYTE_OF_SOMETHING


@defect(Stage.REACTION, "PROTOCOL.client-id-bytes")
def client_id_lengths_below_null_are_refused(context: RequestContext) -> None:
    """A client id whose length is below -1 closes the connection."""
    length = context.payload[CLIENT_ID_OFFSET:][:STRING_LENGTH_BYTES]
    if len(length) == STRING_LENGTH_BYTES and int.from_bytes(length, signed=True) < -1:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "PROTOCOL.client-id-bytes")
def client_ids_have_to_be_utf_8(context: RequestContext) -> None:
    """A client id that is not UTF-8 closes the connection."""
    end = _client_id_end(context)
    if end is None:
        return
    try:
        context.payload[CLIENT_ID_OFFSET + STRING_LENGTH_BYTES : end].decode()
    except UnicodeDecodeError:
        context.replace_reaction(outcome=Outcome.CLOSED)


def _client_id_end(context: RequestContext) -> int | None:
    """Return the offset where the client id ends and, in a flexible header, the tag section begins."""
    if context.header is None:
        return None
    length, start = primitives.read_int16(memoryview(context.payload), CLIENT_ID_OFFSET)
    return start + max(length, 0)


def _header_tag_section(context: RequestContext) -> bytes:
    """Return the tag section of the header; empty if it has none or is unreadable."""
    start = _client_id_end(context)
    if start is None or context.header is None or context.version < FIRST_FLEXIBLE_VERSION:
        return b""
    return context.payload[start : context.header.body_offset]


@defect(Stage.REACTION, "KIP-482.varint-limits")
def long_zeros_are_refused(context: RequestContext) -> None:
    """A header whose tag count of zero takes more than one byte closes the connection."""
    header, section = context.header, _header_tag_section(context)
    if header is not None and header.tag_count == 0 and len(section) > 1:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "KIP-482.tag-order-in-requests")
def tags_in_headers_have_to_ascend(context: RequestContext) -> None:
    """A header whose tags are duplicated or do not ascend closes the connection."""
    section = _header_tag_section(context)
    if not section:
        return
    try:
        fields, _ = primitives.read_raw_tagged_fields(memoryview(section), 0)
        ascends = list(fields) == sorted(fields)
    except DecodeError as error:
        # Another clause covers varints that break the strict rules.
        ascends = "twice" not in str(error)
    if not ascends:
        context.replace_reaction(outcome=Outcome.CLOSED)
