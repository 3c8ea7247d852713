"""Faults of clients that derive too much from the ends of ranges in a table.

By them they decide whether they can use a broker at all.

What they send is left in these tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import BrokerError
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.scripts.script import healthy_ranges
from reference_model.faults.clients.registry import fault
from wire.api_keys import FETCH_KEY, JOIN_GROUP_KEY, PRODUCE_KEY
from wire.api_versions import ApiVersionsResponse

RAISED = "KIP-97.raised-minimums-do-not-hurt"
LOWERED = "KIP-97.lowered-maximums-do-not-hurt"


class _RefusingTables(ModelClient):
    """Gives up on a broker whose table differs in a certain way from that of one that has every version."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        entries = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
        healthy = {key: (lowest, highest) for key, lowest, highest in healthy_ranges()}
        if entries.keys() == healthy.keys():
            changed = {key: entries[key] for key in entries if entries[key] != healthy[key]}
            raised = {
                key: low for key, (low, high) in changed.items() if low > healthy[key][0] and high == healthy[key][1]
            }
            lowered = {
                key: high for key, (low, high) in changed.items() if high < healthy[key][1] and low == healthy[key][0]
            }
            if self.is_refused(raised, lowered):
                raise BrokerError("the broker cannot be used")
        return super().ranges_in(link, response)

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        """Return whether it gives up, by the APIs of which a broker lacks the oldest or the newest versions."""
        raise NotImplementedError


@fault(RAISED)
class OldFetchAndJoinGroupAreNeeded(_RefusingTables):
    """Takes a broker without the first versions of Fetch and JoinGroup for one that can do nothing."""

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        return {FETCH_KEY, JOIN_GROUP_KEY} <= raised.keys()


@fault(RAISED)
class OldFetchIsNeeded(_RefusingTables):
    """Gives up if the versions of Fetch alone are gone that take record batches of before KIP-98."""

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        return raised.keys() == {FETCH_KEY}


@fault(RAISED)
class FirstJoinGroupIsNeeded(_RefusingTables):
    """Gives up if JoinGroup v0 alone is gone."""

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        return dict(raised) == {JOIN_GROUP_KEY: 1}


@fault(LOWERED)
class NewestFetchIsNeeded(_RefusingTables):
    """Gives up on a broker that lacks newest versions of Fetch alone, although it reads no record."""

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        return lowered.keys() == {FETCH_KEY}


@fault(LOWERED)
class NewestProduceIsNeeded(_RefusingTables):
    """Gives up on a broker that lacks newest versions of Produce alone, although it writes no record."""

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        return lowered.keys() == {PRODUCE_KEY}


@fault(LOWERED)
class EveryNewestVersionIsNeeded(_RefusingTables):
    """Gives up on a broker that lacks the newest version of every API."""

    def is_refused(self, raised: Mapping[int, int], lowered: Mapping[int, int]) -> bool:
        return len(lowered) > len(healthy_ranges()) // 2
