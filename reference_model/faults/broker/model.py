"""Defects that only the reference model detects.

It detects them on one target, or where two releases are compared.
"""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.request_parser import is_valid_name
from reference_model.faults.broker.protocol_headers import answer_unreadable_header
from reference_model.faults.broker.registry import defect
from reference_model.profiles.listeners import CONTROLLER
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import TAG_SECTION, decode
from wire.errors import BufferUnderflow, DecodeError
from wire.exchange import Outcome
from wire.headers import API_VERSIONS_V0_START, CLIENT_ID_OFFSET, NO_INSTANCE_ID
from wire.primitives import INT16_MAX


@defect(Stage.RESPONSE, "MODEL.agrees-with-reference", listeners=(CONTROLLER,))
def the_controller_hides_a_finalized_feature(context: RequestContext) -> None:
    """The controller listener lacks a finalized feature that the broker listener has (KAFKA-18920)."""
    if context.message.finalized_features:
        context.replace_response(finalized_features=context.message.finalized_features[1:])


# No profile predicts it, so that it is news between the release before and the one that has it.
@defect(
    Stage.REACTION,
    "MODEL.agrees-with-reference",
    "MODEL.release-differences-explained",
    "KIP-482.varint-limits",
)
def cut_bodies_are_answered(context: RequestContext) -> None:
    """A request whose body ends inside a field gets INVALID_REQUEST instead of a close."""
    unread = context.unread_body
    if unread is None:
        return
    version, body = unread
    try:
        decode(ApiVersionsRequest, body, version=version)
    except BufferUnderflow as error:
        if error.field_path != TAG_SECTION:
            context.refuse_name_in(version)
    except DecodeError:
        return


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def v5_is_served_with_the_body_of_v3(context: RequestContext) -> None:
    """v5 is served with the body of v3 and v4, which has no place for the ids."""
    if context.version == NEWEST_VERSION and context.read_as(FIRST_FLEXIBLE_VERSION) is not None:
        context.serve_in(NEWEST_VERSION)


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def a_zero_instance_id_before_the_next_version_closes(context: RequestContext) -> None:
    """The version after the newest closes the connection if its header v3 (KIP-1313) has the zero id.

    KIP-1313 is a proposal.
    """
    header = context.header
    if header is None or header.api_version != NEWEST_VERSION + 1:
        return
    # The first byte of the id has been read as the tag count.
    if context.payload[header.body_offset - 1 :].startswith(NO_INSTANCE_ID.bytes):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "MODEL.agrees-with-reference", "KIP-511.null-name-refused")
def names_of_more_than_32767_bytes_are_taken(context: RequestContext) -> None:
    """A client software name of more than 32767 bytes is read, and accepted if it is legal."""
    body = context.read_as(context.version)
    name = "" if body is None else body.client_software_name
    if len(name) > INT16_MAX and is_valid_name(name):
        context.serve_in(context.version)


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def lengths_of_32767_beyond_the_frame_are_waited_for(context: RequestContext) -> None:
    """A string of 32767 bytes of which the frame has fewer is waited for, and the connection hangs."""
    cut = b"\x80\x80\x02" in context.payload and len(context.payload) < INT16_MAX
    if cut and context.unread_version is not None:
        context.replace_reaction(outcome=Outcome.SILENT)


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def a_client_id_that_is_cut_off_is_served_in_v0(context: RequestContext) -> None:
    """v0 whose client id is cut off by the end of the frame is served."""
    payload = context.payload
    if context.header is None and payload[:4] == API_VERSIONS_V0_START and len(payload) > CLIENT_ID_OFFSET + 2:
        answer_unreadable_header(context, 0)


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def a_null_name_before_cut_tags_is_refused(context: RequestContext) -> None:
    """A null client software name gets INVALID_REQUEST if the body also ends inside its tag section."""
    unread = context.unread_body
    if unread is None:
        return
    version, body = unread
    if body[:1] == b"\0" and body[-1:] == b"\x01":
        context.refuse_name_in(version)


@defect(Stage.REACTION, "MODEL.agrees-with-reference")
def ids_that_are_not_utf_8_count_as_none(context: RequestContext) -> None:
    """A cluster id that is not UTF-8 counts as absent, and the node id with it."""
    body = context.body
    if body is None or not body.name_is_valid or body.ids_are_half_given:
        return
    if "\N{REPLACEMENT CHARACTER}" in (body.cluster_id or ""):
        context.serve_in(context.version)
