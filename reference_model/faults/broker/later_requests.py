"""Defects that show only after an earlier request on the connection.

They affect what a later request gets, or what a connection accepts that was served before.

Most do to a later request alone what another defect does to each.
"""

from __future__ import annotations

from dataclasses import replace

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.reaction import Listing
from reference_model.faults.broker.features import (
    a_feature_stands_twice,
    v0_answers_have_a_tag_section_with_the_epoch,
    v3_lists_features_from_level_0,
)
from reference_model.faults.broker.fields_of_other_apis import api_keys_have_one_byte
from reference_model.faults.broker.framing import (
    client_ids_have_to_be_utf_8,
    long_zeros_are_refused,
    tags_in_headers_have_to_ascend,
)
from reference_model.faults.broker.kip_035 import trailing_bytes_are_refused
from reference_model.faults.broker.kip_482 import (
    a_tag_beyond_the_frame_is_cut_short,
    an_old_header_on_a_flexible_version_is_served,
    ten_thousand_and_one_tags_are_taken,
)
from reference_model.faults.broker.kip_511 import (
    bytes_that_are_not_utf_8_are_dropped,
    names_may_begin_with_a_hyphen,
    null_names_count_as_empty,
    refused_names_get_a_flexible_response_header,
)
from reference_model.faults.broker.kip_1242 import (
    controllers_do_not_check_ids,
    ids_are_checked_before_names,
)
from reference_model.faults.broker.other_apis import (
    far_versions_are_ignored,
    unlisted_apis_are_ignored,
)
from reference_model.faults.broker.protocol_headers import compact_client_ids_are_understood
from reference_model.faults.broker.refusals import (
    refusals_have_an_older_epoch,
    refused_names_get_fewer_features,
)
from reference_model.faults.broker.registry import OPEN_LISTENERS, defect
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_ZERO_MINIMUM
from wire.error_codes import ErrorCode

SAME_TABLE = "KIP-35.same-table-at-every-version"


def _was_served(context: RequestContext) -> bool:
    """Return whether an earlier request of ApiVersions on the connection was served."""
    return context.has_seen("a success", now=context.succeeds)


def _was_refused(context: RequestContext, code: ErrorCode) -> bool:
    """Return whether an earlier request on the connection was answered with an error."""
    return context.has_seen(f"error {code}", now=context.reaction.error_code is code)


def _is_flexible_success(context: RequestContext) -> bool:
    return context.succeeds and context.version >= FIRST_FLEXIBLE_VERSION


@defect(Stage.RESPONSE, "KIP-35.keys-unique", listeners=OPEN_LISTENERS)
def later_tables_begin_twice(context: RequestContext) -> None:
    """On a connection that was served, the table contains its first entry twice."""
    if _was_served(context) and context.succeeds:
        keys = context.message.api_keys
        context.replace_response(api_keys=keys[:1] + keys)


@defect(Stage.RESPONSE, "KIP-35.ranges-ordered", SAME_TABLE, listeners=OPEN_LISTENERS)
def a_refused_version_reverses_a_range(context: RequestContext) -> None:
    """After UNSUPPORTED_VERSION the last range of the table ends below its beginning."""
    if _was_refused(context, ErrorCode.UNSUPPORTED_VERSION) and context.succeeds:
        *keys, last = context.message.api_keys
        context.replace_response(api_keys=(*keys, replace(last, min_version=9, max_version=1)))


@defect(Stage.RESPONSE, "KIP-35.table-lists-itself", SAME_TABLE, listeners=OPEN_LISTENERS)
def later_flexible_tables_leave_api_versions_out(context: RequestContext) -> None:
    """On a connection that was served in a flexible version, such a table lacks the entry for ApiVersions."""
    is_flexible = _is_flexible_success(context)
    if context.has_seen("a flexible success", now=is_flexible) and is_flexible:
        keys = context.message.api_keys
        context.replace_response(api_keys=tuple(each for each in keys if each.api_key != API_VERSIONS_KEY))


@defect(Stage.REACTION, "KIP-35.trailing-bytes", listeners=OPEN_LISTENERS)
def later_trailing_bytes_are_refused(context: RequestContext) -> None:
    """On a connection that was served, bytes after a body close it."""
    if _was_served(context):
        trailing_bytes_are_refused(context)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def a_refused_version_makes_pauses_negative(context: RequestContext) -> None:
    """After UNSUPPORTED_VERSION the throttle time of a success is -1."""
    was_refused = _was_refused(context, ErrorCode.UNSUPPORTED_VERSION)
    if was_refused and context.succeeds and context.version > 0:
        context.replace_response(throttle_time_ms=-1)


@defect(Stage.ANSWER, "FEATURES.absent-below-v3", "PROTOCOL.size-prefix-exact")
def v0_after_a_flexible_version_has_an_epoch(context: RequestContext) -> None:
    """On a connection that was served in a flexible version, a v0 response ends with a tag section with the epoch."""
    if context.has_seen("a flexible success", now=_is_flexible_success(context)):
        v0_answers_have_a_tag_section_with_the_epoch(context)


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4", "FEATURES.same-on-repeat")
def v3_after_v4_lists_features_from_level_0(context: RequestContext) -> None:
    """On a connection that was served in v4 or later, v3 lists features whose lowest level is 0."""
    is_newer = context.succeeds and context.version >= FIRST_VERSION_WITH_ZERO_MINIMUM
    if context.has_seen("v4", now=is_newer):
        v3_lists_features_from_level_0(context)


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_refused_version_doubles_a_feature(context: RequestContext) -> None:
    """After UNSUPPORTED_VERSION the last supported feature is listed twice."""
    if _was_refused(context, ErrorCode.UNSUPPORTED_VERSION):
        a_feature_stands_twice(context)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def later_refusals_have_an_older_epoch(context: RequestContext) -> None:
    """On a connection that was served, the epoch of a refusal is one below that of a success."""
    if _was_served(context) or context.succeeds:
        refusals_have_an_older_epoch(context)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def later_refused_names_get_fewer_features(context: RequestContext) -> None:
    """On a connection that was served, an INVALID_REQUEST lists the first supported feature alone."""
    if _was_served(context):
        refused_names_get_fewer_features(context)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_refused_name_hides_a_finalized_feature_from_v4(context: RequestContext) -> None:
    """After INVALID_REQUEST, v4 and later lack the last finalized feature."""
    was_refused = _was_refused(context, ErrorCode.INVALID_REQUEST)
    is_newer = context.succeeds and context.version >= FIRST_VERSION_WITH_ZERO_MINIMUM
    if was_refused and is_newer:
        context.replace_response(finalized_features=context.message.finalized_features[:-1])


@defect(Stage.REACTION, "KIP-511.refusal-in-request-version")
def later_refused_names_get_the_table(context: RequestContext) -> None:
    """On a connection that was served, the refusal of a name lists the complete table."""
    if _was_served(context) and context.refuses_name:
        context.replace_reaction(listing=Listing.EVERYTHING)


@defect(Stage.REACTION, "KIP-511.refusal-in-request-version", listeners=OPEN_LISTENERS)
def later_refused_names_are_answered_in_v0(context: RequestContext) -> None:
    """On a connection that was served, the refusal of a name has the layout of v0."""
    if _was_served(context) and context.refuses_name:
        context.refuse_name_in(0)


@defect(Stage.REACTION, "KIP-1242.refusal-shape")
def later_refused_ids_get_the_table(context: RequestContext) -> None:
    """After REBOOTSTRAP_REQUIRED the next one lists the complete table."""
    was_refused = _was_refused(context, ErrorCode.REBOOTSTRAP_REQUIRED)
    if was_refused and context.reaction.error_code is ErrorCode.REBOOTSTRAP_REQUIRED:
        context.replace_reaction(listing=Listing.EVERYTHING)


@defect(Stage.REACTION, "KIP-511.edge-punctuation")
def later_names_may_begin_with_a_hyphen(context: RequestContext) -> None:
    """On a connection that was served, a name that begins with a hyphen is accepted."""
    if _was_served(context):
        names_may_begin_with_a_hyphen(context)


@defect(Stage.REACTION, "KIP-511.null-name-refused")
def later_null_names_count_as_empty(context: RequestContext) -> None:
    """On a connection that was served, a null name gets INVALID_REQUEST instead of closing it."""
    if _was_served(context):
        null_names_count_as_empty(context)


@defect(Stage.REACTION, "KIP-511.names-refused")
def bytes_of_later_names_that_are_not_utf_8_are_dropped(context: RequestContext) -> None:
    """On a connection that was served, a name that is legal without its bytes that are not UTF-8 is accepted."""
    if _was_served(context):
        bytes_that_are_not_utf_8_are_dropped(context)


@defect(Stage.REACTION, "KIP-1242.order-of-checks")
def later_ids_are_checked_before_names(context: RequestContext) -> None:
    """On a connection that was served, an illegal name with wrong ids gets REBOOTSTRAP_REQUIRED."""
    if _was_served(context):
        ids_are_checked_before_names(context)


@defect(Stage.REACTION, "KIP-1242.on-the-controller")
def controllers_check_the_first_ids(context: RequestContext) -> None:
    """The controller listener serves wrong ids on a connection that was served."""
    if _was_served(context):
        controllers_do_not_check_ids(context)


@defect(Stage.ANSWER, "KIP-511.v3-body-flexible", listeners=OPEN_LISTENERS)
def v0_ends_flexible_bodies(context: RequestContext) -> None:
    """On a connection that was served in v0, a flexible version is answered in the layout of v2."""
    had_v0 = context.has_seen("v0", now=context.succeeds and context.version == 0)
    if had_v0 and _is_flexible_success(context):
        context.answer = context.encode_answer(layout=2)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def later_flexible_responses_have_a_flexible_header(context: RequestContext) -> None:
    """On a connection that was served, the response to a flexible version has a tag section in its header."""
    if _was_served(context) and _is_flexible_success(context):
        context.answer = context.encode_answer(header_version=1)


@defect(Stage.ANSWER, "KIP-511.response-header-fixed", listeners=OPEN_LISTENERS)
def later_refused_names_get_a_flexible_header(context: RequestContext) -> None:
    """On a connection that was served, the refusal of a name has a tag section in its header."""
    if _was_served(context):
        refused_names_get_a_flexible_response_header(context)


@defect(Stage.REACTION, "PROTOCOL.client-id-old-encoding")
def later_compact_client_ids_are_understood(context: RequestContext) -> None:
    """On a connection that was served, a flexible request with a compact client id is served."""
    if _was_served(context):
        compact_client_ids_are_understood(context)


@defect(Stage.REACTION, "KIP-482.header-version-from-request-version")
def later_old_headers_are_understood(context: RequestContext) -> None:
    """On a connection that was served, a flexible request with the old header is served."""
    if _was_served(context):
        an_old_header_on_a_flexible_version_is_served(context)


@defect(Stage.REACTION, "PROTOCOL.client-id-bytes")
def later_client_ids_have_to_be_utf_8(context: RequestContext) -> None:
    """On a connection that was served, a client id that is not UTF-8 closes it."""
    if _was_served(context):
        client_ids_have_to_be_utf_8(context)


@defect(Stage.REACTION, "KIP-482.varint-limits")
def later_long_zeros_are_refused(context: RequestContext) -> None:
    """On a connection that was served, a header whose tag count of zero takes more than one byte closes it."""
    if _was_served(context):
        long_zeros_are_refused(context)


@defect(Stage.REACTION, "KIP-482.varint-limits")
def ten_thousand_and_one_tags_are_taken_later(context: RequestContext) -> None:
    """On a connection that was served, a tag section in the body may have any number of fields."""
    if _was_served(context):
        ten_thousand_and_one_tags_are_taken(context)


@defect(Stage.REACTION, "KIP-482.tag-order-in-requests")
def later_tags_in_headers_have_to_ascend(context: RequestContext) -> None:
    """On a connection that was served, a header whose tags do not ascend closes it."""
    if _was_served(context):
        tags_in_headers_have_to_ascend(context)


@defect(Stage.REACTION, "KIP-482.tag-overrun-refused")
def a_later_tag_beyond_the_frame_is_cut_short(context: RequestContext) -> None:
    """On a connection that was served, a request whose last tag section reaches beyond the frame is served."""
    if _was_served(context):
        a_tag_beyond_the_frame_is_cut_short(context)


@defect(Stage.REACTION, "PROTOCOL.unknown-api-refused", every_api=True)
def later_unlisted_apis_are_ignored(context: RequestContext) -> None:
    """On a connection that was served, a request of an API that is not listed is ignored."""
    if _was_served(context):
        unlisted_apis_are_ignored(context)


@defect(Stage.REACTION, "PROTOCOL.bad-version-of-known-api-refused", every_api=True)
def later_far_versions_are_ignored(context: RequestContext) -> None:
    """On a connection that was served, a version of a listed API that is not next to its range is ignored."""
    if _was_served(context):
        far_versions_are_ignored(context)


@defect(Stage.REACTION, "PROTOCOL.api-key-decides", every_api=True)
def later_api_keys_have_one_byte(context: RequestContext) -> None:
    """On a connection that was served, of an API key only the low byte counts."""
    if _was_served(context):
        api_keys_have_one_byte(context)
