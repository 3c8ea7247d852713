"""Requests that the brokers and controllers of a cluster send each other. They are upgraded with it, so they are no clients.

A proxy sees none of them, but a capture and a request log may be full of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reference_model.profiles.known_apis import known_apis

LEFT_OUT = "requests that brokers and controllers sent each other were left out"
_SHARE_STATE_KEYS = range(83, 88)
"""The states of share groups, which brokers keep for each other."""
_CLIENT_ID = re.compile(r"broker-\d+-fetcher-\d+|raft-client-\d+")
"""The client ids of replication and of the metadata quorum, which also send requests that clients send."""


def is_broker(client_id: str | None, api_keys: Iterable[int]) -> bool:
    """Return whether one that has this client id and sends these requests is a broker or a controller."""
    return _CLIENT_ID.fullmatch(client_id or "") is not None or any(map(_is_between, api_keys))


def _is_between(api_key: int) -> bool:
    known = known_apis().get(api_key)
    return api_key in _SHARE_STATE_KEYS or (known is not None and not known.for_brokers)
