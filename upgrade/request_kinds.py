"""Which requests Kafka has, and which of them brokers send each other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reference_model.profiles.known_apis import known_apis
from wire.api_keys import OFFSET_FOR_LEADER_EPOCH_KEY, WRITE_TXN_MARKERS_KEY

BROKERS_LEFT_OUT = "requests that brokers and controllers sent each other were left out"
_NEWER_VERSIONS = 5
"""How much newer than Kafka 4.4's a version may be for bytes to count as a request."""
_MAX_VERSION_IF_UNKNOWN = 20
_SHARE_STATE_KEYS = range(83, 88)
"""The states of share groups, which brokers keep for each other."""
_NEWEST_BETWEEN_BROKERS = {OFFSET_FOR_LEADER_EPOCH_KEY: 1, WRITE_TXN_MARKERS_KEY: 0}
"""The newest versions that only brokers sent: consumers ask for epochs since 2.1, and administrators end transactions
since 3.0."""
_CLIENT_ID_OF_BROKER = re.compile(r"broker-\d+-fetcher-\d+|raft-client-\d+")
"""The client ids of replication and of the metadata quorum, which also send requests that clients send."""


def is_known(api_key: int, api_version: int) -> bool:
    """Return whether Kafka has an API and a version of it, or may have it soon."""
    known = known_apis().get(api_key)
    if known is None:
        return False
    highest = _MAX_VERSION_IF_UNKNOWN if known.range is None else known.range.highest
    return api_version <= highest + _NEWER_VERSIONS


def is_broker(client_id: str | None, api_keys: Iterable[int]) -> bool:
    """Return whether a sender of these requests with this client id is a broker or a controller."""
    return _CLIENT_ID_OF_BROKER.fullmatch(client_id or "") is not None or any(map(_is_for_brokers, api_keys))


def is_between_brokers(api_key: int, api_version: int) -> bool:
    """Return whether only brokers and controllers send a request, whoever its sender is."""
    return _is_for_brokers(api_key) or api_version <= _NEWEST_BETWEEN_BROKERS.get(api_key, -1)


def _is_for_brokers(api_key: int) -> bool:
    known = known_apis().get(api_key)
    return api_key in _SHARE_STATE_KEYS or (known is not None and not known.for_brokers)
