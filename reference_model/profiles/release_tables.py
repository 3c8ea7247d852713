"""Releases of Apache Kafka whose tables were recorded.

Each was recorded with ZooKeeper, with KRaft or with both.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference_model.profiles.known_apis import Range
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    AT_LEVEL,
    KRAFT,
    RECORDED_RELEASES,
    ZOOKEEPER,
    Profile,
    levels_of,
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
    """One release with one kind of quorum, at its own levels of features or at those of an older line.

    Attributes:
        release: the release: "3.9.2".
        quorum: "zookeeper" or "kraft".
        is_only_one: whether the release was recorded with no other quorum.
        level: the older line at whose levels its features are finalized: "3.5"; empty for its own levels.
        table_name: the name of a table that leaves less of it; empty for the release as it is.
        left: what that table leaves on a listener of brokers, by API key.
    """

    release: str
    quorum: str
    is_only_one: bool = True
    level: str = ""
    table_name: str = ""
    left: tuple[tuple[int, Range], ...] = ()

    @property
    def short(self) -> str:
        """The name that distinguishes it from the others: "2.3.1", "3.9.2-zookeeper", "3.9.2-at-3.5"."""
        if self.table_name:
            return self.table_name
        if self.level:
            return f"{self.release}{AT_LEVEL}{self.level}"
        is_usual = self.quorum == usual_quorum(self.release)
        return self.release if is_usual else f"{self.release}-{self.quorum}"

    @property
    def target(self) -> str:
        """The id of the target: "apache-kafka-3.9.2-zookeeper"; the name of its table if that leaves less of it."""
        return self.table_name or f"{APACHE_KAFKA}-{self.short}"

    @property
    def title(self) -> str:
        """The name on pages: "2.3.1", "3.9.2 (ZooKeeper)", "3.9.2 at the levels of 3.5", "4.4.0 with JoinGroup 5+"."""
        if self.table_name:
            return f"{self.release} with {self.table_name}"
        if self.level:
            return f"{self.release} at the levels of {self.level}"
        return self.release if self.is_only_one else f"{self.release} ({self.quorum_name})"

    @property
    def quorum_name(self) -> str:
        """The name of the quorum on pages."""
        return QUORUM_NAMES[self.quorum]

    @property
    def order(self) -> tuple[tuple[int, ...], bool, bool, tuple[int, ...]]:
        """The sort key: by release, with ZooKeeper before KRaft, and older levels before its own."""
        level = release_order(self.level) if self.level else ()
        return release_order(self.release), self.quorum == KRAFT, not self.level, level

    @property
    def level_line(self) -> tuple[int, ...]:
        """The line at whose levels its features are finalized."""
        return line_of(self.level or self.release)

    def can_become(self, other: RecordedRelease) -> bool:
        """Return whether another release is newer, or the same one after a migration to KRaft or at a newer level.

        A release with KRaft never becomes one with ZooKeeper, and no cluster gets older levels.
        """
        if self.quorum == KRAFT and (other.quorum == ZOOKEEPER or other.level_line < self.level_line):
            return False
        return self.order < other.order

    def at(self, level: str) -> RecordedRelease:
        """Return it with the features finalized at the levels of an older line, one of `levels_of`."""
        return replace(self, level=level)

    def profile(self, listener: str = PLAINTEXT) -> Profile:
        """Return what the model knows about it on one listener."""
        return profile_of(self.release, quorum=self.quorum, listener=listener, level=self.level)

    def table(self, listener: str = PLAINTEXT) -> Table:
        """Return what it lists and refuses on one listener; empty if that was not recorded."""
        if self.table_name:
            return table_of(dict(self.left), ranges_of(self.profile(listener).traits.refused_listed))
        return table_of_profile(self.profile(listener))


def table_of_profile(profile: Profile) -> Table:
    """Return what a release lists, and what it refuses of that."""
    return table_of(ranges_of(profile.api_keys), ranges_of(profile.traits.refused_listed))


def level_refusal(name: str, release: str, quorum: str | None, level: str) -> str:
    """Return in one sentence why a release cannot run at a level; empty if it can.

    Args:
        name: how the sentence names the release.
        release: the release.
        quorum: its quorum; only KRaft has levels.
        level: the line that is asked for.
    """
    levels = levels_of(release) if quorum == KRAFT else ()
    if not levels:
        return f"{name} cannot run at an older level: that needs a release with KRaft since 3.4"
    if level in levels:
        return ""
    return (
        f"{name} cannot run at level {level!r}; it can at {', '.join(levels)}, and at its own without {AT_LEVEL}{level}"
    )


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
    releases: list[RecordedRelease] = []
    for release in RECORDED_RELEASES:
        quorums = [quorum for quorum in (ZOOKEEPER, KRAFT) if profile_of(release, quorum=quorum).api_keys]
        releases.extend(
            RecordedRelease(release=release, quorum=quorum, is_only_one=len(quorums) == 1) for quorum in quorums
        )
    return tuple(releases)


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
        of its line was recorded, or if the text is neither a release nor a line.
    """
    if release in RECORDED_RELEASES:
        return release, ""
    same = patch_releases().get(release)
    if same is not None:
        return same, f"{release} was not recorded; its message schemas list the same versions as those of {same}."
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)+", release):
        return "", ""
    of_line = [each for each in RECORDED_RELEASES if line_of(each) == line_of(release)]
    if not of_line:
        return "", ""
    newest = of_line[-1]
    if newest.startswith(f"{release}."):
        return newest, ""
    if release.count(".") != newest.count("."):
        return "", ""
    return newest, f"{release} was not recorded; {newest}, the newest recorded release of its line, stands for it."
