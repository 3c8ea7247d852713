"""The features that a listener lists, alone and compared.

They are compared with another listener or with the upstream of a proxy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum

from hypothesis import assume

from conformance.assertions.assuming import assume_seen
from conformance.assertions.clause_ids import SAME_LEVELS_AT_ONE_EPOCH
from conformance.assertions.decoding import decode_answer, decode_elsewhere
from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.exchange import Exchange

TRIES_FOR_ONE_EPOCH = 2
"""How often two listeners are asked until both name the same epoch; that of a broker with KRaft grows twice a
second."""


class FeatureList(StrEnum):
    """The two lists of features in a response."""

    SUPPORTED = "supported"
    FINALIZED = "finalized"

    def names(self, response: ApiVersionsResponse) -> list[str]:
        """Return the names of the features that a response lists."""
        if self is FeatureList.SUPPORTED:
            return [each.name for each in response.supported_features]
        return [each.name for each in response.finalized_features]


def _readable(exchange: Exchange, api_version: int) -> ApiVersionsResponse | None:
    """Return a response; None if it is missing or cannot be decoded."""
    try:
        return decode_answer(exchange, api_version=api_version)
    except MalformedAnswer:
        return None


def _plain_responses(broker: Broker) -> Iterator[ApiVersionsResponse | None]:
    """Yield the response in each version that can carry features; None for one that cannot be read."""
    for version in range(FIRST_FLEXIBLE_VERSION, broker.described_version + 1):
        yield _readable(broker.plain_exchange(version), version)


def lists_features(broker: Broker) -> bool:
    """Return whether a listener lists a feature in any version.

    Return True if a response cannot be read, because other clauses judge that.
    """
    return any(
        response is None or any(kind.names(response) for kind in FeatureList) for response in _plain_responses(broker)
    )


def lists_supported_features(broker: Broker) -> bool:
    """Return whether a listener lists a supported feature in any version, in a response that can be read."""
    return any(response is not None and FeatureList.SUPPORTED.names(response) for response in _plain_responses(broker))


def assert_features_as_on(
    broker: Broker,
    other: str,
    version: int,
    kinds: Collection[FeatureList] = tuple(FeatureList),
    *,
    of_one_node: bool = False,
) -> None:
    """Fail if a listener lists no feature where another one lists some; reject the example if that lists none.

    Args:
        broker: the listener that is judged.
        other: the name of the other listener. A response of it that cannot be read is judged there.
        version: the version of ApiVersions in which both are asked.
        kinds: the lists that are compared.
        of_one_node: whether both listeners are of one node, so that at one epoch `SAME_LEVELS_AT_ONE_EPOCH` judges the
            finalized features.

    Raises:
        JudgedElsewhere: only finalized features are missing, and `SAME_LEVELS_AT_ONE_EPOCH` judges that.
    """
    elsewhere = broker.sibling(other)
    assume(version <= min(broker.max_version, elsewhere.max_version))
    sent = build_request(version=version)
    there = _readable(elsewhere.exchange(sent), version)
    assume_seen(there is not None and any(kind.names(there) for kind in kinds))
    assert there is not None
    here = decode_answer(broker.exchange(sent), api_version=version)
    lost = {kind: kind.names(there) for kind in kinds if kind.names(there) and not kind.names(here)}
    if of_one_node and [*lost] == [FeatureList.FINALIZED] and _is_at_one_epoch(here, there):
        raise JudgedElsewhere(
            f"the listener lists no finalized feature at the epoch at which {other} lists some (judged by {SAME_LEVELS_AT_ONE_EPOCH})"
        )
    assert not lost, "; ".join(
        f"the response lists no {kind} feature, that of {other} lists {', '.join(names)}"
        for kind, names in lost.items()
    )


def _is_at_one_epoch(here: ApiVersionsResponse, there: ApiVersionsResponse) -> bool:
    return 0 <= here.finalized_features_epoch == there.finalized_features_epoch


def responses_at_one_epoch(
    broker: Broker, other: str, version: int
) -> tuple[ApiVersionsResponse, ApiVersionsResponse] | None:
    """Return the responses of a listener and of another one at the same epoch of the finalized features.

    Both are asked again if they name different epochs, because the epoch may have grown between the two responses.

    Args:
        broker: the listener that is judged.
        other: the name of the other listener of the same node.
        version: the version of ApiVersions in which both are asked.

    Returns:
        None if they still name different epochs or none: this proves nothing.

    Raises:
        MalformedAnswer: the response of the listener that is judged cannot be decoded.
        JudgedElsewhere: that of the other one cannot.
    """
    sent = build_request(version=version)
    for _ in range(TRIES_FOR_ONE_EPOCH):
        there = decode_elsewhere(broker.sibling(other).exchange(sent), api_version=version)
        here = decode_answer(broker.exchange(sent), api_version=version)
        if _is_at_one_epoch(here, there):
            return here, there
    return None


def names_epoch_of(broker: Broker, other: str) -> bool:
    """Return whether a listener and another one of the same node name the same epoch of the finalized features now.

    True if a response cannot be read, as that is judged.
    """
    version = min(broker.described_version, broker.sibling(other).described_version)
    if version < FIRST_FLEXIBLE_VERSION:
        return False
    try:
        return responses_at_one_epoch(broker, other, version) is not None
    except (MalformedAnswer, JudgedElsewhere):
        return True


def assert_same_levels(here: ApiVersionsResponse, there: ApiVersionsResponse, other: str) -> None:
    """Fail unless two responses at one epoch finalize the same features with the same levels.

    Args:
        here: the response of the listener that is judged.
        there: that of the other one.
        other: the name of the other one, for the failure message.
    """
    levels, expected = _levels(here), _levels(there)
    differing = [name for name in sorted(levels | expected) if levels.get(name) != expected.get(name)]
    details = (f"{name}: {_in_words(levels, name)}, on {other} {_in_words(expected, name)}" for name in differing)
    assert not differing, (
        f"at one epoch the finalized levels differ from those of {other}: {'; '.join(details)}\n"
        f"both name the epoch {here.finalized_features_epoch}"
    )


def _levels(response: ApiVersionsResponse) -> dict[str, tuple[int, int]]:
    """Return the lowest and the highest level of each finalized feature."""
    return {each.name: (each.min_version_level, each.max_version_level) for each in response.finalized_features}


def _in_words(levels: Mapping[str, tuple[int, int]], name: str) -> str:
    if name not in levels:
        return "none"
    lowest, highest = levels[name]
    return f"{highest}" if lowest == highest else f"{lowest} to {highest}"
