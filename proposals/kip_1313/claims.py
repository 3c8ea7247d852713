"""Whether a target claims KIP-1313, a proposal: read from its table alone.

A target claims it by listing OffsetDelete v1, the first request with header v3; so one that does is judged whatever it
is. Controllers do not list OffsetDelete. One claims the proposal if most APIs in its table, ApiVersions among them,
have a newer version than those of today: no release of Kafka has given a new version to that many at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from reference_model.profiles.known_apis import known_apis
from wire.api_keys import API_VERSIONS_KEY

Newest = Mapping[int, int]
"""The newest version of each API that a target lists, by key."""


def claims_proposal(newest: Newest) -> bool:
    """Return whether a target claims the proposal."""
    if OFFSET_DELETE_KEY in newest:
        return is_new(newest, OFFSET_DELETE_KEY)
    new = sum(is_new(newest, api_key) for api_key in newest)
    return is_new(newest, API_VERSIONS_KEY) and 2 * new > len(newest)


def is_new(newest: Newest, api_key: int) -> bool:
    """Return whether a target lists a newer version of a known API than today's releases.

    An API that is unknown today is never new.
    """
    known = known_apis().get(api_key)
    return known is not None and known.range is not None and newest.get(api_key, 0) > known.range.highest
