"""Defects in refusals, and name checks before the version check.

They affect throttle times, tags and features in refusals.
"""

from __future__ import annotations

import dataclasses

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.reaction import Listing
from reference_model.broker.rules.request_parser import ParsedBody, Unreadable, parse_body
from reference_model.faults.broker.registry import defect
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.codec import TAG_SECTION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.primitives import TaggedField, write_int64, write_raw_tagged_fields

UNPARSED = ("KIP-511.unparsed-when-unsupported", "KIP-1242.order-of-checks")
FIRST_EPOCH = 1000
LONG_PAUSE_MS = 30_000


def _refuses(context: RequestContext, *codes: ErrorCode) -> bool:
    """Return whether a request of a served version is answered with one of these errors."""
    is_flexible = context.reaction.response_version >= FIRST_FLEXIBLE_VERSION
    answered = context.reaction.outcome is Outcome.ANSWER
    return answered and is_flexible and context.reaction.error_code in codes


def _refuses_name(context: RequestContext) -> bool:
    return _refuses(context, ErrorCode.INVALID_REQUEST)


def _refuses_ids(context: RequestContext) -> bool:
    return _refuses(context, ErrorCode.REBOOTSTRAP_REQUIRED)


def _refuses_anything(context: RequestContext) -> bool:
    return _refuses_name(context) or _refuses_ids(context)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def refused_names_have_a_negative_throttle_time(context: RequestContext) -> None:
    """The throttle time of an INVALID_REQUEST is -1."""
    if _refuses_name(context):
        context.replace_response(throttle_time_ms=-1)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def misrouted_clients_are_told_to_wait(context: RequestContext) -> None:
    """A REBOOTSTRAP_REQUIRED has a throttle time, although the client is not throttled."""
    if _refuses_ids(context):
        context.replace_response(throttle_time_ms=LONG_PAUSE_MS)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def refused_names_are_not_throttled(context: RequestContext) -> None:
    """A throttled client whose name is refused gets no throttle time and is not held back."""
    if _refuses_name(context):
        context.pause = None
        context.replace_response(throttle_time_ms=0)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def misrouted_clients_are_not_told_that_they_are_throttled(context: RequestContext) -> None:
    """A REBOOTSTRAP_REQUIRED to a throttled client has a throttle time of 0."""
    if _refuses_ids(context):
        context.replace_response(throttle_time_ms=0)


@defect(Stage.RESPONSE, "KIP-35.throttle-time")
def refused_versions_are_not_throttled(context: RequestContext) -> None:
    """A throttled client is not held back after an UNSUPPORTED_VERSION."""
    if context.refuses_version:
        context.pause = None


def _with_tags(context: RequestContext, *tags: int) -> bytes:
    """Return the frame of the response with private tags of one byte each, in this order."""
    section = write_raw_tagged_fields(tuple(TaggedField(tag, b"\1") for tag in tags))
    return context.encode_answer(raw={TAG_SECTION: section})


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def refused_names_have_descending_tags(context: RequestContext) -> None:
    """An INVALID_REQUEST has two private tags, the larger one first."""
    if _refuses_name(context):
        context.answer = _with_tags(context, 10_001, 10_000)


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def misrouted_clients_get_descending_tags(context: RequestContext) -> None:
    """A REBOOTSTRAP_REQUIRED has three private tags, the smallest one last."""
    if _refuses_ids(context):
        context.answer = _with_tags(context, 10_000, 10_001, 100)


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def half_given_ids_get_descending_tags(context: RequestContext) -> None:
    """An INVALID_REQUEST for only one of the two ids has two private tags, the larger one first."""
    body = context.body
    if _refuses_name(context) and body is not None and body.ids_are_half_given:
        context.answer = _with_tags(context, 201, 200)


@defect(Stage.ANSWER, "KIP-482.default-tags-omitted")
def refused_names_have_no_epoch_and_say_so(context: RequestContext) -> None:
    """An INVALID_REQUEST contains an epoch of -1."""
    if _refuses_name(context):
        context.answer = context.encode_answer(raw={"finalized_features_epoch": write_int64(-1)})


@defect(Stage.ANSWER, "KIP-482.default-tags-omitted")
def misrouted_clients_get_an_empty_list_of_features(context: RequestContext) -> None:
    """A REBOOTSTRAP_REQUIRED contains an empty list of supported features."""
    if _refuses_ids(context):
        context.answer = context.encode_answer(raw={"supported_features": b"\1"})


@defect(Stage.ANSWER, "KIP-482.default-tags-omitted")
def refusals_say_that_nothing_migrates(context: RequestContext) -> None:
    """Every refusal in the request's version contains ZkMigrationReady although it is false."""
    if _refuses_anything(context):
        context.answer = context.encode_answer(raw={"zk_migration_ready": b"\0"})


def _set_epoch(context: RequestContext, *, in_refusals: int) -> None:
    """Set the epoch of successes to `FIRST_EPOCH`, and that of refusals."""
    if _refuses_anything(context):
        context.replace_response(finalized_features_epoch=in_refusals)
    elif context.succeeds and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION:
        context.replace_response(finalized_features_epoch=FIRST_EPOCH)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def refusals_have_an_older_epoch(context: RequestContext) -> None:
    """The epoch of a refusal is one below that of a success."""
    _set_epoch(context, in_refusals=FIRST_EPOCH - 1)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def refusals_have_a_newer_epoch(context: RequestContext) -> None:
    """The epoch of a refusal is one above that of a success."""
    _set_epoch(context, in_refusals=FIRST_EPOCH + 1)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def misrouted_clients_get_features_without_an_epoch(context: RequestContext) -> None:
    """A REBOOTSTRAP_REQUIRED lists the finalized features without their epoch."""
    if _refuses_ids(context):
        context.replace_response(finalized_features=context.broker.profile.finalized_features)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def refused_names_get_fewer_features(context: RequestContext) -> None:
    """An INVALID_REQUEST lists the first supported feature alone."""
    if _refuses_name(context):
        context.replace_response(supported_features=context.broker.profile.supported_features[:1])


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def misrouted_clients_get_another_range_of_levels(context: RequestContext) -> None:
    """A REBOOTSTRAP_REQUIRED lists the supported features with higher levels."""
    if _refuses_ids(context):
        features = context.broker.profile.supported_features
        raised = (dataclasses.replace(f, max_version=f.max_version + 1) for f in features)
        context.replace_response(supported_features=tuple(raised))


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def refusals_finalize_lower_levels(context: RequestContext) -> None:
    """Every refusal in the request's version lists the finalized features with the level 0, and their epoch."""
    if _refuses_anything(context):
        features = context.broker.profile.finalized_features
        lowered = (dataclasses.replace(f, max_version_level=0, min_version_level=0) for f in features)
        context.replace_response(finalized_features=tuple(lowered), finalized_features_epoch=0)


def _newest_body(context: RequestContext) -> ParsedBody | None:
    """Return the body of a request in a version that is not served, read in the newest layout; None if that fails."""
    header, traits = context.header, context.broker.profile.traits
    if header is None or not context.refuses_version:
        return None
    if header.api_version <= traits.api_versions_max:
        return None
    as_newest = dataclasses.replace(header, api_version=traits.api_versions_max)
    try:
        return parse_body(memoryview(context.payload), as_newest, traits)
    except Unreadable:
        return None


@defect(Stage.REACTION, *UNPARSED)
def names_are_checked_before_the_version(context: RequestContext) -> None:
    """An illegal name under a version that is not served gets INVALID_REQUEST, in the layout of v0."""
    body = _newest_body(context)
    if body is not None and not body.name_is_valid:
        context.replace_reaction(error_code=ErrorCode.INVALID_REQUEST, listing=Listing.NOTHING)


@defect(Stage.REACTION, *UNPARSED)
def names_of_newer_clients_are_refused_in_the_newest_layout(context: RequestContext) -> None:
    """An illegal name under a version that is not served gets INVALID_REQUEST, in the newest layout."""
    body = _newest_body(context)
    if body is not None and not body.name_is_valid:
        context.refuse_name_in(context.broker.profile.traits.api_versions_max)


@defect(Stage.REACTION, "KIP-511.unparsed-when-unsupported")
def illegal_names_of_newer_clients_hide_the_range(context: RequestContext) -> None:
    """An illegal name under a version that is not served gets UNSUPPORTED_VERSION with an empty table."""
    body = _newest_body(context)
    if body is not None and not body.name_is_valid:
        context.replace_reaction(listing=Listing.NOTHING)
