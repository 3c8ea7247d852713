"""Which features a listener lists, alone and compared with another listener or with the upstream of a proxy."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum

from hypothesis import assume

from conformance.assertions.judging import MalformedAnswer, assume_seen, decode_answer
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.exchange import Exchange


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
    """Return whether a listener lists a feature in any version; True if a response cannot be read, as that is judged."""
    return any(
        response is None or any(kind.names(response) for kind in FeatureList)
        for response in _plain_responses(broker)
    )


def lists_supported_features(broker: Broker) -> bool:
    """Return whether a listener lists a supported feature in any version, in a response that can be read."""
    return any(
        response is not None and FeatureList.SUPPORTED.names(response)
        for response in _plain_responses(broker)
    )


def assert_features_as_on(
    broker: Broker, other: str, version: int, kinds: Collection[FeatureList] = tuple(FeatureList)
) -> None:
    """Fail if a listener lists no feature where another one lists some; reject the example if that lists none.

    Args:
        broker: the listener that is judged.
        other: the name of the other listener. A response of it that cannot be read is judged there.
        version: the version of ApiVersions in which both are asked.
        kinds: the lists that are compared.
    """
    elsewhere = broker.sibling(other)
    assume(version <= min(broker.max_version, elsewhere.max_version))
    sent = build_request(version=version)
    there = _readable(elsewhere.exchange(sent), version)
    assume_seen(there is not None and any(kind.names(there) for kind in kinds))
    assert there is not None
    here = decode_answer(broker.exchange(sent), api_version=version)
    lost = {kind: kind.names(there) for kind in kinds if kind.names(there) and not kind.names(here)}
    assert not lost, "; ".join(
        f"the response lists no {kind} feature, that of {other} lists {', '.join(names)}"
        for kind, names in lost.items()
    )
