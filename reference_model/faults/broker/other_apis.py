"""Defects in how a broker treats requests of other APIs than ApiVersions.

They affect which versions it serves, in which order, and when.
"""

from __future__ import annotations

import dataclasses

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Pause, Stage
from reference_model.broker.rules.connection_states import SERVING
from reference_model.broker.rules.reaction import AnswerKind, Reaction
from reference_model.faults.broker.registry import defect
from reference_model.profiles.listeners import CONTROLLER
from wire.api_keys import (
    ADD_PARTITIONS_TO_TXN_KEY,
    API_VERSIONS_KEY,
    DESCRIBE_CLUSTER_KEY,
    FETCH_KEY,
    JOIN_GROUP_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    OFFSET_FETCH_KEY,
    PRODUCE_KEY,
)
from wire.api_versions import ApiVersion
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.primitives import INT16_MAX, write_int16, write_int32

REMOVED_KEYS = range(4, 8)
OUTSIDE_RANGE = ("KIP-35.outside-range-not-served", "PROTOCOL.bad-version-of-known-api-refused")
HEADER_BYTES = 4


IN_ORDER = "PROTOCOL.answers-in-order"
NEVER_ASKED = "KIP-35.never-asked-is-served"
_SERVED_LATER = (
    *("KIP-1242.both-match", "KIP-1242.neither-given", "KIP-1242.older-versions-unchecked", "KIP-1242.wrong-node"),
    *("KIP-35.negative-version-gives-35", "KIP-35.v0-always-served", "KIP-482.unknown-tags-ignored"),
    *("KIP-511.unsupported-table-is-only-itself", "KIP-511.unsupported-version-answered-in-v0"),
    *("KIP-511.unsupported-version-names-range", "PROTOCOL.client-id-free", "PROTOCOL.correlation-id-echoed"),
)
"""Clauses whose examples may ask for ApiVersions after a request of another API."""
NO_RESPONSE = "PROTOCOL.no-response-to-acks-0"
LATE_MS = 120
SOON_MS = 5


def _asked(context: RequestContext) -> tuple[int, int] | None:
    """Return the key and version of a request of another API on a served connection, else None."""
    header = context.header
    if header is None or header.api_key == API_VERSIONS_KEY or context.state not in SERVING:
        return None
    return header.api_key, header.api_version


def is_asked(context: RequestContext, api_key: int, first: int, last: int = INT16_MAX) -> bool:
    """Return whether a request is for this API in this version range, and is answered."""
    request = _asked(context)
    answered = context.reaction.outcome is Outcome.ANSWER
    return answered and request is not None and request[0] == api_key and first <= request[1] <= last


@defect(Stage.REACTION, "KIP-35.every-advertised-version-served", every_api=True)
def the_newest_metadata_closes(context: RequestContext) -> None:
    """Metadata v13 is listed but closes the connection."""
    if is_asked(context, METADATA_KEY, 13):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def old_offset_fetches_are_cut_short(context: RequestContext) -> None:
    """The response to OffsetFetch v2 to v7 lacks its last byte."""
    if is_asked(context, OFFSET_FETCH_KEY, 2, 7):
        context.answer = encode_frame(context.answer[SIZE_BYTES:-1])


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def flexible_metadata_has_a_surplus_byte(context: RequestContext) -> None:
    """The response to Metadata v9 and later has one byte after its body."""
    if is_asked(context, METADATA_KEY, 9):
        context.answer = encode_frame(context.answer[SIZE_BYTES:] + b"\0")


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def flexible_group_lists_lack_the_header_tags(context: RequestContext) -> None:
    """The response to ListGroups v3 and later has no tag section in its header."""
    if is_asked(context, LIST_GROUPS_KEY, 3):
        payload = context.answer[SIZE_BYTES:]
        context.answer = encode_frame(payload[:HEADER_BYTES] + payload[HEADER_BYTES + 1 :])


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def joining_a_group_costs_the_connection(context: RequestContext) -> None:
    """JoinGroup is answered, and then the connection is closed."""
    if is_asked(context, JOIN_GROUP_KEY, 0):
        context.connection.drop()


@defect(Stage.REACTION, "KIP-35.every-advertised-version-served", every_api=True)
def batched_transactions_are_never_answered(context: RequestContext) -> None:
    """AddPartitionsToTxn v4 and later gets no response, and the connection hangs."""
    if is_asked(context, ADD_PARTITIONS_TO_TXN_KEY, 4):
        context.replace_reaction(outcome=Outcome.SILENT)


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def one_metadata_version_is_dropped(context: RequestContext) -> None:
    """The response to Metadata v7 is dropped, and the connection stays open, as by a proxy that cannot read it."""
    if is_asked(context, METADATA_KEY, 7, 7):
        context.answer = b""


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def the_newest_offset_fetch_is_dropped(context: RequestContext) -> None:
    """The response to OffsetFetch v9 and later is dropped, and the connection stays open."""
    if is_asked(context, OFFSET_FETCH_KEY, 9):
        context.answer = b""


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def one_description_of_the_cluster_is_dropped(context: RequestContext) -> None:
    """The response to DescribeCluster v1 is dropped, and the connection stays open."""
    if is_asked(context, DESCRIBE_CLUSTER_KEY, 1, 1):
        context.answer = b""


@defect(Stage.REACTION, "KIP-35.every-advertised-version-served", every_api=True)
def the_controller_does_not_describe_the_cluster(context: RequestContext) -> None:
    """DescribeCluster is also listed on the controller listener but closes the connection there."""
    if context.broker.profile.listener == CONTROLLER and is_asked(context, DESCRIBE_CLUSTER_KEY, 0):
        context.replace_reaction(outcome=Outcome.CLOSED)


def say_unsupported(context: RequestContext, offset: int) -> None:
    """Write UNSUPPORTED_VERSION into the response, at the offset of the error code in its payload."""
    payload = context.answer[SIZE_BYTES:]
    code = write_int16(ErrorCode.UNSUPPORTED_VERSION)
    context.answer = encode_frame(payload[:offset] + code + payload[offset + len(code) :])


@defect(Stage.ANSWER, "KIP-35.advertised-version-supported", every_api=True)
def the_oldest_group_list_is_listed_and_refused(context: RequestContext) -> None:
    """ListGroups v0 is listed but answered, in its own layout, with UNSUPPORTED_VERSION."""
    if is_asked(context, LIST_GROUPS_KEY, 0, 0):
        say_unsupported(context, HEADER_BYTES)


@defect(Stage.ANSWER, "KIP-35.advertised-version-supported", every_api=True)
def describing_the_cluster_is_listed_and_refused(context: RequestContext) -> None:
    """DescribeCluster is listed but answered, in its own layout, with UNSUPPORTED_VERSION."""
    if is_asked(context, DESCRIBE_CLUSTER_KEY, 0):
        # The error code comes after the header's tag section and the throttle time.
        say_unsupported(context, HEADER_BYTES + 1 + 4)


@defect(Stage.ANSWER, "KIP-35.advertised-version-supported", every_api=True)
def the_controller_lists_newer_descriptions_and_refuses_them(context: RequestContext) -> None:
    """On the controller listener DescribeCluster v1 and later is listed but answered with UNSUPPORTED_VERSION."""
    if context.broker.profile.listener == CONTROLLER and is_asked(context, DESCRIBE_CLUSTER_KEY, 1):
        say_unsupported(context, HEADER_BYTES + 1 + 4)


def _range_asked(context: RequestContext) -> ApiVersion | None:
    """Return the listed range of the request's API, whatever the request's version; None if there is none."""
    request = _asked(context)
    table = context.broker.profile.api_keys
    return next((entry for entry in table if request and entry.api_key == request[0]), None)


def _distance_from_range(context: RequestContext) -> int:
    """Return how far the version lies above its API's listed range; negative if below, 0 if inside or unlisted."""
    entry, header = _range_asked(context), context.header
    if entry is None or header is None:
        return 0
    above = max(header.api_version - entry.max_version, 0)
    return above or min(header.api_version - entry.min_version, 0)


def _serve_as(context: RequestContext, api_version: int) -> None:
    """Answer a request as if it were in another version of its API."""
    assert context.header is not None
    context.header = dataclasses.replace(context.header, api_version=api_version)
    context.reaction = Reaction(
        clause="KIP-35.outside-range-not-served",
        kind=AnswerKind.OTHER,
        response_version=api_version,
    )


@defect(Stage.REACTION, *OUTSIDE_RANGE, every_api=True)
def the_version_above_is_served_as_the_newest(context: RequestContext) -> None:
    """The version directly above a listed range is served as the highest version of the range."""
    entry = _range_asked(context)
    if entry is not None and _distance_from_range(context) == 1:
        _serve_as(context, entry.max_version)


@defect(Stage.REACTION, *OUTSIDE_RANGE, every_api=True)
def the_version_above_is_never_answered(context: RequestContext) -> None:
    """The version directly above a listed range gets no response, and the connection hangs."""
    if _distance_from_range(context) == 1:
        context.replace_reaction(outcome=Outcome.SILENT)


@defect(Stage.REACTION, *OUTSIDE_RANGE, every_api=True)
def versions_below_are_served_as_the_oldest(context: RequestContext) -> None:
    """Any version below a listed range is served as the lowest version of the range."""
    entry = _range_asked(context)
    if entry is not None and _distance_from_range(context) < 0:
        _serve_as(context, entry.min_version)


@defect(Stage.REACTION, "PROTOCOL.bad-version-of-known-api-refused", every_api=True)
def far_versions_are_ignored(context: RequestContext) -> None:
    """A version of a listed API that is not next to its range is ignored, and the connection stays open."""
    if abs(_distance_from_range(context)) > 1:
        context.replace_reaction(outcome=Outcome.IGNORED)


@defect(Stage.ANSWER, "PROTOCOL.bad-version-of-known-api-refused", every_api=True)
def bad_versions_get_an_error_first(context: RequestContext) -> None:
    """A version outside the range of a listed API gets UNSUPPORTED_VERSION before the connection closes."""
    if _distance_from_range(context) and context.reaction.outcome is Outcome.CLOSED:
        _answer_error(context, ErrorCode.UNSUPPORTED_VERSION)


def _answer_error(context: RequestContext, error_code: ErrorCode) -> None:
    """Write a response that contains nothing but an error code."""
    assert context.header is not None
    correlation_id = write_int32(context.header.correlation_id)
    context.answer = encode_frame(correlation_id + write_int16(error_code))


@defect(Stage.REACTION, "PROTOCOL.unknown-api-refused", every_api=True)
def unlisted_apis_are_ignored(context: RequestContext) -> None:
    """A request of an API that the table does not list is ignored, and the connection stays open."""
    if _is_unlisted(context):
        context.replace_reaction(outcome=Outcome.IGNORED)


def _is_unlisted(context: RequestContext) -> bool:
    """Return whether a request closes the connection because its API is not listed."""
    closed = context.reaction.outcome is Outcome.CLOSED
    return closed and _asked(context) is not None and _range_asked(context) is None


@defect(Stage.ANSWER, "PROTOCOL.unknown-api-refused", every_api=True)
def removed_apis_get_an_error_first(context: RequestContext) -> None:
    """A request of a removed API gets UNSUPPORTED_VERSION before the connection closes."""
    request = _asked(context)
    if request is not None and request[0] in REMOVED_KEYS and _is_unlisted(context):
        _answer_error(context, ErrorCode.UNSUPPORTED_VERSION)


def _released(context: RequestContext, api_key: int) -> bytes:
    """Hold back the response to an API if the next request arrived with it; return the one that was held back."""
    memory = context.connection.memory
    held: bytes = memory.pop("held", b"")
    if not held and is_asked(context, api_key, 0) and context.connection.unread:
        memory["held"], context.answer = context.answer, b""
    return held


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def metadata_is_overtaken(context: RequestContext) -> None:
    """Metadata that arrives with the next request is answered after it.

    A proxy that answers some requests itself behaves like this.
    """
    context.answer += _released(context, METADATA_KEY)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def clusters_are_described_late(context: RequestContext) -> None:
    """DescribeCluster that arrives together with the next request is answered a while after it."""
    held = _released(context, DESCRIBE_CLUSTER_KEY)
    if held:
        context.pause = Pause(milliseconds=LATE_MS, afterwards=held)


def _answer_soon_after_the_next(context: RequestContext, api_key: int) -> None:
    """Send the response to an API some milliseconds after that to the request that arrived with it."""
    held = _released(context, api_key)
    if held:
        context.pause = Pause(milliseconds=SOON_MS, afterwards=held)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def produce_is_acknowledged_after_the_next_request(context: RequestContext) -> None:
    """Produce that arrives with the next request is answered 5 ms after it.

    A proxy that waits for a broker behaves like this.
    """
    _answer_soon_after_the_next(context, PRODUCE_KEY)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def fetches_wait_while_others_are_answered(context: RequestContext) -> None:
    """Fetch that arrives with the next request is answered 5 ms after it, on the same connection."""
    _answer_soon_after_the_next(context, FETCH_KEY)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def api_versions_overtakes_metadata(context: RequestContext) -> None:
    """ApiVersions directly after Metadata in one write is answered 5 ms before Metadata.

    A proxy that answers ApiVersions itself behaves like this.
    """
    unread = context.connection.unread[SIZE_BYTES : SIZE_BYTES + 2]
    is_next = unread == write_int16(API_VERSIONS_KEY)
    if is_next or "held" in context.connection.memory:
        _answer_soon_after_the_next(context, METADATA_KEY)


@defect(Stage.ANSWER, IN_ORDER, every_api=True)
def group_lists_among_others_are_ignored(context: RequestContext) -> None:
    """ListGroups that arrives together with the next request, and is not the first one, gets no response."""
    is_later = context.has_seen("a request", now=context.state in SERVING)
    if is_later and context.connection.unread and is_asked(context, LIST_GROUPS_KEY, 0):
        context.answer = b""


@defect(Stage.REACTION, IN_ORDER, every_api=True, breaks_rarely=_SERVED_LATER)
def api_versions_comes_first_or_closes(context: RequestContext) -> None:
    """ApiVersions closes the connection after a request of any other API."""
    is_other = _asked(context) is not None
    was_other = context.has_seen("another API", now=is_other)
    if was_other and not is_other and context.header is not None:
        context.replace_reaction(outcome=Outcome.CLOSED)


def _has_asked(context: RequestContext) -> bool:
    """Return whether ApiVersions was requested on the connection, with this request or before."""
    asks = context.header is not None and context.header.api_key == API_VERSIONS_KEY
    return context.has_seen("ApiVersions", now=asks) or asks


@defect(Stage.REACTION, NEVER_ASKED, "PROTOCOL.listed-sasl-versions-log-in", every_api=True)
def other_apis_before_api_versions_close(context: RequestContext) -> None:
    """A request of another API closes a connection on which ApiVersions was not requested."""
    if not _has_asked(context) and _asked(context) is not None:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, NEVER_ASKED, every_api=True)
def old_group_lists_before_api_versions_are_ignored(context: RequestContext) -> None:
    """ListGroups v0 gets no response on a connection on which ApiVersions was not requested."""
    if not _has_asked(context) and is_asked(context, LIST_GROUPS_KEY, 0, 0):
        context.replace_reaction(outcome=Outcome.IGNORED)


@defect(Stage.REACTION, NEVER_ASKED, every_api=True)
def the_second_request_without_api_versions_closes(context: RequestContext) -> None:
    """A connection is closed by its second request of another API if ApiVersions was not requested by then."""
    if _has_asked(context) or _asked(context) is None:
        return
    if context.has_seen("another API", now=True):
        context.replace_reaction(outcome=Outcome.CLOSED)


def _gets_nothing(context: RequestContext) -> bool:
    """Return whether a request is Produce with acks 0."""
    request = _asked(context)
    ignored = context.reaction.outcome is Outcome.IGNORED
    return ignored and request is not None and request[0] == PRODUCE_KEY


@defect(Stage.REACTION, NO_RESPONSE, every_api=True)
def acks_0_gets_a_response(context: RequestContext) -> None:
    """Produce with acks 0 is answered like any other."""
    if _gets_nothing(context):
        context.replace_reaction(outcome=Outcome.ANSWER)


@defect(Stage.REACTION, NO_RESPONSE, every_api=True)
def acks_0_closes(context: RequestContext) -> None:
    """Produce with acks 0 closes the connection in v9 and later, although it writes nothing."""
    if _gets_nothing(context) and context.header is not None and context.header.api_version >= 9:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, NO_RESPONSE, every_api=True)
def the_request_after_acks_0_gets_none_either(context: RequestContext) -> None:
    """The request after Produce with acks 0 gets no response."""
    if context.connection.memory.pop("unanswered", False):
        context.answer = b""
    if _gets_nothing(context):
        context.connection.memory["unanswered"] = True
