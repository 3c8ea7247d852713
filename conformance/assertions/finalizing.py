"""Finalizes features at the levels of a release, and checks what listeners list.

That changes the target for good, so it is started again if a level rose.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import Unjudged
from conformance.assertions.other_apis import advertised_table, newest_response
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from reference_model.profiles.profile import IMPLEMENTATIONS_WITH_PROFILE, KRAFT, profile_of
from wire.api_keys import UPDATE_FEATURES_KEY
from wire.api_versions import ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.exchange import probe_request

Levels = Mapping[str, int]
"""The finalized level of each feature that has one."""


def can_finalize(broker: Broker) -> bool:
    """Return whether the suite started a release with KRaft or a cluster of it, and may raise levels that are known.

    Levels rise at an older level alone, and stay until the target is started again. One that cannot be, such as one
    that has ended too often, is not judged at an older level.
    """
    target = broker.target
    return (
        (target.implementation in IMPLEMENTATIONS_WITH_PROFILE or len({*target.members}) == 1)
        and target.quorum == KRAFT
        and broker.running.launcher != "address"
        and bool(levels_of_release(broker))
        and any(entry.api_key == UPDATE_FEATURES_KEY for entry in advertised_table(broker))
        and (broker.can_restart or not target.level)
    )


def levels_of_release(broker: Broker) -> Levels:
    """Return the levels that a fresh target of the release lists on a listener."""
    profile = profile_of(broker.target.release, quorum=broker.target.quorum, listener=broker.listener)
    return {each.name: each.max_version_level for each in profile.finalized_features}


def assert_levels_follow(broker: Broker, upgrade_type: int) -> Collection[int]:
    """Finalize the levels of the release, and fail unless every listener follows, and every other node of the cluster.

    Args:
        broker: the plaintext listener.
        upgrade_type: the type of the update, which says whether levels may also fall.

    Returns:
        The error codes by which the target refuses to finalize; then nothing was judged. Empty if it did not.

    Raises:
        Unjudged: the target is at no older level, and lists other levels than its release all the same.
    """
    names = (*broker.running.addresses, *broker.running.other_nodes)
    listeners = [broker if name == broker.listener else broker.sibling(name) for name in names]
    before = [_features_of(each) for each in listeners]
    rises = any(
        levels_in(response) != levels_of_release(each) for each, response in zip(listeners, before, strict=True)
    )
    if rises and not broker.target.level:
        raise Unjudged(
            "it lists other levels than its release before any is finalized: no source says which it has then"
        )
    try:
        refusals = _finalize(broker, levels_of_release(broker), upgrade_type) - {ErrorCode.NONE}
        if not refusals:
            for each, response in zip(listeners, before, strict=True):
                _assert_follows(each, response)
        return refusals
    finally:
        if rises and broker.can_restart:
            broker.restart()
            broker.calibrate()


def levels_in(response: ApiVersionsResponse) -> Levels:
    """Return the finalized levels in a response."""
    return {each.name: each.max_version_level for each in response.finalized_features}


def _assert_follows(listener: Broker, before: ApiVersionsResponse) -> None:
    expected = levels_of_release(listener)
    limit_s = listener.levels_spread_within_s
    poll_until(partial(_levels_with_table_of, listener, before), expected, limit_s=limit_s)
    assert_raised(listener.listener, before, _features_of(listener), expected, limit_s)


def assert_raised(
    listener: str, before: ApiVersionsResponse, after: ApiVersionsResponse, expected: Levels, limit_s: float
) -> None:
    """Fail unless a listener lists the new levels, with a higher epoch if they differ from the old ones.

    Args:
        listener: the name of the listener.
        before: its response before the levels were finalized.
        after: its response after they were.
        expected: the levels that were finalized.
        limit_s: how long it had to follow.
    """
    found = levels_in(after)
    assert found == expected, f"{listener} lists the finalized levels {found} {limit_s:g} s after these: {expected}"
    epochs = before.finalized_features_epoch, after.finalized_features_epoch
    if levels_in(before) != expected:
        assert epochs[0] < epochs[1], f"{listener} names the epoch {epochs[1]} after {epochs[0]}, although levels rose"
    else:
        assert epochs[0] <= epochs[1], f"{listener} names the epoch {epochs[1]} after {epochs[0]}"


def _levels_with_table_of(listener: Broker, before: ApiVersionsResponse) -> Levels:
    response = _features_of(listener)
    differing = {*response.api_keys} ^ {*before.api_keys}
    keys = ", ".join(map(str, sorted({each.api_key for each in differing})))
    assert not differing, f"{listener.listener} lists other versions once features are finalized: of the APIs {keys}"
    return levels_in(response)


def _features_of(listener: Broker) -> ApiVersionsResponse:
    version = listener.described_version
    exchange = listener.exchange(probe_request(version))
    return decode_answer(exchange, api_version=version)


def _finalize(broker: Broker, levels: Levels, upgrade_type: int) -> set[int]:
    """Ask a target to raise its levels, and return the error codes of its response.

    Raises:
        JudgedElsewhere: there is no response, or it does not decode.
    """
    updates = [
        {"feature": name, "max_version_level": level, "upgrade_type": upgrade_type} for name, level in levels.items()
    ]
    _, codes = newest_response(broker, UPDATE_FEATURES_KEY, {"feature_updates": updates, "timeout_ms": 10_000})
    return {*codes}
