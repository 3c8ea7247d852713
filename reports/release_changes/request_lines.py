"""The requests that change between two releases, grouped by effect on clients.

Where one end has ZooKeeper and the other KRaft, some requests come or go with that and not with the release: those that
3.9, which has both, lists with one of them only. They are kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from reference_model.profiles.java_requests import is_sent_by_clients
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.profile import line_of
from reference_model.profiles.release_tables import (
    SWITCHED_OFF,
    RecordedRelease,
    missing_feature,
    recorded_releases,
)
from reference_model.profiles.version_tables import (
    Ranges,
    RequestChange,
    RequestKind,
    request_changes,
    served_ranges,
)
from reports.release_changes.steps import last_with_zookeeper

LOSSES = (
    RequestKind.GONE,
    RequestKind.NOT_SERVED,
    RequestKind.NO_COMMON,
    RequestKind.RAISED,
    RequestKind.LOWERED,
)
"""The kinds that take versions away from clients, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine:
    """One request that changes.

    Attributes:
        change: what it was and what it becomes.
        is_for_clients: whether clients send it; brokers send the others to each other.
        too_old: the newest line of releases whose Java clients know no version that is left, "0.10.2"; empty if there
            is none.
        missing_feature: the feature that it needs and that the newer release does not enable by itself; empty if there
            is none.
    """

    change: RequestChange
    is_for_clients: bool
    too_old: str = ""
    missing_feature: str = ""

    @property
    def kind(self) -> RequestKind:
        """What the change means for clients."""
        return self.change.kind

    @property
    def name(self) -> str:
        """The name of the API."""
        return label_of(self.change.api_key)

    @property
    def meaning(self) -> str:
        """Who is concerned, in words; empty if that says nothing."""
        if self.missing_feature:
            return f"refused until {self.missing_feature} is enabled"
        if self.kind is RequestKind.NEW and self.change.api_key in SWITCHED_OFF:
            return f"refused until {SWITCHED_OFF[self.change.api_key]} is switched on"
        if not self.is_for_clients:
            return "between brokers only"
        if self.kind not in LOSSES or self.change.after is None:
            return ""
        return f"refused to {self.failing_clients}"

    @property
    def failing_clients(self) -> str:
        """Which clients know no version that is left, if versions are lost, in words."""
        if self.change.after is None:
            return "all clients"
        if self.too_old:
            return f"Java clients up to {self.too_old}"
        return f"clients older than {_line_name(recorded_releases()[0])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLines:
    """The requests that change between two releases.

    Attributes:
        by_kind: those that change with the release, by kind, the gravest kind first and then by API key.
        with_quorum: those that come or go because one end has ZooKeeper and the other KRaft, by API key.
    """

    by_kind: Mapping[RequestKind, tuple[RequestLine, ...]]
    with_quorum: tuple[RequestLine, ...]

    def of(self, *kinds: RequestKind) -> tuple[RequestLine, ...]:
        """Return those of some kinds."""
        return tuple(line for kind in kinds for line in self.by_kind.get(kind, ()))

    @property
    def lost_by_clients(self) -> tuple[RequestLine, ...]:
        """The requests of clients of which versions are not served any more."""
        return tuple(line for line in self.of(*LOSSES) if line.is_for_clients)

    @property
    def gone_with_zookeeper(self) -> tuple[RequestLine, ...]:
        """The requests of clients that only brokers with ZooKeeper serve."""
        return tuple(line for line in self.with_quorum if line.is_for_clients and line.kind is RequestKind.GONE)


def request_lines(before: RecordedRelease, after: RecordedRelease) -> RequestLines:
    """Return what changes for clients on a listener of brokers."""
    by_kind: dict[RequestKind, list[RequestLine]] = {kind: [] for kind in RequestKind}
    with_quorum = []
    for change in request_changes(before.table(), after.table()):
        line = _line(change, after)
        if change.api_key in _keys_of_quorum(before, after) and None in change.served:
            with_quorum.append(line)
        else:
            by_kind[change.kind].append(line)
    return RequestLines(
        by_kind={kind: tuple(lines) for kind, lines in by_kind.items() if lines},
        with_quorum=tuple(with_quorum),
    )


def _line(change: RequestChange, after: RecordedRelease) -> RequestLine:
    too_old = _too_old(change) if change.kind in LOSSES else ""
    is_for_clients = is_sent_by_clients(change.api_key, until=too_old)
    return RequestLine(
        change=change,
        is_for_clients=is_for_clients,
        too_old=too_old if is_for_clients else "",
        missing_feature=missing_feature(after.profile(), change.api_key) if change.kind is RequestKind.NEW else "",
    )


def _too_old(change: RequestChange) -> str:
    """Return the newest release line whose versions are all no longer served, else an empty text.

    A client knows the versions that its release serves.
    """
    _, left = change.served
    if left is None:
        return ""
    lines = [
        release
        for release in recorded_releases()
        if (own := _served(release).get(change.api_key)) is not None and own.highest < left.lowest
    ]
    return _line_name(lines[-1]) if lines else ""


def _line_name(release: RecordedRelease) -> str:
    return ".".join(map(str, line_of(release.release)))


@cache
def _served(release: RecordedRelease) -> Ranges:
    return served_ranges(release.table())


def _keys_of_quorum(before: RecordedRelease, after: RecordedRelease) -> frozenset[int]:
    """Return the APIs that come or go with the quorum; none if both ends have the same one."""
    if before.quorum == after.quorum:
        return frozenset()
    zookeeper, kraft = last_with_zookeeper()
    earliest = min(kraft, after, key=lambda each: each.order)
    return frozenset(_served(zookeeper).keys() ^ _served(earliest).keys())
