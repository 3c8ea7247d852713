"""The tables of a cluster's brokers, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fixtures.client.cluster_metadata import ListedBroker
from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import (
    Ranges,
    Table,
    intersection,
    served_ranges,
    table_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTable(ListedBroker):
    """What one broker answers to ApiVersions.

    Attributes:
        ranges: what it lists, by API key; empty if it could not be asked.
        refused: what it refuses although it lists it, by API key, as far as that is known.
        features: the level to which each feature is finalized, by name.
        problem: why it could not be asked; empty if it answered.
    """

    ranges: Ranges = field(default_factory=dict)
    refused: Ranges = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""

    @property
    def served(self) -> Ranges:
        """What it serves, by API key: what it lists without what it refuses."""
        return served_ranges(table_of(self.ranges, self.refused))


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
    def table(self) -> Table:
        """What every broker that answered lists: an API is in it if all of them list a version of it.

        What one of them refuses of the common versions is refused; if several do, from the lowest to the highest.
        """
        listed = intersection([broker.ranges for broker in self.answered])
        refused: dict[int, Range] = {}
        for broker in self.answered:
            for key, range_ in broker.refused.items():
                shared = listed[key].common_with(range_) if key in listed else None
                if shared is not None:
                    ends = (*refused.get(key, shared), *shared)
                    refused[key] = Range(min(ends), max(ends))
        return table_of(listed, refused)

    @property
    def served(self) -> Ranges:
        """What every broker that answered serves: an API is in it if all of them serve a version of it."""
        return served_ranges(self.table)
