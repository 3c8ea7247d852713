"""What brokers were seen to list in their ApiVersions responses."""

from __future__ import annotations

from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges, intersection
from wire.api_keys import PRODUCE_KEY

Tables = dict[str, dict[int, tuple[int, int]]]
"""The tables that listeners answered: lowest and highest version by API key, by the listener's address."""


def versions_of_all(tables: Tables) -> Ranges:
    """Return the versions that all listeners of brokers listed; empty if none was seen. Controllers are left out."""
    brokers = [table for table in tables.values() if PRODUCE_KEY in table]
    return intersection(
        [{key: Range(*versions) for key, versions in table.items()} for table in brokers]
    )
