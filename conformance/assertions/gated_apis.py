"""The APIs that Apache Kafka serves only if a feature is finalized.

Its table lists them in any case.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import MalformedAnswer
from fixtures.under_test.broker import Broker


class Gate(NamedTuple):
    """The lowest level of a feature at which an API is served."""

    feature: str
    level: int


_GATED: Mapping[Gate, tuple[str, ...]] = {
    Gate("group.version", 1): ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe"),
    Gate("share.version", 1): (
        "ShareGroupHeartbeat",
        "ShareGroupDescribe",
        "ShareFetch",
        "ShareAcknowledge",
        "DescribeShareGroupOffsets",
        "AlterShareGroupOffsets",
        "DeleteShareGroupOffsets",
    ),
    Gate("streams.version", 1): (
        "StreamsGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupTopologyDescriptionUpdate",
    ),
}
GATES: Mapping[str, Gate] = {name: gate for gate, names in _GATED.items() for name in names}
"""The feature that each API needs, by the API's name. Source: KafkaApis of Apache Kafka 4.4."""


def missing_feature(broker: Broker, name: str) -> str:
    """Return which feature an API needs and a target does not finalize: "group.version 1"; empty if there is none.

    A target that does not support the feature at that level is not taken to need it.
    """
    gate = GATES.get(name)
    if gate is None:
        return ""
    supported, finalized = _feature_levels(broker)
    is_missing = finalized.get(gate.feature, 0) < gate.level <= supported.get(gate.feature, 0)
    return f"{gate.feature} {gate.level}" if is_missing else ""


def finalized_level(broker: Broker, feature: str) -> int:
    """Return the level at which a target finalizes a feature; 0 if at none."""
    _, finalized = _feature_levels(broker)
    return finalized.get(feature, 0)


@functools.lru_cache(maxsize=8)
def _feature_levels(broker: Broker) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the highest supported and the finalized levels by feature; none if they are not known."""
    version = broker.described_version
    try:
        response = decode_answer(broker.plain_exchange(version), api_version=version)
    except MalformedAnswer:
        return {}, {}
    if response.finalized_features_epoch < 0:
        return {}, {}
    supported = {each.name: each.max_version for each in response.supported_features}
    return supported, {each.name: each.max_version_level for each in response.finalized_features}
