"""Releases of Apache Kafka whose tables were recorded.

Each was recorded with ZooKeeper, with KRaft or with both.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    KRAFT,
    RECORDED_RELEASES,
    ZOOKEEPER,
    Profile,
    line_of,
    profile_of,
    release_order,
    usual_quorum,
)
from reference_model.profiles.version_tables import Table, ranges_of, table_of

FEATURES = {
    **dict.fromkeys((68, 69), "group.version"),
    **dict.fromkeys((76, 77, 78, 79, 90, 91, 92), "share.version"),
    **dict.fromkeys((88, 89), "streams.version"),
}
"""The feature without which a broker lists an API, but refuses what it asks: by the keys of KIP-848, KIP-932 and
KIP-1071."""
SWITCHED_OFF = {93: "the description of topologies"}
"""What a broker lists and refuses until it is switched on in its configuration, by API key; what these APIs are
about."""
PATCH_RELEASES_FILE = Path(__file__).with_name("patch_releases.csv")
"""The patch releases without a recorded table; `python -m workflows.patch_releases` writes it from their jars."""
QUORUM_NAMES = {ZOOKEEPER: "ZooKeeper", KRAFT: "KRaft"}


class PatchRelease(NamedTuple):
    """A release that was not recorded, and the recorded one of its line whose message schemas list the same."""

    release: str
    same_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRelease:
    """One release with one kind of quorum.

    Attributes:
        release: the release: "3.9.2".
        quorum: "zookeeper" or "kraft".
        is_only_one: whether the release was recorded with no other quorum.
    """

    release: str
    quorum: str
    is_only_one: bool = True

    @property
    def short(self) -> str:
        """The name that distinguishes it from the others: "2.3.1", "3.9.2-zookeeper"."""
        is_usual = self.quorum == usual_quorum(self.release)
        return self.release if is_usual else f"{self.release}-{self.quorum}"

    @property
    def target(self) -> str:
        """The id of the target: "apache-kafka-3.9.2-zookeeper"."""
        return f"{APACHE_KAFKA}-{self.short}"

    @property
    def title(self) -> str:
        """The name on pages: "2.3.1", "3.9.2 (ZooKeeper)"."""
        return self.release if self.is_only_one else f"{self.release} ({self.quorum_name})"

    @property
    def quorum_name(self) -> str:
        """The name of the quorum on pages."""
        return QUORUM_NAMES[self.quorum]

    @property
    def order(self) -> tuple[tuple[int, ...], bool]:
        """The sort key: by release, with ZooKeeper before KRaft."""
        return release_order(self.release), self.quorum == KRAFT

    def can_become(self, other: RecordedRelease) -> bool:
        """Return whether another release is newer, or the same one after a migration to KRaft.

        A release with KRaft never becomes one with ZooKeeper.
        """
        return self.order < other.order and (self.quorum, other.quorum) != (KRAFT, ZOOKEEPER)

    def profile(self, listener: str = PLAINTEXT) -> Profile:
        """Return what the model knows about it on one listener."""
        return profile_of(self.release, quorum=self.quorum, listener=listener)

    def table(self, listener: str = PLAINTEXT) -> Table:
        """Return what it lists and refuses on one listener; empty if that was not recorded."""
        return table_of_profile(self.profile(listener))


def table_of_profile(profile: Profile) -> Table:
    """Return what a release lists, and what it refuses of that."""
    return table_of(ranges_of(profile.api_keys), ranges_of(profile.traits.refused_listed))


def missing_feature(profile: Profile, api_key: int) -> str:
    """Return the feature that an API needs and that a release does not enable by itself; empty if there is none."""
    feature = FEATURES.get(api_key, "")
    enabled = {each.name for each in profile.finalized_features}
    return "" if feature in enabled else feature


@cache
def recorded_releases() -> tuple[RecordedRelease, ...]:
    """Return every recorded release with each of its quorums.

    The oldest comes first, and ZooKeeper before KRaft.
    """
    found: list[RecordedRelease] = []
    for release in RECORDED_RELEASES:
        quorums = [quorum for quorum in (ZOOKEEPER, KRAFT) if profile_of(release, quorum=quorum).api_keys]
        found.extend(
            RecordedRelease(release=release, quorum=quorum, is_only_one=len(quorums) == 1) for quorum in quorums
        )
    return tuple(found)


def recorded_release(release: str) -> RecordedRelease:
    """Return a release with its usual quorum."""
    known = (release, usual_quorum(release))
    return next(each for each in recorded_releases() if (each.release, each.quorum) == known)


@cache
def patch_releases() -> Mapping[str, str]:
    """Return for each published release that was not recorded the recorded one that lists the same."""
    with PATCH_RELEASES_FILE.open(encoding="utf-8", newline="") as file:
        return {row["release"]: row["same_as"] for row in csv.DictReader(file)}


def stand_in(release: str) -> tuple[str, str]:
    """Return the recorded release whose table stands for a release, and in one sentence why.

    Args:
        release: a release ("4.0.1") or a line ("4.0").

    Returns:
        The release itself without a sentence if it is recorded, and for a line its newest recorded release. For any
        other patch release the one that lists the same, or else the newest of its line. Twice an empty text if nothing
        of its line was recorded.
    """
    if release in RECORDED_RELEASES:
        return release, ""
    same = patch_releases().get(release)
    if same is not None:
        return same, f"{release} was not recorded; its message schemas list the same versions as those of {same}."
    of_line = [each for each in RECORDED_RELEASES if line_of(each) == line_of(release)]
    if not of_line:
        return "", ""
    newest = of_line[-1]
    if newest.startswith(f"{release}."):
        return newest, ""
    return newest, f"{release} was not recorded; {newest}, the newest recorded release of its line, stands for it."
