"""Profiles: traits in which releases differ, and the tables they advertise.

Profiles are data: `profiles/apache_kafka.toml` lists the changes of each trait by release, and
`profiles/kip_text.toml` the values that follow the text of the KIPs instead. `profiles/advertised.csv`, `features.csv`
and `readable.csv` are recorded from running brokers.
"""

from __future__ import annotations

import csv
import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from typing import Any

from reference_model.profiles.listeners import (
    CONTROLLER,
    CONTROLLER_LISTENERS,
    PLAINTEXT,
    SASL_LISTENERS,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import (
    NEWEST_VERSION,
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

FOLDER = files("reference_model") / "profiles"
"""Folder of the profile files; on a Spark cluster it may be inside an archive."""
APACHE_KAFKA = "apache-kafka"
REFERENCE = "reference"
REFERENCE_CLUSTER = "reference-cluster"
"""The reference broker with a second node."""
KIP_TEXT = "kip-text"
KAFKA_CLUSTER = "kafka-cluster"
"""Several brokers of Apache Kafka, of one release or of two; its release is that of the first one."""
IMPLEMENTATIONS_WITH_PROFILE = (APACHE_KAFKA, REFERENCE)
"""Implementations that have a profile of their own; for others a PIN is only informational."""
KRAFT = "kraft"
ZOOKEEPER = "zookeeper"
BROKER = "broker"
AT_LEVEL = "-at-"
"""Stands in the id of a target between a release and the older line at whose levels its storage is formatted."""
OLDER_REFERENCE = f"{REFERENCE}{AT_LEVEL}3.9"
OLDER_REFERENCE_CLUSTER = f"{REFERENCE_CLUSTER}{AT_LEVEL}3.9"
"""The reference brokers in which faults are planted that only older levels show. At 3.9 transaction.version is 0."""


class ProfileError(Exception):
    """A profile file does not follow its schema, or a release is older than the first entry."""


@functools.cache
def release_order(release: str) -> tuple[int, ...]:
    """Return the sort key of a dotted release: "0.10.2.2" precedes "2.4.1", and "2.4" equals "2.4.0".

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
    """The traits of one release on one listener; `profiles/apache_kafka.toml` explains each."""

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
    tls_hides_requests: bool
    requests_throttled: bool
    answer_precedes_pause: bool
    unused_metrics_removed: bool
    deprecated_requests_counted: bool
    sasl_frame_bytes_max: int
    sasl_versions_once: bool
    sasl_handshake_max: int
    sasl_authenticate_max: int
    accepted_unlisted: tuple[ApiVersion, ...]
    refused_listed: tuple[ApiVersion, ...]
    mechanisms_with_illegal_state: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything that the reference model knows about one release on one listener.

    Attributes:
        release: the release.
        listener: the listener's name.
        traits: the traits in which releases differ.
        api_keys: the version table that it advertises; empty if none was recorded.
        served_keys: `api_keys`, or if none was recorded the table of the newest recorded release of the same line.
        readable_keys: the versions of other APIs that it can parse, on whatever listener; empty if not recorded.
        supported_features: the supported features as advertised in v4 and later.
        finalized_features: the finalized features as advertised in v3 and later.
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
        """The version range of ApiVersions itself."""
        return ApiVersion(api_key=API_VERSIONS_KEY, min_version=0, max_version=self.traits.api_versions_max)

    @property
    def asks_for_authentication(self) -> bool:
        """Whether a connection has to authenticate with SASL first."""
        return self.listener in SASL_LISTENERS

    def accepts(self, api_key: int, api_version: int) -> bool:
        """Return whether requests of an API other than ApiVersions are served; the advertised table can differ."""
        refused = _covers(self.traits.refused_listed, api_key, api_version)
        accepted = (*self.served_keys, *self.traits.accepted_unlisted)
        return not refused and _covers(accepted, api_key, api_version)

    def reads(self, api_key: int, api_version: int) -> bool:
        """Return whether the release can parse a version of another API, even if no listener lists it."""
        return _covers(self.readable_keys, api_key, api_version)

    def skips_unreadable(self, api_key: int) -> bool:
        """Return whether the broker skips unparsable requests of this API instead of closing the connection.

        Up to 0.11, older code parses some APIs. It accepts any version, even a negative one.
        """
        return _covers(self.traits.accepted_unlisted, api_key, -1)


def with_own_table(profile: Profile, response: ApiVersionsResponse) -> Profile:
    """Return the profile of a target that is no known release: its own table and features replace those of the release.

    Args:
        profile: that of a release.
        response: the response of the target in the newest version that it serves and that can be read.
    """
    own_range = response.range_of(API_VERSIONS_KEY)
    newest = profile.own_range.max_version if own_range is None else own_range.max_version
    has_epoch = response.finalized_features_epoch >= 0
    traits = replace(
        profile.traits,
        api_versions_max=min(newest, NEWEST_VERSION),
        epoch_sent=has_epoch,
        epoch_sent_before_authentication=has_epoch and profile.traits.epoch_sent_before_authentication,
    )
    # Whatever it lists it can parse, also what the release does not know yet.
    readable = (*profile.readable_keys, *response.api_keys) if profile.readable_keys else ()
    return replace(
        profile,
        traits=traits,
        api_keys=response.api_keys,
        served_keys=response.api_keys,
        readable_keys=readable,
        supported_features=response.supported_features,
        finalized_features=response.finalized_features,
    )


def _covers(entries: Iterable[ApiVersion], api_key: int, api_version: int) -> bool:
    return any(entry.api_key == api_key and entry.min_version <= api_version <= entry.max_version for entry in entries)


def _applies(change: dict[str, Any], release: str, quorum: str, role: str) -> bool:
    return (
        release_order(change["since"]) <= release_order(release)
        and change.get("quorum", quorum) == quorum
        and change.get("listener", role) == role
    )


def _as_entries(value: Any) -> Any:
    """Convert a list of ranges to table entries; return any other value unchanged."""
    if not isinstance(value, list):
        return value
    return tuple(
        ApiVersion(api_key=api_key, min_version=lowest, max_version=highest) for api_key, lowest, highest in value
    )


@functools.cache
def traits_of(
    release: str,
    *,
    quorum: str | None = None,
    listener: str = PLAINTEXT,
    follows: str = APACHE_KAFKA,
) -> Traits:
    """Return the traits of a release on one listener; the arguments are those of `profile_of`.

    Raises:
        ProfileError: the file's traits differ from the fields of `Traits`, or one has no value for the release.
    """
    tables = tomllib.loads((FOLDER / "apache_kafka.toml").read_text())
    wanted = {field.name for field in fields(Traits)}
    if set(tables) != wanted:
        raise ProfileError(f"apache_kafka.toml: traits {sorted(set(tables) ^ wanted)} do not match")
    role = CONTROLLER if listener in CONTROLLER_LISTENERS else BROKER
    quorum = quorum or usual_quorum(release)
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


@functools.cache
def _table(file: str) -> tuple[dict[str, str], ...]:
    """Read a table once: a site needs hundreds of profiles, and each takes rows of several tables."""
    with (FOLDER / file).open() as lines:
        return tuple(csv.DictReader(lines))


@functools.cache
def _rows(file: str, **key: str) -> tuple[dict[str, str], ...]:
    return tuple(row for row in _table(file) if key.items() <= row.items())


RECORDED_RELEASES = tuple(sorted({row["release"] for row in _rows("advertised.csv")}, key=release_order))
"""The releases whose tables are recorded, oldest first."""
NEWEST_RELEASE = RECORDED_RELEASES[-1]


def _ranges(file: str, **key: str) -> tuple[ApiVersion, ...]:
    return tuple(
        ApiVersion(
            api_key=int(row["api_key"]),
            min_version=int(row["min_version"]),
            max_version=int(row["max_version"]),
        )
        for row in _rows(file, **key)
    )


@functools.cache
def oldest_versions() -> Mapping[int, int]:
    """Return, by API key, the lowest version that any recorded release lists on a listener for clients."""
    lowest: dict[int, int] = {}
    for row in _rows("advertised.csv", listener=PLAINTEXT):
        key, version = int(row["api_key"]), int(row["min_version"])
        lowest[key] = min(version, lowest.get(key, version))
    return lowest


def _recorded_in_line(release: str, file: str, **key: str) -> str:
    """Return the release if it is recorded, else the newest recorded one of its line ("4.3", "0.10.2") if any."""
    recorded = {row["release"] for row in _rows(file, **key)}
    line = line_of(release)
    same = [other for other in recorded if line_of(other) == line and other != release]
    return release if release in recorded or not same else max(same, key=release_order)


def line_of(release: str) -> tuple[int, ...]:
    """Return the line that a release belongs to: (4, 0) for "4.0.2" and "4.0", and (0, 10, 2) for "0.10.2.2".

    Raises:
        ValueError: the release does not begin with a number.
    """
    numbers = (*release_order(release), 0, 0)
    return numbers[: 3 if numbers[0] == 0 else 2]


@functools.cache
def usual_quorum(release: str) -> str:
    """Return the quorum that a release has by default.

    It is KRaft since the first line that was recorded with KRaft.
    """
    with_kraft = (line_of(row["release"]) for row in _rows("advertised.csv", quorum=KRAFT))
    return KRAFT if line_of(release) >= min(with_kraft) else ZOOKEEPER


@functools.cache
def profile_of(
    release: str,
    *,
    quorum: str | None = None,
    listener: str = PLAINTEXT,
    follows: str = APACHE_KAFKA,
    level: str = "",
) -> Profile:
    """Return the profile of a release.

    Args:
        release: the release; an unrecorded one has traits but no advertised table.
        quorum: "kraft" or "zookeeper"; None for the usual one of the release.
        listener: the listener's name. All listeners of a broker share one table, and those of a controller
            another one.
        follows: "apache-kafka" for the behaviour of the release; "kip-text" to follow the KIPs where it differs.
        level: the line at whose levels the features are finalized ("3.9"); empty for the levels of the release. The
            versions of requests are the same at every level.
    """
    table = CONTROLLER if listener in CONTROLLER_LISTENERS else PLAINTEXT
    quorum = quorum or usual_quorum(release)
    key = {"quorum": quorum, "listener": table}
    in_line = _recorded_in_line(release, "advertised.csv", quorum=quorum)
    features = _rows("features.csv", release=release, level=level, **key)
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


def profile_of_target(
    target: str,
    implementation: str,
    release: str,
    *,
    quorum: str | None = None,
    listener: str,
    follows: str = "",
) -> Profile:
    """Return the profile of a target.

    It is that of the newest Apache Kafka unless the target is among `IMPLEMENTATIONS_WITH_PROFILE`, or a cluster of
    Apache Kafka, which can do what its first broker can.

    Args:
        target: its id.
        implementation: its implementation.
        release: its release.
        quorum: what the registry says; None if it says nothing, and for the target of a record, which has no quorum.
            Then the id has it if it is not the usual one of the release: "apache-kafka-3.9.2-zookeeper".
        listener: the listener's name.
        follows: as in `profile_of`; empty for what the target is judged by.

    Raises:
        ProfileError: a trait has no value for the release.
        ValueError: the release does not begin with a number.
    """
    has_own = implementation in (*IMPLEMENTATIONS_WITH_PROFILE, KAFKA_CLUSTER)
    if not has_own:
        release = NEWEST_RELEASE
    elif quorum is None and target.endswith(f"-{ZOOKEEPER}"):
        quorum = ZOOKEEPER
    own = KIP_TEXT if implementation == REFERENCE else APACHE_KAFKA
    level = level_in(target) if has_own else ""
    return profile_of(release, quorum=quorum, listener=listener, follows=follows or own, level=level)


def level_in(target: str) -> str:
    """Return the level in the id of a target: "3.9" for "apache-kafka-4.4.0-at-3.9"; empty if it has none.

    A planted defect may follow it; its name may have the same letters.
    """
    return target.partition("+")[0].partition(AT_LEVEL)[2]


@functools.cache
def levels_of(release: str) -> tuple[str, ...]:
    """Return the older lines at whose levels a release can run, oldest first; only KRaft has levels."""
    if usual_quorum(release) != KRAFT:
        return ()
    recorded = sorted({line_of(row["release"]) for row in _rows("advertised.csv", quorum=KRAFT, listener=PLAINTEXT)})
    return tuple(".".join(map(str, line)) for line in recorded if line < line_of(release))
