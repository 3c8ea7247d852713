"""What changes from one release of Apache Kafka to another.

The command, the pages and the other forms share this computation.

The tables of releases are recorded from running brokers; clients and rules come from a grid, if one is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_model.profiles.release_tables import RecordedRelease
from reference_model.profiles.version_tables import RequestKind
from reports.grid.grid_view import FoldedGrid
from reports.release_changes.client_changes import ClientChange, client_changes
from reports.release_changes.client_versions import ServedClients, served_clients
from reports.release_changes.levels import Levels, levels_between
from reports.release_changes.request_lines import RequestLines, request_lines
from reports.release_changes.rule_changes import RuleChanges, RuleKind, rule_changes
from reports.release_changes.steps import (
    OLDEST_CLIENT_FOR_4_0,
    FeatureChange,
    UpgradeStep,
    feature_changes,
    has_old_versions,
    must_leave_zookeeper,
    steps_between,
)
from reports.wording.verdict_labels import counted

_NOT_OLD = (RequestKind.GONE, RequestKind.LOWERED)
"""The kinds of changes that take more than the oldest versions of a request."""
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """All that changes from one release to another.

    Attributes:
        steps: what stands in between.
        served: the Java clients that the newer release serves.
        levels: what stays as it was until features are finalized; None if there is nothing to finalize.
        clients: what clients did with both releases; None if no grid was given.
        rules: the rules whose verdict differs; None if no grid was given.
        notes: sentences about releases that were asked for and for which others stand.
    """

    before: RecordedRelease
    after: RecordedRelease
    requests: RequestLines
    features: tuple[FeatureChange, ...]
    steps: tuple[UpgradeStep, ...]
    served: ServedClients
    levels: Levels | None = None
    clients: tuple[ClientChange, ...] | None = None
    rules: RuleChanges | None = None
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Both releases: "Apache Kafka 2.3.1 → 4.4.0"."""
        return f"Apache Kafka {self.before.title} → {self.after.title}"

    @property
    def loses_old_clients(self) -> bool:
        """Whether Kafka supports clients older than 2.1 with the older release and not with the newer one."""
        return has_old_versions(self.before.release) and not has_old_versions(self.after.release)

    @property
    def in_short(self) -> str:
        """The most important results in one sentence; each part follows from the data."""
        return f"In short: {'; '.join(_parts(self))}."


def upgrade_between(
    before: RecordedRelease,
    after: RecordedRelease,
    grid: FoldedGrid | None = None,
    notes: tuple[str, ...] = (),
) -> Upgrade:
    """Return what changes from one release to another.

    A grid adds operations of clients, verdicts of rules, or both.
    """
    return Upgrade(
        before=before,
        after=after,
        requests=request_lines(before, after),
        features=feature_changes(before, after),
        steps=steps_between(before, after),
        served=served_clients(after.release, grid),
        levels=levels_between(before, after),
        clients=None if grid is None else client_changes(grid, before, after),
        rules=None if grid is None else rule_changes(grid, before, after),
        notes=notes,
    )


def _parts(upgrade: Upgrade) -> Iterator[str]:
    if upgrade.clients:
        yield _about_clients(upgrade.clients)
    if upgrade.loses_old_clients:
        yield f"Kafka does not support clients older than {OLDEST_CLIENT_FOR_4_0} any more"
    if must_leave_zookeeper(upgrade.before, upgrade.after):
        yield "you have to leave ZooKeeper first"
    lost, gone = upgrade.requests.lost_by_clients, len(upgrade.requests.gone_with_zookeeper)
    if lost:
        old = "" if any(line.kind in _NOT_OLD for line in lost) else "old "
        yield f"{counted(len(lost), 'request')} of clients {_agree(len(lost), 'loses', 'lose')} {old}versions"
    if gone:
        yield f"{counted(gone, 'request')} of clients {_agree(gone, 'is', 'are')} gone with ZooKeeper"
    if not lost and not gone:
        yield "no request of clients loses a version"
    new = len(upgrade.requests.of(RequestKind.NEW))
    if new:
        yield f"{counted(new, 'request')} {_agree(new, 'is', 'are')} new"
    moved = len(upgrade.requests.with_quorum)
    if moved:
        yield f"{counted(moved, 'request')} {_agree(moved, 'comes or goes', 'come or go')} with KRaft, not with the release"
    worse = len(upgrade.rules.of(RuleKind.WORSE)) if upgrade.rules else 0
    if worse:
        yield f"{counted(worse, 'rule')} {_agree(worse, 'is', 'are')} broken that {_agree(worse, 'was', 'were')} not"


def _about_clients(clients: tuple[ClientChange, ...]) -> str:
    losing = [each.client for each in clients if each.lost]
    if not losing:
        tried = counted(len(clients), "client")
        return f"nothing breaks for the {tried} that {_agree(len(clients), 'was', 'were')} tried with both"
    more = len(losing) - _MAX_NAMED
    names = ", ".join([*losing[:_MAX_NAMED], *([f"{more} more"] if more > 0 else [])])
    return f"operations break for {names} ({len(losing)} of {len(clients)} tried with both)"


def _agree(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
