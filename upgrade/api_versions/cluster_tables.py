"""The version tables of a cluster's brokers, and what the brokers have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fixtures.client.cluster_client import ListedBroker
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
        """The versions that the broker serves, by API key: listed, and not refused."""
        return served_ranges(table_of(self.ranges, self.refused))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTables:
    """The tables of all brokers of a cluster.

    Attributes:
        name: how the user named the cluster.
        cluster_id: its id; None if no broker stated one.
        brokers: its brokers, by node id ascending.
        note: what is different about the tables; empty if nothing is.
    """

    name: str
    cluster_id: str | None
    brokers: Sequence[BrokerTable]
    note: str = ""

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
        """The versions that every broker that answered lists; an API without a shared version is missing.

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
        """The versions that every broker that answered serves; an API without a shared version is missing."""
        return served_ranges(self.table)


class InvalidTables(Exception):
    """There are no tables in a file or for a release; the message names it."""
