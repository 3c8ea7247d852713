"""Wrong answers are found in every state of a node; missing ones are allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.life.judging import different_levels, violations_in
from conformance.life.sightings import Sighting
from fixtures.client.own_connection import Reply
from wire.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from wire.codec import encode
from wire.error_codes import ErrorCode

TABLE = (ApiVersion(api_key=18, min_version=0, max_version=4),)
LEVEL = FinalizedFeatureKey(name="metadata.version", max_version_level=7, min_version_level=7)
NOTHING = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=TABLE)
EMPTY = ApiVersionsResponse(error_code=ErrorCode.NONE)
WITHOUT_EPOCH = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=TABLE, finalized_features=(LEVEL,))
WITH_EPOCH = ApiVersionsResponse(
    error_code=ErrorCode.NONE, api_keys=TABLE, finalized_features=(LEVEL,), finalized_features_epoch=0
)
# As controllers of 3.9.2 and 4.4.0 answered while they were shut down.
FAILED_V0, FAILED_V4 = bytes.fromhex("00000007 ffff 00000000"), bytes.fromhex("00000007 ffff 01 00000000 00")


def sighting(api_version: int, answered: ApiVersionsResponse | bytes | Reply, *, at_s: float = 1.0) -> Sighting:
    """Return what a listener did with a request."""
    reply = answered if isinstance(answered, Reply) else Reply.ANSWERED
    payload = b"" if isinstance(answered, Reply) else answered
    if isinstance(payload, ApiVersionsResponse):
        payload = bytes(4) + encode(payload, version=api_version)
    return Sighting(at_s=at_s, node_id=1, listener="controller", api_version=api_version, reply=reply, payload=payload)


@pytest.mark.parametrize(
    "allowed",
    [
        sighting(0, NOTHING),
        sighting(4, NOTHING),
        sighting(4, WITH_EPOCH),
        sighting(0, Reply.CLOSED),
        sighting(4, Reply.SILENT),
        sighting(0, Reply.CUT_OFF),
    ],
)
def test_what_is_right_or_missing_breaks_nothing(allowed: Sighting) -> None:
    assert violations_in([allowed]) == []


@pytest.mark.parametrize(
    ("wrong", "clause", "sentence"),
    [
        (
            sighting(0, FAILED_V0),
            "KIP-35.v0-always-served",
            "v0 is answered with UNKNOWN_SERVER_ERROR (-1)",
        ),
        (sighting(0, bytes(4)), "KIP-35.v0-always-served", "v0 is answered with bytes without an error code"),
        (sighting(0, bytes(7)), "KIP-35.v0-always-served", "v0 is answered with no table that can be read"),
        (sighting(0, bytes(10)), "KIP-35.v0-always-served", "v0 is answered with an empty table"),
        (sighting(4, bytes(7)), "KIP-511.v3-body-flexible", "v4 is answered with no table that can be read"),
        (sighting(4, EMPTY), "KIP-35.table-lists-itself", "v4 is answered with an empty table"),
        (
            sighting(0, Reply.NO_RESPONSE),
            "KIP-35.v0-always-served",
            "v0 is answered with bytes that are no response",
        ),
        (
            sighting(4, Reply.NO_RESPONSE),
            "KIP-35.every-advertised-version-served",
            "v4 is answered with bytes that are no response",
        ),
        (
            sighting(4, FAILED_V4),
            "KIP-35.error-code-first",
            "v4 is answered with UNKNOWN_SERVER_ERROR (-1)",
        ),
        (
            sighting(4, WITHOUT_EPOCH),
            "FEATURES.epoch-monotone",
            "v4 lists finalized features without an epoch: metadata.version 7",
        ),
    ],
)
def test_wrong_answer_breaks_one_clause(wrong: Sighting, clause: str, sentence: str) -> None:
    (violation,) = violations_in([wrong])
    assert (violation.clause, violation.sentence) == (clause, sentence)


def test_violations_are_in_the_order_of_time() -> None:
    """Listeners are watched by threads, so sightings may come in any order."""
    late, early = sighting(0, FAILED_V0, at_s=2.0), sighting(4, FAILED_V4, at_s=1.0)
    assert [each.sighting.at_s for each in violations_in([late, early])] == [1.0, 2.0]


def test_different_levels_of_one_node_are_noted() -> None:
    """Controllers of 3.9.0 with a dynamic quorum leave kraft.version out, and its brokers list it (KAFKA-18920)."""
    broker = replace(sighting(4, WITH_EPOCH), listener="plaintext")
    controller = sighting(4, NOTHING)
    assert different_levels([broker, controller]) == [
        "node 1 lists different finalized levels of metadata.version: none on controller, 7 on plaintext"
    ]
    assert different_levels([broker, replace(broker, listener="controller")]) == []
    assert different_levels([broker, replace(controller, node_id=2)]) == []


@pytest.mark.parametrize("missing", [Reply.SILENT, Reply.CLOSED, FAILED_V4])
def test_listener_without_a_table_lists_nothing_else(missing: Reply | bytes) -> None:
    """It may list the same once it answers."""
    broker = replace(sighting(4, WITH_EPOCH), listener="plaintext")
    assert different_levels([broker, sighting(4, missing)]) == []


def test_level_0_is_a_level() -> None:
    """It is not shown as none."""
    disabled = replace(LEVEL, min_version_level=0, max_version_level=0)
    broker = sighting(4, replace(WITH_EPOCH, finalized_features=(disabled,)))
    assert different_levels([broker, replace(sighting(4, NOTHING), listener="plaintext")]) == [
        "node 1 lists different finalized levels of metadata.version: 0 on controller, none on plaintext"
    ]


def test_a_moving_epoch_is_no_difference() -> None:
    """The epoch of a broker moves twice a second; that it appears is one."""
    later = ApiVersionsResponse(
        error_code=ErrorCode.NONE, api_keys=TABLE, finalized_features=(LEVEL,), finalized_features_epoch=9
    )
    assert not sighting(4, WITH_EPOCH).differs_from(sighting(4, later))
    assert sighting(4, WITHOUT_EPOCH).differs_from(sighting(4, WITH_EPOCH))
    assert sighting(4, NOTHING).differs_from(sighting(4, Reply.CLOSED))
