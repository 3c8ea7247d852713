"""Defects against KIP-35 and KIP-511: the treatment of unsupported versions."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.reaction import Listing
from reference_model.faults.broker.kip_035 import change_own_entry
from reference_model.faults.broker.protocol import close_after_the_answer
from reference_model.faults.broker.registry import OPEN_LISTENERS, defect
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import encode_frame
from wire.headers import ResponseHeader

V0_LAYOUT = "KIP-511.unsupported-version-answered-in-v0"
NAMES_RANGE = "KIP-511.unsupported-version-names-range"
TRUE_RANGE = "KIP-511.unsupported-range-is-true"
ONLY_ITSELF = "KIP-511.unsupported-table-is-only-itself"
GIVES_35 = "KIP-35.unknown-version-gives-35"
REVERTS = "KIP-35.revert-to-v0-on-same-connection"
KEPT = "PROTOCOL.well-formed-never-closed"


@defect(Stage.ANSWER, "KIP-35.negative-version-gives-35")
def negative_versions_get_a_bare_header(context: RequestContext) -> None:
    """The response to a negative version is the correlation id and nothing else."""
    answer_bytes(context, b"")


def answer_bytes(context: RequestContext, body: bytes) -> None:
    """Answer a negative version with these bytes after the header."""
    if context.version < 0:
        replace_body(context, body)


def replace_body(context: RequestContext, body: bytes) -> None:
    """Answer with these bytes after the header, if there is a response."""
    if context.answer and context.header is not None:
        header = ResponseHeader(correlation_id=context.header.correlation_id)
        context.answer = encode_frame(encode(header, version=0) + body)


@defect(Stage.ANSWER, "KIP-35.error-code-first", listeners=OPEN_LISTENERS)
def the_next_version_gets_a_bare_header(context: RequestContext) -> None:
    """The response to the version after the newest is the correlation id and nothing else."""
    if context.version == NEWEST_VERSION + 1:
        replace_body(context, b"")


@defect(Stage.ANSWER, "KIP-35.error-code-first", listeners=OPEN_LISTENERS)
def large_versions_get_a_one_byte_error(context: RequestContext) -> None:
    """The response to a version from 256 up has an error code of one byte."""
    if context.refuses_version and context.version >= 256:
        replace_body(context, b"\x23")


@defect(Stage.ANSWER, "KIP-35.error-code-first", listeners=OPEN_LISTENERS)
def every_second_version_gets_a_bare_header(context: RequestContext) -> None:
    """The response to an odd version that is not served is the correlation id and nothing else."""
    if context.refuses_version and context.version > 0 and context.version % 2:
        replace_body(context, b"")


@defect(Stage.ANSWER, "KIP-35.negative-version-gives-35")
def negative_versions_get_a_one_byte_error(context: RequestContext) -> None:
    """The response to a negative version has an error code of one byte."""
    answer_bytes(context, b"\x23")


@defect(Stage.ANSWER, "KIP-35.negative-version-gives-35")
def negative_versions_get_a_little_endian_error(context: RequestContext) -> None:
    """The error code for a negative version is written with its low byte first."""
    answer_bytes(context, b"\x23\x00" + bytes(4))


@defect(Stage.RESPONSE, "KIP-35.unknown-version-gives-35", listeners=OPEN_LISTENERS)
def unknown_versions_get_another_error(context: RequestContext) -> None:
    """A version above the maximum gets INVALID_REQUEST."""
    if context.refuses_version and context.version > 0:
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "KIP-35.negative-version-gives-35")
def negative_versions_are_served_as_v0(context: RequestContext) -> None:
    """A negative version is served as if it were v0."""
    if context.refuses_version and context.version < 0:
        context.serve_in(0)


@defect(Stage.RESPONSE, "KIP-35.revert-to-v0-on-same-connection")
def a_connection_stays_refused(context: RequestContext) -> None:
    """After one UNSUPPORTED_VERSION, every later response on the connection has the same error."""
    if context.has_seen("a refusal", now=context.refuses_version):
        context.replace_response(error_code=ErrorCode.UNSUPPORTED_VERSION)


@defect(Stage.ANSWER, "KIP-511.unsupported-version-answered-in-v0")
def unsupported_versions_are_answered_in_v1(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION is written in the v1 layout, with a throttle time after the table."""
    if context.refuses_version and context.version > 0:
        context.answer = context.encode_answer(layout=1)


@defect(Stage.RESPONSE, "KIP-511.unsupported-version-names-range")
def unsupported_versions_get_an_empty_table(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION comes with an empty table."""
    if context.refuses_version:
        context.replace_response(api_keys=())


@defect(Stage.RESPONSE, "KIP-511.unsupported-range-is-true")
def unsupported_versions_name_a_narrower_range(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION names a maximum one below the true one."""
    if context.refuses_version:
        newest = context.broker.profile.traits.api_versions_max
        change_own_entry(context, max_version=newest - 1)


@defect(Stage.REACTION, GIVES_35, listeners=OPEN_LISTENERS)
def versions_above_the_newest_are_served_in_v0(context: RequestContext) -> None:
    """A version above the maximum is served in the layout of v0."""
    if context.refuses_version and context.version > 0:
        context.serve_in(0)


@defect(Stage.REACTION, "KIP-511.unsupported-table-is-only-itself")
def unsupported_versions_get_the_whole_table(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION comes with the complete table."""
    if context.refuses_version:
        context.replace_reaction(listing=Listing.EVERYTHING)


@defect(Stage.REACTION, "KIP-511.unparsed-when-unsupported")
def bodies_of_unsupported_versions_are_parsed(context: RequestContext) -> None:
    """A version above the maximum closes the connection if its body does not decode as the newest version."""
    if has_strange_body(context):
        context.replace_reaction(outcome=Outcome.CLOSED)


def has_strange_body(context: RequestContext) -> bool:
    """Return whether a refused version has a non-empty body that does not decode as the newest version."""
    header = context.header
    if header is None or not context.refuses_version or header.api_version < 0:
        return False
    body = context.payload[header.body_offset :]
    try:
        decode(ApiVersionsRequest, body, version=NEWEST_VERSION)
    except DecodeError:
        return body != b""
    return False


@defect(Stage.RESPONSE, "KIP-511.unparsed-when-unsupported")
def strange_bodies_of_unsupported_versions_empty_the_table(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION comes with an empty table if the body is unreadable."""
    if has_strange_body(context):
        context.replace_response(api_keys=())


@defect(Stage.RESPONSE, "KIP-511.unparsed-when-unsupported")
def strange_bodies_of_unsupported_versions_get_invalid_request(context: RequestContext) -> None:
    """An unsupported version with an unreadable body gets INVALID_REQUEST."""
    if has_strange_body(context):
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(
    Stage.REACTION,
    GIVES_35,
    "PROTOCOL.bad-version-of-known-api-refused",
    "PROTOCOL.unknown-api-refused",
    listeners=OPEN_LISTENERS,
)
def the_next_version_is_served_as_the_newest(context: RequestContext) -> None:
    """The version after the newest is answered as the newest, without an error, as by Tansu 0.6.0."""
    if context.version == NEWEST_VERSION + 1:
        context.serve_in(NEWEST_VERSION)


@defect(Stage.REACTION, GIVES_35, listeners=OPEN_LISTENERS)
def the_next_version_closes_the_connection(context: RequestContext) -> None:
    """The version after the newest closes the connection (streamnative/kop#166, kroxylicious#1611)."""
    if context.version == NEWEST_VERSION + 1:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, GIVES_35, listeners=OPEN_LISTENERS)
def large_versions_get_no_answer(context: RequestContext) -> None:
    """A version from 256 up gets no response, and the connection stays usable (KAFKA-3652)."""
    if context.refuses_version and context.version >= 256:
        context.replace_reaction(outcome=Outcome.IGNORED)


@defect(Stage.ANSWER, V0_LAYOUT, listeners=OPEN_LISTENERS)
def unsupported_versions_get_a_hybrid_layout(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION has a compact array without tag sections, as in librdkafka's mock."""
    if context.refuses_version and context.version > 0:
        replace_body(context, b"\x00\x23\x01\x00\x12\x00\x00\x00\x02" + bytes(4))


@defect(Stage.ANSWER, V0_LAYOUT)
def unsupported_versions_end_with_a_tag_section(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION is written in v0, with an additional empty tag section at its end."""
    if context.refuses_version and context.version > 0:
        context.answer = encode_frame(context.answer[4:] + b"\0")


@defect(Stage.RESPONSE, NAMES_RANGE)
def versions_above_127_get_an_empty_table(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION for a version that does not fit a signed byte comes with an empty table."""
    if context.refuses_version and context.version > 127:
        context.replace_response(api_keys=())


@defect(Stage.RESPONSE, NAMES_RANGE, ONLY_ITSELF)
def unsupported_versions_name_another_key(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION names the range under key 0."""
    if context.refuses_version:
        change_own_entry(context, api_key=0)


@defect(Stage.RESPONSE, TRUE_RANGE)
def unsupported_versions_name_themselves(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION names the requested version as the highest supported one."""
    if context.refuses_version:
        change_own_entry(context, max_version=context.version)


@defect(
    Stage.ANSWER,
    KEPT,
    REVERTS,
    "PROTOCOL.answers-in-order",
    listeners=OPEN_LISTENERS,
)
def an_unsupported_version_costs_the_connection(context: RequestContext) -> None:
    """UNSUPPORTED_VERSION is sent, and then the connection is closed."""
    if context.refuses_version:
        close_after_the_answer(context)


@defect(Stage.RESPONSE, REVERTS)
def flexible_versions_stay_refused(context: RequestContext) -> None:
    """After one UNSUPPORTED_VERSION, flexible versions get that error on that connection."""
    was_refused = context.has_seen("a refusal", now=context.refuses_version)
    if was_refused and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION:
        context.replace_response(error_code=ErrorCode.UNSUPPORTED_VERSION)
