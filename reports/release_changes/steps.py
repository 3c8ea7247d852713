"""What stands between two releases: ZooKeeper, KRaft, old requests and features.

ZooKeeper exists until 3.9, and KRaft alone from 4.0 on. The features are features of a cluster.

Sources: the upgrade notes of 3.9 and 4.0, the compatibility tables of 4.x, KIP-896, which removed old versions of
requests from 4.0, and the recorded features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reference_model.profiles.known_apis import Range
from reference_model.profiles.profile import KRAFT, ZOOKEEPER, release_order
from reference_model.profiles.release_tables import RecordedRelease, recorded_releases

FIRST_WITHOUT_OLD_VERSIONS = "4.0"
"""The first release, of brokers and of clients, without the versions that KIP-896 removed; the first without
ZooKeeper, too."""
OLDEST_CLIENT_FOR_4_0 = "2.1"
"""The oldest clients that Kafka supports with brokers of 4.0, and the oldest brokers with clients of 4.0."""
LAST_LINE_WITH_ZOOKEEPER = "3.9"
"""The line of releases before 4.0."""
METADATA_VERSION = "metadata.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page of Apache Kafka."""

    title: str
    link: str


UPGRADE_NOTES = Source(title="upgrade notes of 4.0", link="https://kafka.apache.org/40/getting-started/upgrade")
UPGRADE_NOTES_OF_3_9 = Source(title="upgrade notes of 3.9", link="https://kafka.apache.org/39/getting-started/upgrade")
COMPATIBILITY = Source(
    title="compatibility tables of 4.x",
    link="https://kafka.apache.org/42/getting-started/compatibility",
)
KIP_896 = Source(
    title="KIP-896",
    link="https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0",
)
SOURCES: Sequence[Source] = (KIP_896, UPGRADE_NOTES, COMPATIBILITY)


def has_old_versions(release: str) -> bool:
    """Return whether a release has the versions that KIP-896 removed, and can run with ZooKeeper."""
    return release_order(release) < release_order(FIRST_WITHOUT_OLD_VERSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeStep:
    """One step on the way.

    Attributes:
        text: what to do, or what to know.
        source: where Apache Kafka says so; None if it follows from the recorded data.
        ends: the two releases whose own comparison shows this step; None if there is none.
    """

    text: str
    source: Source | None = None
    ends: tuple[RecordedRelease, RecordedRelease] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureChange:
    """A cluster feature that differs: its versions and its level in a fresh cluster.

    The text is empty if the feature is not supported.
    """

    name: str
    before: str
    after: str


def must_leave_zookeeper(before: RecordedRelease, after: RecordedRelease) -> bool:
    """Return whether the older release runs with ZooKeeper and the newer one cannot."""
    return before.quorum == ZOOKEEPER and not has_old_versions(after.release)


def steps_between(before: RecordedRelease, after: RecordedRelease) -> tuple[UpgradeStep, ...]:
    """Return the steps from one release to the other, in order."""
    return tuple(_steps(before, after))


def _steps(before: RecordedRelease, after: RecordedRelease) -> Iterator[UpgradeStep]:
    zookeeper, kraft = last_with_zookeeper()
    if must_leave_zookeeper(before, after):
        if before != zookeeper:
            yield UpgradeStep(
                text=f"Upgrade to {LAST_LINE_WITH_ZOOKEEPER}, the last line with ZooKeeper. That is possible from every older release.",
                source=UPGRADE_NOTES_OF_3_9,
                ends=(before, zookeeper),
            )
        yield UpgradeStep(
            text=f"Migrate the cluster to KRaft with {LAST_LINE_WITH_ZOOKEEPER}: {FIRST_WITHOUT_OLD_VERSIONS} and newer do not run with ZooKeeper.",
            source=UPGRADE_NOTES,
            ends=(zookeeper, kraft),
        )
        yield UpgradeStep(
            text=f"Upgrade from {LAST_LINE_WITH_ZOOKEEPER} to {after.release}.",
            source=UPGRADE_NOTES,
            ends=(kraft, after),
        )
    elif before.quorum != after.quorum and before.release != after.release:
        yield UpgradeStep(
            text=f"{after.release} runs with ZooKeeper, too, but was recorded with KRaft only. "
            f"The upgrade to {LAST_LINE_WITH_ZOOKEEPER} shows what stays with ZooKeeper.",
            ends=(before, zookeeper),
        )
    elif before.quorum != after.quorum:
        yield UpgradeStep(text="This is a migration to KRaft, and no change of the release.", source=UPGRADE_NOTES)
    if after.quorum == KRAFT and before.release != after.release and before.quorum == KRAFT:
        yield from _oldest_metadata(before, after)
    if _has_new_levels(before, after):
        yield _finalizing(after)


def _has_new_levels(before: RecordedRelease, after: RecordedRelease) -> bool:
    """Return whether levels have to be finalized on the way."""
    if before.quorum == KRAFT:
        return before.level_line < after.level_line
    return must_leave_zookeeper(before, after) and after.level_line > last_with_zookeeper()[1].level_line


def _oldest_metadata(before: RecordedRelease, after: RecordedRelease) -> Iterator[UpgradeStep]:
    lowest = _supported(after)[METADATA_VERSION].lowest
    if lowest > _supported(before)[METADATA_VERSION].lowest:
        yield UpgradeStep(
            text=f"Before brokers of {after.release} start, {METADATA_VERSION} has to be finalized at {lowest} or higher, "
            f"as on a fresh cluster of {_first_with_level(lowest)}.",
            source=UPGRADE_NOTES,
        )


def _finalizing(after: RecordedRelease) -> UpgradeStep:
    line = ".".join(map(str, after.level_line))
    is_old = has_old_versions(after.release)
    option = "--metadata" if is_old else "--release-version"
    return UpgradeStep(
        text=f"When all brokers run the new release, finalize its features: kafka-features.sh upgrade {option} {line}",
        source=UPGRADE_NOTES_OF_3_9 if is_old else UPGRADE_NOTES,
    )


def last_with_zookeeper() -> tuple[RecordedRelease, RecordedRelease]:
    """Return the last release that runs with ZooKeeper: with that, and with KRaft."""
    zookeeper, kraft = (
        max(
            (each for each in recorded_releases() if each.quorum == quorum and has_old_versions(each.release)),
            key=lambda each: each.order,
        )
        for quorum in (ZOOKEEPER, KRAFT)
    )
    return zookeeper, kraft


def _first_with_level(level: int) -> str:
    """Return the oldest release whose fresh clusters have a level of the version of metadata."""
    return next(each.release for each in recorded_releases() if _levels(each).get(METADATA_VERSION, 0) >= level)


def feature_changes(before: RecordedRelease, after: RecordedRelease) -> tuple[FeatureChange, ...]:
    """Return the features that differ, by name."""
    old, new = features_of(before), features_of(after)
    return tuple(
        FeatureChange(name=name, before=old.get(name, ""), after=new.get(name, ""))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def features_of(release: RecordedRelease, *, between: str = "-") -> dict[str, str]:
    """Return the versions and the level of each feature in words, with a sign between the ends of a range."""
    levels = {name: f"level {level}" for name, level in _levels(release).items()}
    return {
        name: f"{range_.in_words(between=between)}, {levels.get(name, 'not set')}"
        for name, range_ in _supported(release).items()
    }


def _supported(release: RecordedRelease) -> dict[str, Range]:
    return {each.name: Range(each.min_version, each.max_version) for each in release.profile().supported_features}


def _levels(release: RecordedRelease) -> dict[str, int]:
    return {each.name: each.max_version_level for each in release.profile().finalized_features}
