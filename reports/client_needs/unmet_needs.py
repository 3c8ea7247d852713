"""Which measured needs of a client a release does not meet.

That is what was removed since the release that they were measured with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_model.profiles.known_apis import Range, label_of
from reference_model.profiles.version_tables import Support, Table
from reports.client_needs.needs import ApiNeeds, ClientNeeds, Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetNeed:
    """Something that an operation needs and a release lacks.

    Attributes:
        operation: the name of the operation.
        api_key: the API.
        versions: the versions of which it needs one; None if it needs the API and the release has none of it.
        probe: what becomes of the operation without that.
    """

    operation: str
    api_key: int
    versions: Range | None
    probe: Probe

    @property
    def what(self) -> str:
        """What is lacking: "JoinGroup v0", "Fetch v0 to v3", "DescribeCluster"."""
        name = label_of(self.api_key)
        return name if self.versions is None else f"{name} v{self.versions.in_words(between=' to v')}"


def unmet_needs(client: ClientNeeds, table: Table) -> Iterator[UnmetNeed]:
    """Yield what the operations of a client need and a release lacks, in the order of the operations.

    Needs are measured with one API changed at a time. That says something about a release that is newer than the one
    they were measured with, and has lost old versions or APIs. It says nothing about an older one, where the newest
    versions of many APIs are missing at once: clients do with all of them what they cannot do with some.

    A version that the client sends has to be served. Of one that it only reads from the table it is enough that it is
    listed.

    Args:
        client: what was measured of the client.
        table: what the release supports.
    """
    for operation in client.operations:
        for api in operation.apis:
            missing = _missing_of(api, table.get(api.api_key))
            if missing is not None:
                versions, probe = missing
                yield UnmetNeed(operation=operation.operation, api_key=api.api_key, versions=versions, probe=probe)


def _missing_of(api: ApiNeeds, support: Support | None) -> tuple[Range | None, Probe] | None:
    left = None if support is None else support.listed if api.hidden_version is not None else support.served
    if left is None:
        return (None, api.removed) if api.is_needed else None
    if api.minimum is None or api.minimum.failure is None or left.lowest <= api.minimum.version:
        return None
    return Range(api.served.lowest, api.minimum.version), api.minimum.failure
