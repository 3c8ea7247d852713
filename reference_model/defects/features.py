"""Defects in the features of responses."""

from __future__ import annotations

import dataclasses

from reference_model.defects.registry import defect, replace_response, succeeds
from reference_model.state_machine import RequestContext, Stage
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.frames import SIZE_BYTES, encode_frame
from wire.primitives import (
    TaggedField,
    write_int64,
    write_nullable_string,
    write_raw_tagged_fields,
)

SUPPORTED_FEATURES_TAG = 0
EPOCH_TAG = 1
FIRST_EPOCH = 1000
FIRST_VERSION_WITH_ZERO_MINIMUM = 4


def _carries_features(handling: RequestContext) -> bool:
    return succeeds(handling) and handling.reaction.layout >= FIRST_FLEXIBLE_VERSION


def _append(handling: RequestContext, layout: int, data: bytes) -> None:
    """Append bytes to the body of a successful response in one layout."""
    if handling.answer and succeeds(handling) and handling.reaction.layout == layout:
        handling.answer = encode_frame(handling.answer[SIZE_BYTES:] + data)


@defect(
    Stage.ANSWER,
    "FEATURES.absent-below-v3",
    "PROTOCOL.size-prefix-exact",
    "KIP-35.every-advertised-version-served",
)
def v2_answers_have_a_tag_section_with_features(handling: RequestContext) -> None:
    """A v2 response ends with a tag section that contains the supported features."""
    _append(handling, 2, write_raw_tagged_fields((TaggedField(SUPPORTED_FEATURES_TAG, b"\x01"),)))


@defect(
    Stage.ANSWER,
    "FEATURES.absent-below-v3",
    "PROTOCOL.size-prefix-exact",
    "KIP-35.every-advertised-version-served",
)
def v0_answers_have_a_tag_section_with_the_epoch(handling: RequestContext) -> None:
    """A v0 response ends with a tag section that contains the epoch of the features."""
    _append(handling, 0, write_raw_tagged_fields((TaggedField(EPOCH_TAG, write_int64(5)),)))


@defect(
    Stage.ANSWER,
    "FEATURES.absent-below-v3",
    "PROTOCOL.size-prefix-exact",
    "KIP-35.every-advertised-version-served",
)
def v1_answers_name_a_feature(handling: RequestContext) -> None:
    """A v1 response ends with the name of a supported feature."""
    feature = handling.broker.profile.supported_features[0]
    _append(handling, 1, write_nullable_string(feature.name))


def _with_minimum_1(feature: SupportedFeatureKey) -> SupportedFeatureKey:
    return dataclasses.replace(feature, min_version=max(feature.min_version, 1))


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4")
def v3_lists_features_from_level_0(handling: RequestContext) -> None:
    """v3 lists features whose lowest level is 0."""
    if succeeds(handling) and handling.reaction.layout == FIRST_FLEXIBLE_VERSION:
        replace_response(handling, supported_features=handling.broker.profile.supported_features)


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4")
def v3_raises_lowest_levels_of_0(handling: RequestContext) -> None:
    """v3 lists features whose lowest level is 0 as if it were 1."""
    if succeeds(handling) and handling.reaction.layout == FIRST_FLEXIBLE_VERSION:
        features = handling.broker.profile.supported_features
        replace_response(handling, supported_features=tuple(map(_with_minimum_1, features)))


@defect(Stage.RESPONSE, "FEATURES.min-zero-only-from-v4")
def v4_raises_lowest_levels_of_0(handling: RequestContext) -> None:
    """v4 lists features whose lowest level is 0 as if it were 1."""
    if succeeds(handling) and handling.reaction.layout == FIRST_VERSION_WITH_ZERO_MINIMUM:
        assert handling.response is not None
        features = handling.response.supported_features
        replace_response(handling, supported_features=tuple(map(_with_minimum_1, features)))


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_feature_stands_twice(handling: RequestContext) -> None:
    """The last supported feature is listed twice."""
    if _carries_features(handling):
        assert handling.response is not None
        features = handling.response.supported_features
        replace_response(handling, supported_features=features + features[-1:])


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def finalized_levels_exceed_what_is_supported(handling: RequestContext) -> None:
    """The finalized level of every feature is one above the highest supported level."""
    if _carries_features(handling):
        assert handling.response is not None
        highest = {f.name: f.max_version + 1 for f in handling.broker.profile.supported_features}
        replace_response(
            handling,
            finalized_features=tuple(
                dataclasses.replace(feature, max_version_level=highest[feature.name])
                for feature in handling.response.finalized_features
            ),
        )


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_feature_is_finalized_that_nobody_supports(handling: RequestContext) -> None:
    """A feature is finalized that is not listed as supported."""
    if _carries_features(handling):
        assert handling.response is not None
        stranger = FinalizedFeatureKey(
            name="nobody.version", max_version_level=1, min_version_level=1
        )
        finalized = (*handling.response.finalized_features, stranger)
        replace_response(handling, finalized_features=finalized)


@defect(Stage.RESPONSE, "FEATURES.ranges-ordered")
def a_range_of_levels_is_reversed(handling: RequestContext) -> None:
    """Supported features whose lowest level is above 0 are listed with minimum and maximum swapped."""
    if _carries_features(handling):
        assert handling.response is not None
        replace_response(
            handling,
            supported_features=tuple(
                dataclasses.replace(f, min_version=f.max_version, max_version=f.min_version)
                if f.min_version
                else f
                for f in handling.response.supported_features
            ),
        )


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def the_epoch_falls_with_every_answer(handling: RequestContext) -> None:
    """Each response on a connection has a lower epoch than the one before it."""
    if _carries_features(handling):
        answers = handling.connection.memory.get("answers", 0)
        handling.connection.memory["answers"] = answers + 1
        replace_response(handling, finalized_features_epoch=FIRST_EPOCH - answers)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def newer_versions_tell_an_older_epoch(handling: RequestContext) -> None:
    """The higher the version, the lower the epoch."""
    if _carries_features(handling):
        epoch = FIRST_EPOCH - handling.reaction.layout
        replace_response(handling, finalized_features_epoch=epoch)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def the_epoch_falls_with_open_connections(handling: RequestContext) -> None:
    """The more connections are open, the lower the epoch."""
    if _carries_features(handling):
        epoch = FIRST_EPOCH - len(handling.broker.connections)
        replace_response(handling, finalized_features_epoch=epoch)


@defect(Stage.RESPONSE, "FEATURES.epoch-monotone")
def features_are_finalized_at_no_epoch(handling: RequestContext) -> None:
    """Finalized features come without their epoch."""
    if _carries_features(handling):
        replace_response(handling, finalized_features_epoch=-1)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_second_answer_has_one_feature_more(handling: RequestContext) -> None:
    """From the second flexible response on a connection onwards, one more feature is listed."""
    if _carries_features(handling):
        assert handling.response is not None
        if handling.connection.memory.get("told features"):
            late = SupportedFeatureKey(name="late.version", min_version=0, max_version=1)
            features = (*handling.response.supported_features, late)
            replace_response(handling, supported_features=features)
        handling.connection.memory["told features"] = True


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def newer_versions_finalize_lower_levels(handling: RequestContext) -> None:
    """From v4 on each finalized level is the lowest that is supported."""
    if _carries_features(handling) and handling.reaction.layout > FIRST_FLEXIBLE_VERSION:
        assert handling.response is not None
        lowest = {each.name: each.min_version for each in handling.response.supported_features}
        features = tuple(
            _at_level(each, lowest[each.name]) for each in handling.response.finalized_features
        )
        replace_response(handling, finalized_features=features)


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_second_answer_has_another_level(handling: RequestContext) -> None:
    """From the second flexible answer of a connection on, finalized levels are one lower if that is supported."""
    if _carries_features(handling):
        assert handling.response is not None
        if handling.connection.memory.get("told levels"):
            lowest = {f.name: f.min_version for f in handling.broker.profile.supported_features}
            replace_response(
                handling,
                finalized_features=tuple(
                    _at_level(feature, max(feature.max_version_level - 1, lowest[feature.name]))
                    for feature in handling.response.finalized_features
                ),
            )
        handling.connection.memory["told levels"] = True


def _at_level(feature: FinalizedFeatureKey, level: int) -> FinalizedFeatureKey:
    return dataclasses.replace(feature, max_version_level=level, min_version_level=level)
