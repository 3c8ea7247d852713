"""Tables that no broker is asked for: in files of JSON, which are stored and compared later, and those recorded of releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance.api_versions.cluster_tables import BrokerTable, ClusterTables
from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.known_apis import Range, name_of
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import APACHE_KAFKA, RECORDED_RELEASES, Profile, profile_of
from reference_model.profiles.version_tables import (
    Ranges,
    RequestChange,
    Table,
    ranges_of,
    table_of,
)
from wire.foreign_json import read_foreign_json


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


def changes_as_json(found: Sequence[RequestChange]) -> list[dict[str, Any]]:
    """Return the differences of two tables for `json.dumps`, with ranges in the form of the tables."""
    return [
        {
            **_api(each.api_key),
            "first": _range_or_none(each.before and each.before.listed),
            "second": _range_or_none(each.after and each.after.listed),
            "first_refused": _range_or_none(each.before and each.before.refused),
            "second_refused": _range_or_none(each.after and each.after.refused),
            "first_served": _range_or_none(each.served[0]),
            "second_served": _range_or_none(each.served[1]),
        }
        for each in found
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
        raise InvalidTables(
            f"{path} is no output of `kafka-conformance api-versions --json`: {error!r}"
        ) from error
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
        refused={
            int(each["api_key"]): _stored_range(each["refused"])
            for each in entry["apis"]
            if each.get("refused")
        },
        features={str(name): int(level) for name, level in entry["finalized_features"].items()},
    )


def _stored_range(entry: Mapping[str, Any]) -> Range:
    return Range(int(entry["min_version"]), int(entry["max_version"]))


def tables_of_release(target: Target, *, controllers: bool) -> ClusterTables:
    """Return the table that was recorded of a release, or of its controllers, as that of a cluster of one broker.

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
