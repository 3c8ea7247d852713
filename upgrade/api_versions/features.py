"""Features that a user needs, and whether every broker of a cluster has them.

Source: KIP-35 and KIP-97.

A feature needs one or more APIs, each in a range of versions. By the text of KIP-35 it is usable if all brokers share a
version of each of these APIs that lies in the range and is not one to avoid. A client that chooses its versions for
each connection needs less: each broker has to list such a version, and they may differ. A verdict has both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from reference_model.profiles.known_apis import Range, known_apis, name_of
from reference_model.profiles.version_tables import Ranges
from upgrade.api_versions.cluster_tables import ClusterTables

ANY = 32767
"""The highest version that a table can list: no upper limit."""


class InvalidFeatureFile(Exception):
    """The file of features does not follow its format; the message says where, and what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededApi:
    """One API that a feature needs.

    Attributes:
        api_key: the API.
        range: the versions that have what the feature needs.
        avoid: versions in that range that must not be used.
    """

    api_key: int
    range: Range
    avoid: frozenset[int] = frozenset()

    def is_met_by(self, ranges: Ranges) -> bool:
        """Return whether a broker serves a version that can be used."""
        served = ranges.get(self.api_key)
        shared = None if served is None else served.common_with(self.range)
        return shared is not None and any(
            version not in self.avoid for version in range(shared.lowest, shared.highest + 1)
        )

    def __str__(self) -> str:
        avoided = f" without {', '.join(map(str, sorted(self.avoid)))}" if self.avoid else ""
        return f"{name_of(self.api_key)}({self.api_key}) {self.range}{avoided}"


class Usable(StrEnum):
    """Whether a feature can be used on a cluster."""

    YES = "usable"
    NO = "not usable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVerdict:
    """Whether one feature can be used on a cluster.

    Both verdicts are unknown if every broker that answered has the feature, but not every broker answered.

    Attributes:
        feature: its name.
        usable: whether all brokers share a version of each API: the text of KIP-35.
        usable_per_broker: whether each broker lists a version of each API, which may be another one on each.
        reasons: what is missing, and on which brokers.
    """

    feature: str
    usable: Usable
    usable_per_broker: Usable
    reasons: Sequence[str]


def verdict_on(feature: str, needs: Sequence[NeededApi], cluster: ClusterTables) -> FeatureVerdict:
    """Return whether a feature can be used on every broker of a cluster."""
    missing: list[str] = []
    apart: list[str] = []
    for need in needs:
        lacking = [each.node_id for each in cluster.answered if not need.is_met_by(each.served)]
        if lacking:
            missing.append(f"{need} is missing on {_brokers(lacking)}")
        elif cluster.answered and not need.is_met_by(cluster.served):
            nodes = [each.node_id for each in cluster.answered]
            apart.append(f"{need}: {_brokers(nodes)} share no such version")
    usable = _usable([*missing, *apart], cluster)
    per_broker = _usable(missing, cluster)
    silent = [broker.node_id for broker in cluster.silent]
    unknown = [f"no answer from {_brokers(silent)}"] if Usable.UNKNOWN in (usable, per_broker) else []
    return FeatureVerdict(
        feature=feature,
        usable=usable,
        usable_per_broker=per_broker,
        reasons=[*missing, *apart, *unknown],
    )


def _usable(lacks: Sequence[str], cluster: ClusterTables) -> Usable:
    if lacks:
        return Usable.NO
    return Usable.UNKNOWN if cluster.silent or not cluster.answered else Usable.YES


def _brokers(nodes: Sequence[int]) -> str:
    return f"broker{'s' if len(nodes) > 1 else ''} {', '.join(map(str, nodes))}"


def read_features(path: Path) -> Mapping[str, Sequence[NeededApi]]:
    """Read a file of features.

    Each feature is a table with one line per API::

        [transactions]
        InitProducerId = { min = 0 }
        AddPartitionsToTxn = { min = 0, max = 3, avoid = [2] }

    An API is named or given by its key. `min` is 0 and `max` is any version unless they are given.

    Raises:
        InvalidFeatureFile: it cannot be read or does not follow the format.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFeatureFile(f"{path}: {error}") from error
    if not content:
        raise InvalidFeatureFile(f"{path} names no feature: write [name] and one line per API")
    return {name: _needs(path, name, value) for name, value in content.items()}


def _needs(path: Path, feature: str, value: Any) -> Sequence[NeededApi]:
    if not isinstance(value, dict) or not value:
        raise InvalidFeatureFile(
            f"{path}, {feature}: expected [{feature}] with one line per API, such as Fetch = {{ min = 4 }}"
        )
    return [_need(f"{path}, {feature}.{api}", api, each) for api, each in value.items()]


def _need(where: str, api: str, value: Any) -> NeededApi:
    keys = {known.name: key for key, known in known_apis().items()}
    api_key = int(api) if api.isdecimal() else keys.get(api)
    if api_key is None:
        raise InvalidFeatureFile(f"{where}: Kafka 4.4.0 has no API of this name; its key will do")
    if not isinstance(value, dict) or value.keys() - {"min", "max", "avoid"}:
        raise InvalidFeatureFile(f"{where}: expected a table with min, max and avoid")
    lowest, highest, avoid = value.get("min", 0), value.get("max", ANY), value.get("avoid", [])
    numbers = [lowest, highest, *(avoid if isinstance(avoid, list) else [None])]
    if not all(type(number) is int and 0 <= number <= ANY for number in numbers):
        raise InvalidFeatureFile(f"{where}: min and max are versions, avoid is a list of versions")
    if lowest > highest:
        raise InvalidFeatureFile(f"{where}: min {lowest} is above max {highest}")
    return NeededApi(api_key=api_key, range=Range(lowest, highest), avoid=frozenset(avoid))
