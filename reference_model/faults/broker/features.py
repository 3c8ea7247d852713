"""Defects in the features of responses."""

from __future__ import annotations

import dataclasses

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.registry import defect
from reference_model.profiles.listeners import CONTROLLER, SASL_PLAINTEXT
from wire.api_keys import UPDATE_FEATURES_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_ZERO_MINIMUM,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.frames import SIZE_BYTES, encode_frame
from wire.primitives import TaggedField, write_int64, write_nullable_string, write_raw_tagged_fields

SUPPORTED_FEATURES_TAG = 0
EPOCH_TAG = 1
FIRST_EPOCH = 1000
RESPONSES_TO_ONE_OLD_EPOCH = 50
METADATA_VERSION = b"metadata.version"
UNUSED_KEY = 1234
"""No API has this key."""


def _carries_features(context: RequestContext) -> bool:
    return context.succeeds and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION


def _append(context: RequestContext, layout: int, data: bytes) -> None:
    """Append bytes to the body of a successful response in one layout."""
    if context.answer and context.succeeds and context.reaction.response_version == layout:
        context.answer = encode_frame(context.answer[SIZE_BYTES:] + data)


@defect(Stage.ANSWER, "FEATURES.absent-below-v3", "PROTOCOL.size-prefix-exact")
def v2_answers_have_a_tag_section_with_features(context: RequestContext) -> None:
    """A v2 response ends with a tag section that contains the supported features."""
    _append(context, 2, write_raw_tagged_fields((TaggedField(SUPPORTED_FEATURES_TAG, b"\x01"),)))


@defect(Stage.ANSWER, "FEATURES.absent-below-v3", "PROTOCOL.size-prefix-exact")
def v0_answers_have_a_tag_section_with_the_epoch(context: RequestContext) -> None:
    """A v0 response ends with a tag section that contains the epoch of the features."""
    _append(context, 0, write_raw_tagged_fields((TaggedField(EPOCH_TAG, write_int64(5)),)))


@defect(Stage.ANSWER, "FEATURES.absent-below-v3", "PROTOCOL.size-prefix-exact")
def v1_answers_name_a_feature(context: RequestContext) -> None:
    """A v1 response ends with the name of a supported feature."""
    feature = context.broker.profile.supported_features[0]
    _append(context, 1, write_nullable_string(feature.name))


def _with_minimum_1(feature: SupportedFeatureKey) -> SupportedFeatureKey:
    return dataclasses.replace(feature, min_version=max(feature.min_version, 1))


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4")
def v3_lists_features_from_level_0(context: RequestContext) -> None:
    """v3 lists features whose lowest level is 0."""
    if context.succeeds and context.reaction.response_version == FIRST_FLEXIBLE_VERSION:
        context.replace_response(supported_features=context.broker.profile.supported_features)


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4")
def v3_raises_lowest_levels_of_0(context: RequestContext) -> None:
    """v3 lists features whose lowest level is 0 as if it were 1."""
    if context.succeeds and context.reaction.response_version == FIRST_FLEXIBLE_VERSION:
        features = context.broker.profile.supported_features
        context.replace_response(supported_features=tuple(map(_with_minimum_1, features)))


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4")
def v4_raises_lowest_levels_of_0(context: RequestContext) -> None:
    """v4 lists features whose lowest level is 0 as if it were 1."""
    if context.succeeds and context.reaction.response_version == FIRST_VERSION_WITH_ZERO_MINIMUM:
        features = context.message.supported_features
        context.replace_response(supported_features=tuple(map(_with_minimum_1, features)))


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_feature_stands_twice(context: RequestContext) -> None:
    """The last supported feature is listed twice."""
    if _carries_features(context):
        features = context.message.supported_features
        context.replace_response(supported_features=features + features[-1:])


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def finalized_levels_exceed_what_is_supported(context: RequestContext) -> None:
    """The finalized level of every feature is one above the highest supported level."""
    if _carries_features(context):
        highest = {f.name: f.max_version + 1 for f in context.broker.profile.supported_features}
        context.replace_response(
            finalized_features=tuple(
                dataclasses.replace(feature, max_version_level=highest[feature.name])
                for feature in context.message.finalized_features
            ),
        )


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_feature_is_finalized_that_nobody_supports(context: RequestContext) -> None:
    """A feature is finalized that is not listed as supported."""
    if _carries_features(context):
        stranger = FinalizedFeatureKey(name="nobody.version", max_version_level=1, min_version_level=1)
        finalized = (*context.message.finalized_features, stranger)
        context.replace_response(finalized_features=finalized)


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_range_of_levels_is_reversed(context: RequestContext) -> None:
    """Supported features whose lowest level is above 0 are listed with minimum and maximum swapped."""
    if _carries_features(context):
        context.replace_response(
            supported_features=tuple(
                dataclasses.replace(f, min_version=f.max_version, max_version=f.min_version) if f.min_version else f
                for f in context.message.supported_features
            ),
        )


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def the_epoch_falls_with_every_answer(context: RequestContext) -> None:
    """Each response on a connection has a lower epoch than the one before it."""
    if _carries_features(context):
        answers = context.connection.memory.get("answers", 0)
        context.connection.memory["answers"] = answers + 1
        context.replace_response(finalized_features_epoch=FIRST_EPOCH - answers)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def newer_versions_tell_an_older_epoch(context: RequestContext) -> None:
    """The higher the version, the lower the epoch."""
    if _carries_features(context):
        epoch = FIRST_EPOCH - context.reaction.response_version
        context.replace_response(finalized_features_epoch=epoch)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def the_epoch_falls_with_open_connections(context: RequestContext) -> None:
    """The more connections are open, the lower the epoch."""
    if _carries_features(context):
        epoch = FIRST_EPOCH - len(context.broker.connections)
        context.replace_response(finalized_features_epoch=epoch)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def features_are_finalized_at_no_epoch(context: RequestContext) -> None:
    """Finalized features come without their epoch."""
    if _carries_features(context):
        context.replace_response(finalized_features_epoch=-1)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def every_fiftieth_response_has_an_older_epoch(context: RequestContext) -> None:
    """Of all flexible responses of the broker, every fiftieth has an older epoch than the others."""
    if _carries_features(context):
        memory = context.broker.memory
        count = memory["flexible responses"] = memory.get("flexible responses", 0) + 1
        is_old = count % RESPONSES_TO_ONE_OLD_EPOCH == 0
        context.replace_response(finalized_features_epoch=FIRST_EPOCH - is_old)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def requests_with_tags_get_an_older_epoch(context: RequestContext) -> None:
    """A request with tagged fields in its header gets an older epoch than any other."""
    if _carries_features(context):
        context.replace_response(finalized_features_epoch=FIRST_EPOCH - bool(context.tag_count))


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def a_refusal_takes_the_epoch_back(context: RequestContext) -> None:
    """After a request in an unsupported version, all further responses on its connection have an older epoch."""
    was_refused = context.has_seen("refusal", now=context.refuses_version)
    if _carries_features(context):
        context.replace_response(finalized_features_epoch=FIRST_EPOCH - was_refused)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_second_answer_has_one_feature_more(context: RequestContext) -> None:
    """From the second flexible response on a connection onwards, one more feature is listed."""
    if _carries_features(context) and context.has_seen("features", now=True):
        late = SupportedFeatureKey(name="late.version", min_version=1, max_version=1)
        features = (*context.message.supported_features, late)
        context.replace_response(supported_features=features)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def newer_versions_finalize_lower_levels(context: RequestContext) -> None:
    """From v4 on each finalized level is the lowest that is supported."""
    if _carries_features(context) and context.reaction.response_version > FIRST_FLEXIBLE_VERSION:
        lowest = {each.name: each.min_version for each in context.message.supported_features}
        features = tuple(_at_level(each, lowest[each.name]) for each in context.message.finalized_features)
        context.replace_response(finalized_features=features)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_second_answer_has_another_level(context: RequestContext) -> None:
    """From the second flexible answer of a connection on, finalized levels are one lower if that is supported."""
    if _carries_features(context) and context.has_seen("levels", now=True):
        lowest = {f.name: f.min_version for f in context.broker.profile.supported_features}
        context.replace_response(
            finalized_features=tuple(
                _at_level(feature, max(feature.max_version_level - 1, lowest[feature.name]))
                for feature in context.message.finalized_features
            ),
        )


@defect(Stage.RESPONSE, "FEATURES.listed-on-every-listener", listeners=(CONTROLLER,))
def controllers_list_no_features(context: RequestContext) -> None:
    """The controller listener lists no feature, and no epoch."""
    if _carries_features(context):
        context.replace_response(supported_features=(), finalized_features=(), finalized_features_epoch=-1)


@defect(Stage.RESPONSE, "FEATURES.listed-on-every-listener", listeners=(SASL_PLAINTEXT,))
def listeners_with_sasl_list_no_finalized_features(context: RequestContext) -> None:
    """The listener with SASL lists the supported features, but no finalized one and no epoch."""
    if _carries_features(context):
        context.replace_response(finalized_features=(), finalized_features_epoch=-1)


@defect(Stage.RESPONSE, "FEATURES.same-levels-at-one-epoch", listeners=(SASL_PLAINTEXT,))
def listeners_with_sasl_forget_the_levels_of_an_epoch(context: RequestContext) -> None:
    """The listener with SASL names the epoch of the plaintext one, but no feature that is finalized at it."""
    if _carries_features(context):
        context.replace_response(finalized_features=())


@defect(Stage.RESPONSE, "FEATURES.same-levels-at-one-epoch", listeners=(SASL_PLAINTEXT,))
def listeners_with_sasl_finalize_lower_levels(context: RequestContext) -> None:
    """On the listener with SASL each finalized level is the lowest that is supported above 0."""
    if _carries_features(context):
        lowest = {f.name: max(f.min_version, 1) for f in context.broker.profile.supported_features}
        context.replace_response(
            finalized_features=tuple(
                _at_level(feature, lowest[feature.name]) for feature in context.message.finalized_features
            ),
        )


@defect(Stage.RESPONSE, "FEATURES.same-levels-at-one-epoch", listeners=(CONTROLLER,))
def controllers_leave_out_a_finalized_feature(context: RequestContext) -> None:
    """The controller listener leaves out the last finalized feature."""
    if _carries_features(context):
        finalized = context.message.finalized_features
        context.replace_response(finalized_features=finalized[:-1])


def _first_after_finalizing(context: RequestContext) -> bool:
    """Return whether this is the first response with features after a request to finalize some."""
    memory = context.broker.memory
    if context.header is not None and context.header.api_key == UPDATE_FEATURES_KEY:
        # The sweeps send such a request as well, and name no feature.
        memory["finalized"] = METADATA_VERSION in context.payload
    return _carries_features(context) and memory.pop("finalized", False)


@defect(Stage.ANSWER, "FEATURES.levels-follow", every_api=True)
def a_newly_finalized_level_hides_an_api(context: RequestContext) -> None:
    """The first response after features are finalized leaves out the last API of the table."""
    if _first_after_finalizing(context):
        context.response = dataclasses.replace(context.message, api_keys=context.message.api_keys[:-1])
        context.answer = context.encode_answer()


@defect(Stage.ANSWER, "FEATURES.levels-follow", every_api=True)
def a_newly_finalized_level_hides_the_newest_version(context: RequestContext) -> None:
    """The first response after features are finalized lists Produce without its newest version."""
    if _first_after_finalizing(context):
        produce, *others = context.message.api_keys
        older = dataclasses.replace(produce, max_version=produce.max_version - 1)
        context.response = dataclasses.replace(context.message, api_keys=(older, *others))
        context.answer = context.encode_answer()


@defect(Stage.ANSWER, "FEATURES.levels-follow", every_api=True)
def a_newly_finalized_level_lists_one_more_api(context: RequestContext) -> None:
    """The first response after features are finalized lists an API that no other response has."""
    if _first_after_finalizing(context):
        further = dataclasses.replace(context.message.api_keys[-1], api_key=UNUSED_KEY)
        context.response = dataclasses.replace(context.message, api_keys=(*context.message.api_keys, further))
        context.answer = context.encode_answer()


def _at_level(feature: FinalizedFeatureKey, level: int) -> FinalizedFeatureKey:
    return dataclasses.replace(feature, max_version_level=level, min_version_level=level)
