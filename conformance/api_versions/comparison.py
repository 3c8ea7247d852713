"""How two tables differ, and which requests of a client a cluster would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.api_versions.cluster_tables import ClusterTables, Ranges
from conformance.api_versions.known_apis import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An API that two tables list differently.

    Attributes:
        api_key: the API.
        first: its range in the first table; None if it is not listed.
        second: its range in the second table.
        first_refused: what is refused although the first table lists it, as far as that is known.
        second_refused: the same of the second table.
    """

    api_key: int
    first: Range | None
    second: Range | None
    first_refused: Range | None = None
    second_refused: Range | None = None

    @property
    def change(self) -> str:
        """What the second table has more or less than the first, in words."""
        if self.first is None:
            return "new"
        if self.second is None:
            return "gone"
        parts = []
        if self.first == self.second:
            parts.append("other versions are refused")
        if self.second.highest != self.first.highest:
            more = self.second.highest > self.first.highest
            parts.append(f"{'up' if more else 'down'} to v{self.second.highest}")
        if self.second.lowest != self.first.lowest:
            parts.append(f"from v{self.second.lowest} on")
        if self.first.common_with(self.second) is None:
            parts.append("no common version")
        return ", ".join(parts)


def differences(first: ClusterTables, second: ClusterTables) -> Sequence[Difference]:
    """Return the APIs that all brokers of two clusters support differently, by key ascending."""
    found = [
        Difference(
            api_key=key,
            first=first.common.get(key),
            second=second.common.get(key),
            first_refused=first.refused.get(key),
            second_refused=second.refused.get(key),
        )
        for key in sorted(first.common.keys() | second.common.keys())
    ]
    return [
        each
        for each in found
        if (each.first, each.first_refused) != (each.second, each.second_refused)
    ]


def refused_requests(client: Ranges, cluster: ClusterTables) -> Sequence[Difference]:
    """Return the APIs that a client has and cannot use: brokers list none, or they serve no version that the client has.

    Args:
        client: the versions that the client can speak.
        cluster: the brokers.

    Returns:
        Differences with the client's range as the first one.
    """
    listed, refused = cluster.common, cluster.refused
    return [
        Difference(api_key=key, first=own, second=listed.get(key), second_refused=refused.get(key))
        for key, own in sorted(client.items())
        if not _shares(own, listed.get(key), refused.get(key))
    ]


def _shares(own: Range, listed: Range | None, refused: Range | None) -> bool:
    served = None if listed is None else listed.without(refused)
    return served is not None and own.common_with(served) is not None
