"""What changes from one release of Apache Kafka to another.

The command, the pages and the other forms share this computation.

The tables of releases are recorded from running brokers; clients and rules come from a grid, if one is given.
`ends_named` finds the two releases by their names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reference_model.profiles.profile import APACHE_KAFKA
from reference_model.profiles.release_tables import RecordedRelease, recorded_releases
from reference_model.profiles.version_tables import RequestKind
from reports.grid.grid_view import FoldedGrid
from reports.upgrade.client_versions import ServedClients, served_clients
from reports.upgrade.grid_changes import (
    ClientChange,
    RuleChanges,
    RuleKind,
    client_changes,
    rule_changes,
)
from reports.upgrade.request_lines import RequestLines, request_lines
from reports.upgrade.way import (
    OLDEST_WITH_IT,
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
        clients: what clients did with both releases; None if no grid was given.
        rules: the rules whose verdict differs; None if no grid was given.
    """

    before: RecordedRelease
    after: RecordedRelease
    requests: RequestLines
    features: tuple[FeatureChange, ...]
    steps: tuple[UpgradeStep, ...]
    served: ServedClients
    clients: tuple[ClientChange, ...] | None = None
    rules: RuleChanges | None = None

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


def upgrade_between(before: RecordedRelease, after: RecordedRelease, grid: FoldedGrid | None = None) -> Upgrade:
    """Return what changes from one release to another; a grid has operations of clients, verdicts of rules, or both."""
    return Upgrade(
        before=before,
        after=after,
        requests=request_lines(before, after),
        features=feature_changes(before, after),
        steps=steps_between(before, after),
        served=served_clients(after.release, grid),
        clients=None if grid is None else client_changes(grid, before, after),
        rules=None if grid is None else rule_changes(grid, before, after),
    )


def _parts(upgrade: Upgrade) -> Iterator[str]:
    if upgrade.clients:
        yield _about_clients(upgrade.clients)
    if upgrade.loses_old_clients:
        yield f"Kafka does not support clients older than {OLDEST_WITH_IT} any more"
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


class UnknownRelease(Exception):
    """A name is that of no recorded release, or the two are in the wrong order; the message lists near names."""


def ends_named(before: str, after: str) -> tuple[RecordedRelease, RecordedRelease]:
    """Return the releases of two names.

    A name is a release ("2.3.1"), its line if that has one recorded release ("2.3"), or the id of a target
    ("apache-kafka-2.3.1"); with "-zookeeper" or "-kraft" it names one kind of quorum. Without that, both ends have the
    same one if that was recorded.

    Raises:
        UnknownRelease: a name is that of no recorded release, or the second release is not newer.
    """
    pairs = [(old, new) for old in _named(before) for new in _named(after)]
    possible = [(old, new) for old, new in pairs if old.can_become(new)]
    if not possible:
        old, new = pairs[-1]
        if old == new:
            raise UnknownRelease(f"{before} and {after} are the same release")
        if old.release == new.release or new.order > old.order:
            raise UnknownRelease(f"no cluster goes from {old.title} to {new.title}")
        raise UnknownRelease(f"{after} is older than {before}: name the older release first")
    return max(possible, key=_likelihood)


def _likelihood(pair: tuple[RecordedRelease, RecordedRelease]) -> tuple[bool, object, object]:
    """Return the sort key of a pair that two names may mean: with the same quorum, KRaft before ZooKeeper."""
    old, new = pair
    return old.quorum == new.quorum, new.order, old.order


def _named(name: str) -> Sequence[RecordedRelease]:
    release, _, quorum = name.removeprefix(f"{APACHE_KAFKA}-").partition("-")
    of_release = [each for each in recorded_releases() if each.release == release]
    of_line = [each for each in recorded_releases() if each.release.startswith(f"{release}.")]
    found = [each for each in of_release or of_line if quorum in ("", each.quorum)]
    if not found:
        raise UnknownRelease(f"no table of {name!r} was recorded; {_near(release)}")
    if len({each.release for each in found}) > 1:
        names = ", ".join(each.short for each in found)
        raise UnknownRelease(f"{name!r} may be one of {names}")
    return found


def _near(release: str) -> str:
    """Return the recorded releases of the same line or with similar names, as the end of an error's sentence."""
    names = [each.short for each in recorded_releases()]
    line = release.rpartition(".")[0]
    same_line = [name for name in names if line and name.startswith(f"{line}.")]
    near = same_line or difflib.get_close_matches(release, names, n=3, cutoff=0.5)
    return f"near: {', '.join(near)}" if near else f"recorded are {', '.join(names)}"
