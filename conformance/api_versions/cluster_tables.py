"""The tables of a cluster's brokers, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from conformance.api_versions.known_apis import Range

Ranges = Mapping[int, Range]
"""The versions that a broker or a client supports, by API key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTable:
    """What one broker answers to ApiVersions.

    Attributes:
        node_id: its id in the cluster.
        host: its host name, as the cluster states it.
        port: its port.
        rack: its rack, if it has one.
        is_fenced: whether the cluster keeps clients away from it.
        ranges: what it lists, by API key; empty if it could not be asked.
        refused: what it refuses although it lists it, by API key, as far as that is known.
        features: the level to which each feature is finalized, by name.
        problem: why it could not be asked; empty if it answered.
    """

    node_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False
    ranges: Ranges = field(default_factory=dict)
    refused: Ranges = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTables:
    """The tables of all brokers of a cluster.

    Attributes:
        name: how the user named the cluster.
        cluster_id: its id; None if no broker stated one.
        brokers: its brokers, by node id ascending.
    """

    name: str
    cluster_id: str | None
    brokers: Sequence[BrokerTable]

    @property
    def answered(self) -> Sequence[BrokerTable]:
        """The brokers that could be asked."""
        return [broker for broker in self.brokers if not broker.problem]

    @property
    def silent(self) -> Sequence[BrokerTable]:
        """The brokers that could not be asked."""
        return [broker for broker in self.brokers if broker.problem]

    @property
    def common(self) -> Ranges:
        """What every broker that answered supports: an API is in it if all of them share a version of it."""
        return intersection([broker.ranges for broker in self.answered])

    @property
    def refused(self) -> Ranges:
        """What a broker that answered refuses of the common versions; if several do, from the lowest to the highest."""
        common = self.common
        found: dict[int, Range] = {}
        for broker in self.answered:
            for key, refused in broker.refused.items():
                shared = common[key].common_with(refused) if key in common else None
                if shared is not None:
                    ends = (*found.get(key, shared), *shared)
                    found[key] = Range(min(ends), max(ends))
        return found


def intersection(tables: Sequence[Ranges]) -> Ranges:
    """Return the ranges that all tables share, by API key ascending; empty for no table."""
    return dict(sorted(reduce(_common, tables).items())) if tables else {}


def _common(one: Ranges, other: Ranges) -> Ranges:
    shared = {key: one[key].common_with(other[key]) for key in one.keys() & other.keys()}
    return {key: range_ for key, range_ in shared.items() if range_ is not None}
