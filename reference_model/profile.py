"""What a release does where releases differ, and the table that it advertises.

Profiles are data: `profiles/<implementation>.toml` lists each trait's changes by release, and
`profiles/advertised.csv`, `features.csv` and `readable.csv` hold what running brokers showed.
"""

from __future__ import annotations

import csv
import functools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

from reference_model.listeners import CONTROLLER, PLAINTEXT, SASL_LISTENERS
from wire.api_versions import (
    API_VERSIONS_KEY,
    ApiVersion,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

FOLDER = files("reference_model") / "profiles"
"""Of the recorded tables; on a cluster it may lie in an archive."""
APACHE_KAFKA = "apache-kafka"
KIP_TEXT = "kip-text"
NEWEST_RELEASE = "4.4.0"
KRAFT = "kraft"
BROKER = "broker"


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
    """The traits of one release on one listener; `profiles/apache_kafka.toml` says what each means."""

    api_versions_max: int
    unsupported_names_range: bool
    ids_checked: bool
    ids_checked_before_authentication: bool
    epoch_sent: bool
    epoch_sent_before_authentication: bool
    short_frame_ignored: bool
    unanswered_client_ids: str
    body_tags_ascending: bool
    negative_tag_count_accepted: bool
    max_tags: int
    early_end_loses_answers: bool
    early_end_may_hang: bool
    answer_precedes_pause: bool
    sasl_frame_bytes_max: int
    sasl_versions_once: bool
    sasl_handshake_max: int
    sasl_authenticate_max: int
    accepted_unlisted: tuple[ApiVersion, ...]
    refused_listed: tuple[ApiVersion, ...]
    mechanisms_with_illegal_state: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that the reference model knows of one release on one listener.

    Attributes:
        release: the release.
        listener: the listener's name.
        traits: what it does where releases differ.
        api_keys: the table that it advertises; empty where none was recorded.
        served_keys: the same, or that of another release of its line.
        readable_keys: what it can read, on whatever listener it serves it; empty if that was not recorded.
        supported_features: as advertised from v4 on.
        finalized_features: as advertised from v3 on.
    """

    release: str
    listener: str = PLAINTEXT
    traits: Traits
    api_keys: tuple[ApiVersion, ...] = ()
    served_keys: tuple[ApiVersion, ...] = ()
    readable_keys: tuple[ApiVersion, ...] = ()
    supported_features: tuple[SupportedFeatureKey, ...] = ()
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()

    @property
    def own_range(self) -> ApiVersion:
        """The range of ApiVersions itself."""
        return ApiVersion(
            api_key=API_VERSIONS_KEY, min_version=0, max_version=self.traits.api_versions_max
        )

    @property
    def asks_for_authentication(self) -> bool:
        """Whether a connection has to authenticate by SASL first."""
        return self.listener in SASL_LISTENERS

    def accepts(self, api_key: int, api_version: int) -> bool:
        """Tell whether a request of another API than ApiVersions is served, which is not quite the table."""
        refused = _covers(self.traits.refused_listed, api_key, api_version)
        accepted = (*self.served_keys, *self.traits.accepted_unlisted)
        return not refused and _covers(accepted, api_key, api_version)

    def reads(self, api_key: int, api_version: int) -> bool:
        """Tell whether the release can read a version of another API, whether a listener lists it or not."""
        return _covers(self.readable_keys, api_key, api_version)

    def skips_unreadable(self, api_key: int) -> bool:
        """Tell whether a request of an API is skipped where it does not read, instead of closing the connection.

        Up to 0.11 older code reads some APIs; it serves any version, also a negative one.
        """
        return _covers(self.traits.accepted_unlisted, api_key, -1)


def _covers(entries: Iterable[ApiVersion], api_key: int, api_version: int) -> bool:
    return any(
        entry.api_key == api_key and entry.min_version <= api_version <= entry.max_version
        for entry in entries
    )


def _applies(change: dict[str, Any], release: str, quorum: str, role: str) -> bool:
    return (
        release_order(change["since"]) <= release_order(release)
        and change.get("quorum", quorum) == quorum
        and change.get("listener", role) == role
    )


def _as_entries(value: Any) -> Any:
    """Return a list of ranges as table entries, and any other value as it is."""
    if not isinstance(value, list):
        return value
    return tuple(
        ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)
        for api_key, lowest, highest in value
    )


@functools.cache
def traits_of(
    release: str,
    *,
    quorum: str = KRAFT,
    listener: str = PLAINTEXT,
    follows: str = APACHE_KAFKA,
) -> Traits:
    """Return the traits of a release on one listener; the arguments are those of `profile_of`.

    Raises:
        ProfileError: the file has other traits than the model knows, or none for so old a release.
    """
    tables = tomllib.loads((FOLDER / "apache_kafka.toml").read_text())
    wanted = {field.name for field in fields(Traits)}
    if set(tables) != wanted:
        raise ProfileError(f"apache_kafka.toml: traits {sorted(set(tables) ^ wanted)} do not match")
    role = CONTROLLER if listener == CONTROLLER else BROKER
    values = {}
    for name, table in tables.items():
        reached = [c["value"] for c in table["changes"] if _applies(c, release, quorum, role)]
        if not reached:
            raise ProfileError(f"trait {name} has no value for release {release}")
        values[name] = _as_entries(reached[-1])
    if follows == KIP_TEXT:
        text = tomllib.loads((FOLDER / "kip_text.toml").read_text())
        values |= {name: _as_entries(value) for name, value in text.items()}
    return Traits(**values)


def _rows(file: str, **key: str) -> list[dict[str, str]]:
    with (FOLDER / file).open() as lines:
        return [row for row in csv.DictReader(lines) if key.items() <= row.items()]


def _ranges(file: str, **key: str) -> tuple[ApiVersion, ...]:
    return tuple(
        ApiVersion(
            api_key=int(row["api_key"]),
            min_version=int(row["min_version"]),
            max_version=int(row["max_version"]),
        )
        for row in _rows(file, **key)
    )


def _recorded_in_line(release: str, file: str, **key: str) -> str:
    """Return the newest recorded release of the same line ("4.3", "0.10.2"), or the release itself."""
    recorded = {row["release"] for row in _rows(file, **key)}
    line = _line_of(release)
    same = [other for other in recorded if _line_of(other) == line and other != release]
    return release if release in recorded or not same else max(same, key=release_order)


def _line_of(release: str) -> tuple[int, ...]:
    numbers = release_order(release)
    return numbers[: 3 if numbers[0] == 0 else 2]


@functools.cache
def profile_of(
    release: str,
    *,
    quorum: str = KRAFT,
    listener: str = PLAINTEXT,
    follows: str = APACHE_KAFKA,
) -> Profile:
    """Return the profile of a release.

    Args:
        release: the release; one that is not recorded has no table, but its traits.
        quorum: "kraft" or "zookeeper".
        listener: the listener's name; all listeners of a broker have one table, the controller its own.
        follows: "apache-kafka" for what the release does, "kip-text" for what the KIPs say where it differs.
    """
    key = {"quorum": quorum, "listener": CONTROLLER if listener == CONTROLLER else PLAINTEXT}
    in_line = _recorded_in_line(release, "advertised.csv", quorum=quorum)
    features = _rows("features.csv", release=release, **key)
    return Profile(
        release=release,
        listener=listener,
        traits=traits_of(release, quorum=quorum, listener=listener, follows=follows),
        api_keys=_ranges("advertised.csv", release=release, **key),
        served_keys=_ranges("advertised.csv", release=in_line, **key),
        readable_keys=_ranges("readable.csv", release=_recorded_in_line(release, "readable.csv")),
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
