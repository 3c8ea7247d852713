"""Tables as JSON, to be stored and compared later; and those of a release, which the suite has recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.api_versions.cluster_tables import BrokerTable, ClusterTables, Ranges
from conformance.api_versions.known_apis import Range, known_apis, name_of
from fixtures.registry.targets import Target
from reference_model.listeners import CONTROLLER, PLAINTEXT
from reference_model.profile import profile_of

JAVA_CLIENT = "kafka-clients"
"""The library of Kafka's own client."""


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
                "apis": _apis(broker.ranges),
                "finalized_features": dict(sorted(broker.features.items())),
            }
            for broker in cluster.brokers
        ],
        "intersection": _apis(cluster.common),
    }


def _apis(ranges: Ranges) -> list[dict[str, Any]]:
    return [
        {
            "api_key": key,
            "name": name_of(key),
            "min_version": range_.lowest,
            "max_version": range_.highest,
        }
        for key, range_ in sorted(ranges.items())
    ]


def read_tables(path: Path) -> ClusterTables:
    """Read what `as_json` returned.

    Raises:
        InvalidTables: the file cannot be read, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
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
        ranges={
            int(each["api_key"]): Range(int(each["min_version"]), int(each["max_version"]))
            for each in entry["apis"]
        },
        features={str(name): int(level) for name, level in entry["finalized_features"].items()},
    )


def tables_of_release(target: Target, *, controllers: bool) -> ClusterTables:
    """Return the table that was recorded of a release, as that of a cluster of one broker.

    Args:
        target: the release.
        controllers: whether the controller's table is meant, and not the broker's.

    Raises:
        InvalidTables: none was recorded.
    """
    profile = profile_of(
        target.release,
        quorum=target.quorum or "",
        listener=CONTROLLER if controllers else PLAINTEXT,
    )
    if not profile.api_keys:
        what = "a controller's table" if controllers else "a table"
        raise InvalidTables(f"the suite has not recorded {what} of {target.id}")
    ranges = {each.api_key: Range(each.min_version, each.max_version) for each in profile.api_keys}
    broker = BrokerTable(node_id=1, host="recorded", port=0, ranges=ranges)
    return ClusterTables(name=target.id, cluster_id=None, brokers=[broker])


def ranges_of_client(release: str) -> Ranges:
    """Return the versions that the Java client of a release can speak: its brokers can parse the same ones.

    What brokers and controllers send each other is left out.

    Raises:
        InvalidTables: they were not recorded.
    """
    readable = profile_of(release).readable_keys
    if not readable:
        raise InvalidTables(f"the suite does not know what a client of {release} can send")
    served = {key for key, api in known_apis().items() if api.for_brokers}
    return {
        each.api_key: Range(each.min_version, each.max_version)
        for each in readable
        if each.api_key in served
    }
