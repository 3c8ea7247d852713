"""What stays undone until features are finalized, and what finalizing takes away.

New brokers keep the levels of the old ones until an operator finalizes newer ones. The levels of a release at those of
an older line are recorded.

Source: the upgrade notes of 4.0 on levels that fall. Brokers of 4.0 and 4.4 were seen to refuse the versions that the
schemas forbid in a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reference_model.clients.rules.transaction_versions import FIRST_LEVEL_OF_V2, TRANSACTION_VERSION
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.profile import KRAFT, Profile, levels_of, line_of
from reference_model.profiles.release_tables import RecordedRelease, missing_feature
from reports.release_changes.steps import (
    LAST_LINE_WITH_ZOOKEEPER,
    last_with_zookeeper,
    must_leave_zookeeper,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The levels of features before and after they are finalized.

    Attributes:
        unfinalized: the newer release with the levels that the cluster had.
        rising: the level of each feature before and after; 0 if it is not finalized.
        refused: the requests that are listed and refused until a feature is finalized, by feature.
        limits_transactions: whether transactions may use the newest versions only when it is finalized.
        beyond: the features whose finalized levels brokers of the older release do not support; if there are any, these
            brokers cannot come back.
    """

    unfinalized: RecordedRelease
    rising: Mapping[str, tuple[int, int]]
    refused: Mapping[str, tuple[str, ...]]
    limits_transactions: bool
    beyond: tuple[str, ...]


def levels_between(before: RecordedRelease, after: RecordedRelease) -> Levels | None:
    """Return what levels an upgrade leaves; None if it has none to finalize, or none were recorded."""
    is_upgrade = after.quorum == KRAFT and not after.level and line_of(before.release) < line_of(after.release)
    if not is_upgrade:
        return None
    last = last_with_zookeeper()[1] if must_leave_zookeeper(before, after) else before
    if last.quorum != KRAFT:
        return None
    level = ".".join(map(str, last.level_line))
    if level not in levels_of(after.release):
        return None
    unfinalized = after.at(level)
    old, new = _finalized(unfinalized.profile()), _finalized(after.profile())
    supported = {each.name: each.max_version for each in last.profile().supported_features}
    refused: dict[str, list[str]] = {}
    for key in after.table():
        feature = missing_feature(unfinalized.profile(), key)
        if feature and not missing_feature(after.profile(), key):
            refused.setdefault(feature, []).append(label_of(key))
    is_limited = old.get(TRANSACTION_VERSION, 0) < FIRST_LEVEL_OF_V2 <= new.get(TRANSACTION_VERSION, 0)
    return Levels(
        unfinalized=unfinalized,
        rising={name: (old.get(name, 0), to) for name, to in new.items() if to > old.get(name, 0)},
        refused={name: tuple(names) for name, names in refused.items()},
        limits_transactions=is_limited,
        beyond=tuple(name for name, to in new.items() if to > supported.get(name, 0)),
    )


def returning_line(levels: Levels, before: RecordedRelease) -> str:
    """Return in a sentence whether the older brokers can come back once features are finalized."""
    name = before.title if before.quorum == KRAFT else LAST_LINE_WITH_ZOOKEEPER
    if not levels.beyond:
        return f"Brokers of {name} support the new levels, so you can go back."
    return (
        f"Brokers of {name} do not support the new levels of {', '.join(levels.beyond)}, so you cannot go back to them. "
        "kafka-features.sh downgrade lowers metadata.version only if no change of metadata lies between the levels."
    )


def _finalized(profile: Profile) -> dict[str, int]:
    return {each.name: each.max_version_level for each in profile.finalized_features}
