"""Defects that an earlier request on the same connection causes.

The requests come one by one, or in one write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.reaction import AnswerKind, Listing
from reference_model.faults.broker.kip_482 import tags_of_body
from reference_model.faults.broker.registry import CORRELATION_ID, OPEN_LISTENERS, defect
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import CORRELATION_ID_BYTES

FIRST_FLEXIBLE_METADATA = 9
LONG_CLIENT_ID = 40


def _names_software(context: RequestContext) -> bool:
    """Return whether a request names a legal software, and is served."""
    return context.succeeds and context.version >= FIRST_FLEXIBLE_VERSION


def _is_misrouted(context: RequestContext) -> bool:
    return context.reaction.error_code is ErrorCode.REBOOTSTRAP_REQUIRED


@defect(Stage.REACTION, "KIP-511.names-accepted")
def a_second_software_name_is_refused(context: RequestContext) -> None:
    """A connection that has named its software gets INVALID_REQUEST for another name."""
    body = context.body
    if body is None or not _names_software(context):
        return
    memory = context.connection.memory
    named = memory.setdefault("software", body.client_software_name)
    if named != body.client_software_name:
        context.refuse_name_in(context.version)


@defect(Stage.REACTION, "KIP-511.names-refused")
def names_are_checked_once(context: RequestContext) -> None:
    """Once a connection has named a legal software, any name is accepted on it."""
    had_name = context.has_seen("a legal name", now=_names_software(context))
    if had_name and context.refuses_name:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-511.names-refused")
def names_in_one_write_are_not_checked(context: RequestContext) -> None:
    """A name is not checked if its request arrives in one write with one before it."""
    if context.connection.frames_of_read and context.refuses_name:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-1242.wrong-cluster", "KIP-1242.wrong-node")
def ids_are_checked_in_the_first_request(context: RequestContext) -> None:
    """Wrong ids are refused in the first request of ApiVersions on a connection, and not in later ones."""
    had_request = context.has_seen("a request", now=True)
    if had_request and _is_misrouted(context):
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-1242.wrong-node")
def right_ids_are_remembered(context: RequestContext) -> None:
    """Once a connection has sent the right ids, its node id is not checked again."""
    body = context.body
    has_ids = body is not None and body.cluster_id is not None
    had_right_ids = context.has_seen("right ids", now=has_ids and context.succeeds)
    own = context.broker.identity.cluster_id
    is_wrong_node = body is not None and body.cluster_id == own and _is_misrouted(context)
    if had_right_ids and is_wrong_node:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-1242.only-one-given")
def half_an_identity_in_one_write_is_served(context: RequestContext) -> None:
    """Half an identity is served if its request arrives in one write with one before it."""
    body = context.body
    is_half_given = body is not None and body.name_is_valid and body.ids_are_half_given
    is_refused = context.reaction.error_code is ErrorCode.INVALID_REQUEST
    if context.connection.frames_of_read and is_refused and is_half_given:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-511.unsupported-version-names-range")
def a_refused_name_empties_later_refusals(context: RequestContext) -> None:
    """After INVALID_REQUEST the response to an unsupported version lists nothing."""
    refused = context.reaction.error_code is ErrorCode.INVALID_REQUEST
    had_refusal = context.has_seen("a refused name", now=refused)
    if had_refusal and context.refuses_version:
        context.replace_reaction(listing=Listing.NOTHING)


@defect(Stage.RESPONSE, "KIP-511.unsupported-range-is-true")
def a_refusal_names_the_versions_in_use(context: RequestContext) -> None:
    """On a connection that was served, the response to an unsupported version names one version less."""
    had_success = context.has_seen("a success", now=context.succeeds)
    if had_success and context.refuses_version:
        own = context.message.api_keys[0]
        context.replace_response(api_keys=(replace(own, max_version=own.max_version - 1),))


@defect(Stage.REACTION, "KIP-511.unsupported-version-answered-in-v0")
def a_refusal_has_the_layout_in_use(context: RequestContext) -> None:
    """In one write with a flexible request before it, an unsupported version is refused in the layout of that one."""
    memory = context.connection.memory
    if not context.connection.frames_of_read:
        memory.pop("layout", None)
    if context.succeeds:
        memory["layout"] = context.version
    if context.refuses_version and memory.get("layout", 0) >= FIRST_FLEXIBLE_VERSION:
        context.replace_reaction(response_version=memory["layout"])


@defect(Stage.REACTION, "KIP-35.unknown-version-gives-35")
def a_later_unknown_version_is_an_invalid_request(context: RequestContext) -> None:
    """On a connection that was served, an unsupported version gets INVALID_REQUEST."""
    had_success = context.has_seen("a success", now=context.succeeds)
    if had_success and context.refuses_version and context.version > 0:
        context.replace_reaction(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version")
def a_refused_name_shortens_the_table(context: RequestContext) -> None:
    """After INVALID_REQUEST the table lacks its last entry."""
    refused = context.reaction.error_code is ErrorCode.INVALID_REQUEST
    had_refusal = context.has_seen("a refused name", now=refused)
    if had_refusal and context.succeeds:
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.RESPONSE, "KIP-35.v0-always-served", listeners=OPEN_LISTENERS)
def v0_after_another_api_has_no_table(context: RequestContext) -> None:
    """On a connection that has carried a request of another API, v0 gets an empty table."""
    memory = context.connection.memory
    asked = memory.get("asked", 0)
    memory["asked"] = asked + 1
    if context.connection.frames > asked and context.succeeds and context.version == 0:
        context.replace_response(api_keys=())


@defect(Stage.ANSWER, "PROTOCOL.correlation-id-echoed", every_api=True)
def a_negative_id_in_a_pipeline_is_cut(context: RequestContext) -> None:
    """In one write with a request before it, a negative correlation id comes back without its sign."""
    header = context.header
    is_later = context.connection.frames_of_read and context.reaction.kind is AnswerKind.API_VERSIONS
    if is_later and header is not None and header.correlation_id < 0 and context.answer:
        cut = header.correlation_id & 0x7FFFFFFF
        answer = context.answer
        context.answer = answer[:SIZE_BYTES] + cut.to_bytes(4) + answer[CORRELATION_ID.stop :]


@defect(Stage.REACTION, "KIP-482.unknown-tags-ignored")
def tags_are_understood_in_the_first_request(context: RequestContext) -> None:
    """Tagged fields in the body of a request that is not the first one of its connection get INVALID_REQUEST."""
    had_request = context.has_seen("a request", now=True)
    if had_request and context.succeeds and tags_of_body(context):
        context.refuse_name_in(context.version)


@defect(Stage.REACTION, "PROTOCOL.client-id-free")
def a_long_client_id_after_others_is_refused(context: RequestContext) -> None:
    """From v1 on, a client id of 40 bytes or more is served in the first request of a connection alone."""
    had_request = context.has_seen("a request", now=True)
    is_long = context.version > 0 and len(context.client_id) >= LONG_CLIENT_ID
    if had_request and context.succeeds and is_long:
        context.replace_reaction(error_code=ErrorCode.INVALID_REQUEST, listing=Listing.NOTHING)


def _is_flexible_after(context: RequestContext, asked: Callable[[int], bool]) -> bool:
    """Return whether a request of Metadata is flexible, and comes after a request of ApiVersions in such a version."""
    header = context.header
    is_asking = header is not None and header.api_key == API_VERSIONS_KEY
    had_asked = context.has_seen("such a version", now=is_asking and asked(context.version))
    is_metadata = header is not None and header.api_key == METADATA_KEY
    return had_asked and is_metadata and context.version >= FIRST_FLEXIBLE_METADATA


@defect(Stage.REACTION, "KIP-35.every-advertised-version-served", every_api=True)
def v0_makes_an_old_client(context: RequestContext) -> None:
    """After ApiVersions v0, flexible Metadata closes the connection."""
    if _is_flexible_after(context, lambda version: version == 0):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, "KIP-35.every-advertised-version-served", every_api=True)
def v0_takes_the_tags_from_response_headers(context: RequestContext) -> None:
    """After ApiVersions v0, the response to flexible Metadata lacks the tag section of its header."""
    if _is_flexible_after(context, lambda version: version == 0) and context.answer:
        payload = context.answer[SIZE_BYTES:]
        at = CORRELATION_ID_BYTES
        context.answer = encode_frame(payload[:at] + payload[at + 1 :])


@defect(Stage.REACTION, "KIP-35.every-advertised-version-served", every_api=True)
def the_newest_api_versions_ends_old_metadata(context: RequestContext) -> None:
    """After the newest version of ApiVersions, Metadata below v9 is ignored."""
    header = context.header
    is_asking = header is not None and header.api_key == API_VERSIONS_KEY
    had_asked = context.has_seen("newest", now=is_asking and context.version == NEWEST_VERSION)
    is_metadata = header is not None and header.api_key == METADATA_KEY
    if had_asked and is_metadata and context.version < FIRST_FLEXIBLE_METADATA:
        context.replace_reaction(outcome=Outcome.IGNORED, next_event=None)
