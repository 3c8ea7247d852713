"""Scripts of several connections or nodes, such as clusters with KIP-1242 ids.

The client keeps asking in most of them, and the play ends after some responses. Of a client that sends ids, only the
second connection leads to a broker that it knows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    CLUSTER_ID,
    EMPTY,
    ERROR_AFTER_MS,
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
    healthy_ranges,
)
from reference_model.profiles.listeners import PLAINTEXT, SASL_LISTENERS
from reference_model.profiles.profile import RECORDED_RELEASES, profile_of
from strategies.broker_scripts import (
    ENOUGH_RESPONSES,
    NEWEST_METADATA,
    REFUSAL_WITHOUT_RANGE,
    SUCCESS_MS,
    broker_up_to,
    broker_with,
    metadata_ranges,
)
from strategies.nonsense_scripts import healing_connections
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NEWEST_VERSION,
)
from wire.described_messages import CLUSTER_APIS, SASL_APIS
from wire.error_codes import ErrorCode

BEGINNING_KEYS = frozenset({API_VERSIONS_KEY, *CLUSTER_APIS, *SASL_APIS, GET_TELEMETRY_SUBSCRIPTIONS_KEY})
"""The APIs that clients may use to list topics; every other one is a feature that they do not use here."""
UNUSED_KEYS = tuple(key for key, _, _ in healthy_ranges() if key not in BEGINNING_KEYS)
ENOUGH_WITHOUT_THE_CHECK = 20
"""How many responses a client gets from older brokers: so many that its operations end several times."""
ENOUGH_WHEN_MISROUTED = 8
"""How many responses a client gets if it has to bootstrap again in between."""
OTHER_CLUSTER_ID = "another-cluster-00000"


UNUSABLE = ConnectionScript(on_open="close")
SILENT = ConnectionScript(on_open="silence")
METADATA_DEMANDS_REBOOTSTRAP = ConnectionScript(metadata_error=int(ErrorCode.REBOOTSTRAP_REQUIRED))


def kept_asking(
    *nodes: tuple[ConnectionScript, ...],
    ends_after: int,
    listener: str = PLAINTEXT,
    options: tuple[str, ...] = (),
) -> Script:
    """Return a script of nodes whose client keeps asking for some responses.

    Each node has scripts of its connections.
    """
    return Script(
        nodes=tuple(NodeScript(connections=each) for each in nodes),
        ends_after=ends_after,
        listener=listener,
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        options=options,
    )


def answer_of(release: str) -> Answer:
    """Return the table and the features of a broker of a release."""
    profile = profile_of(release)
    return Answer(
        table=Table(base=release),
        supported_features=tuple(
            (each.name, each.min_version, each.max_version) for each in profile.supported_features
        ),
        finalized_features=tuple(
            (each.name, each.max_version_level, each.min_version_level) for each in profile.finalized_features
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
    both = ((connection_of(release, closes_after=2),) for release in (first, second))
    return kept_asking(*both, ends_after=ENOUGH_RESPONSES + 2)


def clusters_of_two_releases() -> st.SearchStrategy[Script]:
    """Clusters of two different releases, the older one first or second."""
    pairs = st.lists(st.sampled_from(RECORDED_RELEASES), min_size=2, max_size=2, unique=True)
    return pairs.map(lambda pair: cluster_of(*pair))


def cluster_with_an_old_node(newest: int) -> Script:
    """Return a script of a bootstrap server that supports ApiVersions up to a version, and of a node of today."""
    both = ((ConnectionScript(newest_version=each, closes_after=2),) for each in (newest, NEWEST_VERSION))
    # A client that chooses between the nodes at random meets the second one among so many.
    return kept_asking(*both, ends_after=ENOUGH_RESPONSES + 8)


def clusters_with_an_old_node() -> st.SearchStrategy[Script]:
    """Clusters with `cluster_with_an_old_node`, whose old node has no version with the client's name."""
    return st.integers(0, FIRST_FLEXIBLE_VERSION - 1).map(cluster_with_an_old_node)


def broker_without(*api_keys: int) -> Script:
    """Return a script of a broker that lacks APIs."""
    return broker_with(Table(removed=tuple(sorted(api_keys))))


def brokers_without_unused_features() -> st.SearchStrategy[Script]:
    """Brokers that lack some APIs, but none that a client needs to list topics."""
    return st.sets(st.sampled_from(UNUSED_KEYS), min_size=1).map(lambda keys: broker_without(*keys))


def brokers_up_to_any_version() -> st.SearchStrategy[Script]:
    """Brokers up to any version, alone or two of them."""
    versions = st.integers(0, NEWEST_VERSION)
    return versions.map(broker_up_to) | versions.map(two_old_nodes)


def changing_broker(later: ConnectionScript, *, listener: str = PLAINTEXT) -> Script:
    """Return a script whose healthy broker closes its first connection after two responses, and is then another one."""
    # With SASL a connection has five responses before it is used: a table, two steps, another table, Metadata.
    has_sasl = listener in SASL_LISTENERS
    return kept_asking(
        (ConnectionScript(closes_after=5 if has_sasl else 2), later),
        ends_after=ENOUGH_RESPONSES + (6 if has_sasl else 0),
        listener=listener,
    )


def with_table(table: Table) -> ConnectionScript:
    """Return what happens on a connection to a broker that is healthy but for its table."""
    return ConnectionScript(answers=(Answer(table=table),))


def two_old_nodes(newest: int) -> Script:
    """Return a script of two brokers up to a version, which close each connection after two responses."""
    connections = (ConnectionScript(newest_version=newest, closes_after=2),)
    return kept_asking(connections, connections, ends_after=ENOUGH_RESPONSES)


def changed_versions(first: int, later: int) -> Script:
    """Return a script whose broker supports other ApiVersions versions on later connections.

    `first` is the newest version on the first connection, `later` on the others.
    """
    before = ConnectionScript(newest_version=first, closes_after=2)
    after = ConnectionScript(newest_version=later)
    return kept_asking((before, after), ends_after=ENOUGH_RESPONSES)


def two_nodes_with(second: ConnectionScript) -> Script:
    """Return a script of a healthy broker and another one; each closes after two responses."""
    both = ((replace(each, closes_after=2),) for each in (ConnectionScript(), second))
    return kept_asking(*both, ends_after=ENOUGH_RESPONSES + 2)


def lower_brokers() -> st.SearchStrategy[ConnectionScript]:
    """Connections to brokers with fewer versions of Metadata than the healthy one, some of them of old releases."""
    highs = st.integers(0, NEWEST_METADATA - 1)
    return highs.map(lambda high: with_table(metadata_ranges(0, high))) | st.sampled_from(("0.10.0.1", "2.8.2")).map(
        connection_of
    )


def brokers_whose_versions_change() -> st.SearchStrategy[Script]:
    """Brokers that support ApiVersions up to any version on the first connection, and up to another one later."""
    versions = st.integers(0, NEWEST_VERSION)
    return st.builds(changed_versions, versions, versions)


def brokers_that_change() -> st.SearchStrategy[Script]:
    """Brokers whose table, or whose newest version of ApiVersions, changes between two connections or two nodes."""
    return (
        lower_brokers().map(changing_broker)
        | lower_brokers().map(two_nodes_with)
        | st.integers(0, NEWEST_VERSION - 1).map(partial(changed_versions, NEWEST_VERSION))
        | brokers_whose_versions_change()
    )


def brokers_that_close() -> st.SearchStrategy[Script]:
    """Healthy brokers that close each connection after some responses, so that the client connects again."""
    return st.integers(1, 3).map(closing_broker)


def closing_broker(closes_after: int) -> Script:
    """Return a script of a healthy broker that closes each connection after some responses."""
    connection = ConnectionScript(closes_after=closes_after)
    return kept_asking((connection,), ends_after=closes_after + ENOUGH_RESPONSES)


def healthy_cluster(
    *,
    nodes: int = 1,
    cluster_id: str = "",
    options: tuple[str, ...] = (),
    newest: int = NEWEST_VERSION,
) -> Script:
    """Return a script of a healthy cluster whose client keeps asking, so that it uses the brokers that it knows."""
    is_older = newest < FIRST_VERSION_WITH_CLUSTER_CHECK
    connection = ConnectionScript(newest_version=newest, cluster_id=cluster_id or CLUSTER_ID)
    return kept_asking(
        *[(connection,)] * nodes,
        ends_after=ENOUGH_WITHOUT_THE_CHECK if is_older else ENOUGH_RESPONSES,
        options=options,
    )


def cluster_ids() -> st.SearchStrategy[str]:
    """Cluster ids as clusters have them, of another length, or of one character."""
    letters = st.sampled_from("abcXYZ019-_")
    return st.just("") | st.text(letters, min_size=1, max_size=22)


def healthy_clusters(*options: str) -> st.SearchStrategy[Script]:
    """Healthy clusters of one to three brokers.

    If the client has options, some brokers are so old that they have no ids.
    """
    old = range(FIRST_VERSION_WITH_CLUSTER_CHECK if options else 0)
    return st.builds(
        healthy_cluster,
        nodes=st.integers(1, 3),
        cluster_id=cluster_ids(),
        options=st.just(options),
        newest=st.sampled_from((NEWEST_VERSION, *old)),
    )


def clusters_without_the_check() -> st.SearchStrategy[Script]:
    """Healthy clusters whose brokers support ApiVersions up to a version before the check."""
    return st.builds(
        healthy_cluster,
        nodes=st.integers(1, 3),
        newest=st.integers(0, FIRST_VERSION_WITH_CLUSTER_CHECK - 1),
    )


def replaced_cluster(nodes: int = 1) -> Script:
    """Return a script in which another cluster takes the place of the one that the client bootstrapped from."""
    return _misrouting(nodes, ConnectionScript(cluster_id=OTHER_CLUSTER_ID))


def swapped_nodes(nodes: int = 2) -> Script:
    """Return a script in which the nodes change places after the client's first connection, each by one."""
    ids = tuple((index + 1) % nodes + 1 for index in range(nodes))
    return _misrouting(nodes, ConnectionScript(node_ids=ids))


def _misrouting(nodes: int, after: ConnectionScript) -> Script:
    """Return a script in which each connection is like `after`, but for the first one, which closes early."""
    first = (ConnectionScript(closes_after=1), after)
    return kept_asking(first, *[(after,)] * (nodes - 1), ends_after=ENOUGH_WHEN_MISROUTED)


def misrouted_clusters() -> st.SearchStrategy[Script]:
    """Clusters that are replaced, or whose nodes change places."""
    return st.integers(1, 3).map(replaced_cluster) | st.integers(2, 3).map(swapped_nodes)


def rebootstrapping(*, throttle_time_ms: int = 0, pieces: int = 1, from_version: int = 0) -> Script:
    """Return a script of a broker that answers ApiVersions requests with REBOOTSTRAP_REQUIRED until it heals."""
    answer = Answer(
        error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED),
        table=EMPTY,
        delay_ms=ERROR_AFTER_MS,
        throttle_time_ms=throttle_time_ms,
        pieces=pieces,
        from_version=from_version,
    )
    return healing_connections(ConnectionScript(answers=(answer,)))


def load_balanced_cluster(first: ConnectionScript, *, nodes: int = 1, options: tuple[str, ...] = ()) -> Script:
    """Return a script of a bootstrap server that no metadata names, and of brokers that a client leaves at first.

    Args:
        first: what happens on the first connection to each broker; the later ones are healthy.
        nodes: how many brokers there are.
        options: the names of the client's options.
    """
    script = kept_asking(
        (ConnectionScript(),),
        *[(first, ConnectionScript())] * nodes,
        ends_after=ENOUGH_WHEN_MISROUTED,
        options=options,
    )
    bootstrap, *others = script.nodes
    return replace(script, nodes=(replace(bootstrap, is_listed=False), *others))


def load_balanced_clusters(firsts: st.SearchStrategy[ConnectionScript], *options: str) -> st.SearchStrategy[Script]:
    """Clusters with `load_balanced_cluster`, of one to three brokers."""
    return st.builds(load_balanced_cluster, firsts, nodes=st.integers(1, 3), options=st.just(options))


def reasons_to_rebootstrap() -> st.SearchStrategy[ConnectionScript]:
    """What makes a client bootstrap again: a broker that cannot be used, or whose Metadata demands it."""
    return st.sampled_from((UNUSABLE, METADATA_DEMANDS_REBOOTSTRAP))


def brokers_that_demand_rebootstrapping() -> st.SearchStrategy[Script]:
    """Brokers that answer with REBOOTSTRAP_REQUIRED until they heal, in pieces, or with a throttle time."""
    return st.builds(
        rebootstrapping,
        throttle_time_ms=st.sampled_from((0, 100)),
        pieces=st.integers(1, 3),
    )
