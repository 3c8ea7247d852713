"""The version tables of a cluster as JSON, which can be stored and compared later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reference_model.profiles.known_apis import Range, name_of
from reference_model.profiles.version_tables import (
    RequestChange,
    Table,
    table_of,
)
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables, InvalidTables
from wire.foreign_json import read_foreign_json


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
