"""What Apache Kafka itself states about clients of one release and brokers of another, and about the way from one release to the next.

Sources: the upgrade notes and the compatibility tables of 4.x, and KIP-896, which removed old versions of requests from 4.0; for releases before
that KIP-97, since which clients speak with older brokers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_model.profiles.profile import line_of, release_order

FIRST_WITHOUT_OLD_VERSIONS = "4.0"
"""The first release, of brokers and of clients, without the versions that KIP-896 removed; the first without ZooKeeper, too."""
OLDEST_WITH_IT = "2.1"
"""The oldest release, of clients and of brokers, that Kafka supports with those."""
LAST_BEFORE = "3.9"
"""The last line of releases before it, and the last with ZooKeeper."""
FIRST_FOR_OLDER_BROKERS = "0.10.2"
"""The first release whose clients speak with brokers that are older than they are (KIP-97)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page of Apache Kafka."""

    title: str
    link: str


UPGRADE_NOTES = Source(
    title="upgrade notes of 4.0", link="https://kafka.apache.org/40/getting-started/upgrade"
)
UPGRADE_NOTES_OF_3_9 = Source(
    title="upgrade notes of 3.9", link="https://kafka.apache.org/39/getting-started/upgrade"
)
COMPATIBILITY = Source(
    title="compatibility tables of 4.x",
    link="https://kafka.apache.org/42/getting-started/compatibility",
)
KIP_896 = Source(
    title="KIP-896",
    link="https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0",
)
SOURCES: Sequence[Source] = (KIP_896, UPGRADE_NOTES, COMPATIBILITY)


def has_old_versions(release: str) -> bool:
    """Return whether a release has the versions that KIP-896 removed, and can run with ZooKeeper."""
    return release_order(release) < release_order(FIRST_WITHOUT_OLD_VERSIONS)


def is_supported(client: str, broker: str) -> bool:
    """Return whether Apache Kafka supports its own client of one release with a broker of another."""
    older = min(client, broker, key=release_order)
    if not (has_old_versions(client) and has_old_versions(broker)):
        return release_order(older) >= release_order(OLDEST_WITH_IT)
    is_newer = line_of(client) > line_of(broker)
    return not is_newer or release_order(client) >= release_order(FIRST_FOR_OLDER_BROKERS)


def supported_clients(broker: str) -> str:
    """Return in words which of its own clients Apache Kafka supports with a release of brokers: "of 2.1 and newer"."""
    if not has_old_versions(broker):
        return f"of {OLDEST_WITH_IT} and newer"
    if is_supported(FIRST_WITHOUT_OLD_VERSIONS, broker):
        return "of every release"
    return f"up to {LAST_BEFORE}"


def is_partly_supported(client: str, broker: str) -> bool:
    """Return whether the compatibility tables call a client only partly compatible: 2.1 to 2.8 with brokers from 4.0 on."""
    is_of_2 = line_of(client)[0] == line_of(OLDEST_WITH_IT)[0]
    return is_of_2 and not has_old_versions(broker) and is_supported(client, broker)
