"""What a release does where releases differ, and the table that it advertises.

Profiles are data: `profiles/<implementation>.toml` lists each trait's changes by release, and
`profiles/advertised.csv` and `profiles/features.csv` hold the tables that running brokers gave.
"""

from __future__ import annotations

import csv
import functools
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wire.api_versions import (
    API_VERSIONS_KEY,
    ApiVersion,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

FOLDER = Path(__file__).parent / "profiles"
APACHE_KAFKA = "apache-kafka"
NEWEST_RELEASE = "4.4.0"


class ProfileError(Exception):
    """A profile file does not follow its schema, or a release comes before the first entry."""


def release_order(release: str) -> tuple[int, ...]:
    """Return what a dotted release is sorted by: "0.10.2.2" comes before "2.4.1", "2.4" is "2.4.0".

    Raises:
        ValueError: the release does not begin with a number.
    """
    numbers = re.match(r"\d+(?:\.\d+)*", release)
    if numbers is None:
        raise ValueError(f"{release!r} is not a dotted release number")
    without_end_zeros = re.sub(r"(?:\.0+)+$", "", numbers[0])
    return tuple(int(part) for part in without_end_zeros.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The traits of one release; `profiles/apache_kafka.toml` says what each means."""

    api_versions_max: int
    unsupported_names_range: bool
    short_frame_ignored: bool
    unanswered_client_ids: str
    body_tags_ascending: bool
    negative_tag_count_accepted: bool
    max_tags: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that the reference model knows of one release on one listener.

    Attributes:
        release: the release.
        traits: what it does where releases differ.
        api_keys: the table that it advertises; empty where none was recorded.
        supported_features: as advertised from v4 on.
        finalized_features: as advertised from v3 on.
    """

    release: str
    traits: Traits
    api_keys: tuple[ApiVersion, ...] = ()
    supported_features: tuple[SupportedFeatureKey, ...] = ()
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()

    @property
    def own_range(self) -> ApiVersion:
        """The range of ApiVersions itself."""
        return ApiVersion(
            api_key=API_VERSIONS_KEY, min_version=0, max_version=self.traits.api_versions_max
        )


def _value_at(name: str, table: dict[str, Any], release: str) -> Any:
    reached = [
        change["value"]
        for change in table["changes"]
        if release_order(change["since"]) <= release_order(release)
    ]
    if not reached:
        raise ProfileError(f"trait {name} has no value for release {release}")
    return reached[-1]


@functools.cache
def traits_of(release: str) -> Traits:
    """Return the traits of an Apache Kafka release."""
    tables = tomllib.loads((FOLDER / "apache_kafka.toml").read_text())
    wanted = {field.name for field in fields(Traits)}
    if set(tables) != wanted:
        raise ProfileError(f"apache_kafka.toml: traits {sorted(set(tables) ^ wanted)} do not match")
    return Traits(**{name: _value_at(name, table, release) for name, table in tables.items()})


def _rows(file: str, release: str, quorum: str, listener: str) -> list[dict[str, str]]:
    with (FOLDER / file).open(newline="") as lines:
        return [
            row
            for row in csv.DictReader(lines)
            if (row["release"], row["quorum"], row["listener"]) == (release, quorum, listener)
        ]


@functools.cache
def profile_of(release: str, *, quorum: str = "kraft", listener: str = "plaintext") -> Profile:
    """Return the profile of an Apache Kafka release.

    Args:
        release: the release; one that is not recorded has no table, but its traits.
        quorum: "kraft" or "zookeeper".
        listener: the listener's name.
    """
    features = _rows("features.csv", release, quorum, listener)
    return Profile(
        release=release,
        traits=traits_of(release),
        api_keys=tuple(
            ApiVersion(
                api_key=int(row["api_key"]),
                min_version=int(row["min_version"]),
                max_version=int(row["max_version"]),
            )
            for row in _rows("advertised.csv", release, quorum, listener)
        ),
        supported_features=tuple(
            SupportedFeatureKey(
                name=row["name"],
                min_version=int(row["min_version"]),
                max_version=int(row["max_version"]),
            )
            for row in features
        ),
        finalized_features=tuple(
            FinalizedFeatureKey(
                name=row["name"],
                max_version_level=int(row["finalized_level"]),
                min_version_level=int(row["finalized_level"]),
            )
            for row in features
            if int(row["finalized_level"]) > 0
        ),
    )
