"""Scripts of brokers of real releases: with their recorded tables, alone or two releases in one cluster."""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
    healthy_ranges,
)
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import RECORDED_RELEASES, profile_of
from strategies.broker_scripts import (
    ENOUGH_RESPONSES,
    REFUSAL_WITHOUT_RANGE,
    SUCCESS_MS,
    broker_with,
)
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
from wire.startup_messages import CLUSTER_APIS, SASL_APIS

BEGINNING_KEYS = frozenset(
    {API_VERSIONS_KEY, *CLUSTER_APIS, *SASL_APIS, GET_TELEMETRY_SUBSCRIPTIONS_KEY}
)
"""The APIs that clients may use to list topics; every other one is a feature that they do not use here."""
UNUSED_KEYS = tuple(key for key, _, _ in healthy_ranges() if key not in BEGINNING_KEYS)


def answer_of(release: str) -> Answer:
    """Return the table and the features of a broker of a release."""
    profile = profile_of(release)
    return Answer(
        table=Table(base=release),
        supported_features=tuple(
            (each.name, each.min_version, each.max_version) for each in profile.supported_features
        ),
        finalized_features=tuple(
            (each.name, each.max_version_level, each.min_version_level)
            for each in profile.finalized_features
        ),
        finalized_features_epoch=0 if profile.traits.epoch_sent else -1,
    )


def connection_of(release: str, *, closes_after: int | None = None) -> ConnectionScript:
    """Return what happens on a connection to a broker of a release.

    It serves from the first request on what the release serves, and refuses as it does.

    Args:
        release: a release whose table is recorded.
        closes_after: after how many responses to other requests it closes the connection.
    """
    traits = profile_of(release).traits
    return ConnectionScript(
        newest_version=traits.api_versions_max,
        refusal=None if traits.unsupported_names_range else REFUSAL_WITHOUT_RANGE,
        answers=(answer_of(release),),
        closes_after=closes_after,
    )


def broker_of(release: str, *, listener: str = PLAINTEXT) -> Script:
    """Return a script of a broker of a release."""
    return all_connections(connection_of(release), listener=listener, timeout_ms=SUCCESS_MS)


def brokers_of_releases(listener: str = PLAINTEXT) -> st.SearchStrategy[Script]:
    """Brokers of all releases, with the security of a listener."""
    releases = st.sampled_from(RECORDED_RELEASES)
    return releases.map(lambda release: broker_of(release, listener=listener))


def cluster_of(first: str, second: str) -> Script:
    """Return a script of a cluster of two brokers of two releases, which close each connection after two responses."""
    return Script(
        nodes=tuple(
            NodeScript(connections=(connection_of(release, closes_after=2),))
            for release in (first, second)
        ),
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_RESPONSES + 2,
    )


def clusters_of_two_releases() -> st.SearchStrategy[Script]:
    """Clusters of two different releases, the older one first or second."""
    pairs = st.lists(st.sampled_from(RECORDED_RELEASES), min_size=2, max_size=2, unique=True)
    return pairs.map(lambda pair: cluster_of(*pair))


def cluster_with_an_old_node(newest: int) -> Script:
    """Return a script of a bootstrap server that supports ApiVersions up to a version, and of a node of today."""
    return Script(
        nodes=tuple(
            NodeScript(connections=(ConnectionScript(newest_version=each, closes_after=2),))
            for each in (newest, NEWEST_VERSION)
        ),
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        # A client that chooses between the nodes at random meets the second one among so many.
        ends_after=ENOUGH_RESPONSES + 8,
    )


def clusters_with_an_old_node() -> st.SearchStrategy[Script]:
    """Clusters with `cluster_with_an_old_node`, whose old node has no version with the client's name."""
    return st.integers(0, FIRST_FLEXIBLE_VERSION - 1).map(cluster_with_an_old_node)


def broker_without(*api_keys: int) -> Script:
    """Return a script of a broker that lacks APIs."""
    return broker_with(Table(removed=tuple(sorted(api_keys))))


def brokers_without_unused_features() -> st.SearchStrategy[Script]:
    """Brokers that lack some APIs, but none that a client needs to list topics."""
    return st.sets(st.sampled_from(UNUSED_KEYS), min_size=1).map(lambda keys: broker_without(*keys))
