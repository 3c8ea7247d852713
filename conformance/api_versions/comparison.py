"""How two tables differ, and which requests of a client a cluster would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.api_versions.cluster_tables import Ranges
from conformance.api_versions.known_apis import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An API that two tables list differently.

    Attributes:
        api_key: the API.
        first: its range in the first table; None if it is not listed.
        second: its range in the second table.
    """

    api_key: int
    first: Range | None
    second: Range | None

    @property
    def change(self) -> str:
        """What the second table has more or less than the first, in words."""
        if self.first is None:
            return "new"
        if self.second is None:
            return "gone"
        parts = []
        if self.second.highest != self.first.highest:
            more = self.second.highest > self.first.highest
            parts.append(f"{'up' if more else 'down'} to v{self.second.highest}")
        if self.second.lowest != self.first.lowest:
            parts.append(f"from v{self.second.lowest} on")
        if self.first.common_with(self.second) is None:
            parts.append("no common version")
        return ", ".join(parts)


def differences(first: Ranges, second: Ranges) -> Sequence[Difference]:
    """Return the APIs whose ranges differ, by key ascending."""
    return [
        Difference(api_key=key, first=first.get(key), second=second.get(key))
        for key in sorted(first.keys() | second.keys())
        if first.get(key) != second.get(key)
    ]


def refused_requests(client: Ranges, broker: Ranges) -> Sequence[Difference]:
    """Return the APIs that a client has and cannot use: the broker lists none, or no version that the client has.

    Args:
        client: the versions that the client can speak.
        broker: what the broker lists.

    Returns:
        Differences with the client's range as the first one.
    """
    return [
        Difference(api_key=key, first=own, second=broker.get(key))
        for key, own in sorted(client.items())
        if key not in broker or own.common_with(broker[key]) is None
    ]
