"""The version tables of a cluster's brokers, and what the brokers have in common.

The tables can be stored as JSON and compared later.

Of releases there are recorded tables, for which no broker is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fixtures.client.cluster_client import ListedBroker
from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.known_apis import Range, name_of
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import APACHE_KAFKA, RECORDED_RELEASES, Profile, profile_of
from reference_model.profiles.version_tables import (
    Ranges,
    RequestChange,
    Table,
    intersection,
    ranges_of,
    served_ranges,
    table_of,
)
from wire.foreign_json import read_foreign_json


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
    """A file does not hold tables; the message names the file and what is expected."""


def as_json(cluster: ClusterTables) -> dict[str, Any]:
    """Return the tables, and what all brokers have in common, for `json.dumps`."""
    return {
        "cluster": cluster.name,
        "cluster_id": cluster.cluster_id,
        "brokers": [
            {
                "node_id": broker.node_id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "is_fenced": broker.is_fenced,
                "problem": broker.problem or None,
                "apis": _apis(table_of(broker.ranges, broker.refused)),
                "finalized_features": dict(sorted(broker.features.items())),
            }
            for broker in cluster.brokers
        ],
        "intersection": _apis(cluster.table),
    }


def _apis(table: Table) -> list[dict[str, Any]]:
    return [
        {
            **_api(key),
            **_range(each.listed),
            "refused": _range_or_none(each.refused),
        }
        for key, each in sorted(table.items())
    ]


def changes_as_json(changes: Sequence[RequestChange]) -> list[dict[str, Any]]:
    """Return the differences of two tables for `json.dumps`, with ranges in the form of the tables."""
    return [
        {
            **_api(change.api_key),
            "first": _range_or_none(change.before and change.before.listed),
            "second": _range_or_none(change.after and change.after.listed),
            "first_refused": _range_or_none(change.before and change.before.refused),
            "second_refused": _range_or_none(change.after and change.after.refused),
            "first_served": _range_or_none(change.served[0]),
            "second_served": _range_or_none(change.served[1]),
        }
        for change in changes
    ]


def _api(api_key: int) -> dict[str, Any]:
    return {"api_key": api_key, "name": name_of(api_key)}


def _range(range_: Range) -> dict[str, Any]:
    return {"min_version": range_.lowest, "max_version": range_.highest}


def _range_or_none(range_: Range | None) -> dict[str, Any] | None:
    return None if range_ is None else _range(range_)


def read_tables(path: Path) -> ClusterTables:
    """Read what `as_json` returned.

    Raises:
        InvalidTables: the file cannot be read, or holds something else.
    """
    try:
        content = read_foreign_json(path.read_bytes())
        brokers = [_broker(each) for each in content["brokers"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidTables(f"{path} is no output of `kafka-conformance api-versions --json`: {error!r}") from error
    return ClusterTables(name=str(path), cluster_id=content.get("cluster_id"), brokers=brokers)


def _broker(entry: Mapping[str, Any]) -> BrokerTable:
    return BrokerTable(
        node_id=int(entry["node_id"]),
        host=str(entry["host"]),
        port=int(entry["port"]),
        rack=entry["rack"],
        is_fenced=bool(entry["is_fenced"]),
        problem=entry["problem"] or "",
        ranges={int(each["api_key"]): _stored_range(each) for each in entry["apis"]},
        refused={int(each["api_key"]): _stored_range(each["refused"]) for each in entry["apis"] if each.get("refused")},
        features={str(name): int(level) for name, level in entry["finalized_features"].items()},
    )


def _stored_range(entry: Mapping[str, Any]) -> Range:
    return Range(int(entry["min_version"]), int(entry["max_version"]))


def tables_of_release(target: Target, *, controllers: bool) -> ClusterTables:
    """Return the recorded table of a release or of its controllers, as a cluster of one broker.

    Raises:
        InvalidTables: none was recorded.
    """
    profile = _profile(target, CONTROLLER if controllers else PLAINTEXT)
    if not profile.api_keys:
        what = "a controller's table" if controllers else "a table"
        raise InvalidTables(f"the suite has not recorded {what} of {target.id}")
    broker = BrokerTable(
        node_id=1,
        host="recorded",
        port=0,
        ranges=ranges_of(profile.api_keys),
        refused=ranges_of(profile.traits.refused_listed),
    )
    return ClusterTables(name=target.id, cluster_id=None, brokers=[broker])


def refused_with(ranges: Ranges) -> Ranges:
    """Return the versions that a broker refuses although it lists them, if its table is that of a known release."""
    return next((refused for table, refused in _refusals() if table == ranges), {})


@cache
def _refusals() -> tuple[tuple[Ranges, Ranges], ...]:
    """Return the table of each release that refuses something of it, with that."""
    profiles = [
        _profile(target, PLAINTEXT)
        for target in load_targets()
        if target.implementation == APACHE_KAFKA and target.release in RECORDED_RELEASES
    ]
    return tuple(
        (ranges_of(each.api_keys), ranges_of(each.traits.refused_listed))
        for each in profiles
        if each.traits.refused_listed
    )


def _profile(target: Target, listener: str) -> Profile:
    return profile_of(target.release, quorum=target.quorum, listener=listener)
