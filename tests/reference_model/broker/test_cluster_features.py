"""What the reference broker lists after its features are finalized."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_model.broker.model.cluster_features import ClusterFeatures
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.broker.rules.reaction import Identity
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT
from reference_model.profiles.profile import KIP_TEXT, profile_of
from wire.api_versions import ApiVersionsResponse
from wire.codec import decode
from wire.described_messages import UPDATE_FEATURES
from wire.error_codes import ErrorCode
from wire.exchange import Request, probe_request
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES

AT_START = {"metadata.version": 21}


def update(**levels: int) -> Request:
    """Return a request that finalizes a level of metadata.version, or of group.version, by the name's first word."""
    updates = [{"feature": f"{name}.version", "max_version_level": level} for name, level in levels.items()]
    return UPDATE_FEATURES.plain_request(2, feature_updates=updates)


def payload_of(request: Request) -> bytes:
    return request.data[SIZE_BYTES:]


def reference(listener: str, features: ClusterFeatures) -> ReferenceBroker:
    """Return a listener of a reference broker at the levels of 3.9."""
    profile = profile_of("4.4.0", listener=listener, follows=KIP_TEXT, level="3.9")
    return ReferenceBroker(profile=profile, identity=Identity(), features=features)


def response_of(broker: ReferenceBroker, request: Request) -> bytes:
    """Return the body of the response to a request on a new connection."""
    connection = broker.connect()
    connection.receive_data(request.data)
    return connection.data_to_send()[SIZE_BYTES + CORRELATION_ID_BYTES :]


def listed(broker: ReferenceBroker, version: int = 4) -> tuple[dict[str, int], int]:
    """Return the finalized levels that a listener lists, and their epoch."""
    response = decode(ApiVersionsResponse, response_of(broker, probe_request(version)), version=version)
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    return levels, response.finalized_features_epoch


def test_levels_rise_at_a_higher_epoch_on_each_listener_that_shares_them() -> None:
    shared = ClusterFeatures()
    asked, other = reference(PLAINTEXT, shared), reference(SASL_PLAINTEXT, shared)
    assert listed(asked) == (AT_START, 0)
    assert response_of(asked, update(metadata=33, group=1))
    assert listed(asked) == ({"metadata.version": 33, "group.version": 1}, 1)
    # Before authentication the epoch is not sent, whatever the levels are.
    levels, _ = listed(other)
    assert levels == {"metadata.version": 33, "group.version": 1}
    assert listed(asked, version=2) == ({}, -1)
    shared.forget()
    assert listed(asked) == (AT_START, 0)


@pytest.mark.parametrize(
    ("payload", "version"),
    [
        pytest.param(payload_of(update(metadata=21)), 2, id="the same level"),
        pytest.param(payload_of(UPDATE_FEATURES.plain_request(2)), 2, id="no level"),
        pytest.param(b"\0", 2, id="no request"),
        pytest.param(
            payload_of(
                UPDATE_FEATURES.plain_request(
                    2, feature_updates=[{"feature": "metadata.version", "max_version_level": 33}], validate_only=True
                )
            ),
            2,
            id="only validated",
        ),
    ],
)
def test_what_raises_no_level_leaves_the_epoch(payload: bytes, version: int) -> None:
    features = ClusterFeatures()
    features.update(payload, version, AT_START)
    assert (features.levels, features.epoch) == ({}, 0)


def test_levels_without_an_epoch_stay_without_one() -> None:
    features = ClusterFeatures(levels={"group.version": 1}, epoch=3)
    before = ApiVersionsResponse(error_code=ErrorCode.NONE, supported_features=(), finalized_features_epoch=-1)
    assert features.listed_in(before) is before
    profile = profile_of("4.4.0", level="3.9")
    listing = replace(before, supported_features=profile.supported_features)
    assert features.listed_in(listing).finalized_features_epoch == -1
    assert [each.name for each in features.listed_in(listing).finalized_features] == ["group.version"]
