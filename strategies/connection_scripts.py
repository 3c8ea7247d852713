"""Scripts with several connections or several nodes: brokers that close connections, and that change between two of them.

The client keeps asking in most of them, and the play ends after some responses.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from reference_model.clients.scripts.script import (
    Answer,
    ConnectionScript,
    NodeScript,
    Script,
    Table,
    all_connections,
)
from reference_model.profiles.listeners import PLAINTEXT, SASL_LISTENERS
from strategies.broker_scripts import (
    ENOUGH_RESPONSES,
    NEWEST_METADATA,
    SUCCESS_MS,
    broker_up_to,
    metadata_ranges,
)
from strategies.release_scripts import connection_of
from wire.api_versions import NEWEST_VERSION


def brokers_up_to_any_version() -> st.SearchStrategy[Script]:
    """Brokers up to any version, alone or two of them."""
    versions = st.integers(0, NEWEST_VERSION)
    return versions.map(broker_up_to) | versions.map(two_old_nodes)


def changing_table(later: Table, *, listener: str = PLAINTEXT) -> Script:
    """Return a script whose broker closes its first connection after two responses, and then has another table."""
    return changing_broker(with_table(later), listener=listener)


def changing_broker(later: ConnectionScript, *, listener: str = PLAINTEXT) -> Script:
    """Return a script whose healthy broker closes its first connection after two responses, and is then another one."""
    # With SASL a connection has five responses before it is used: a table, two steps, another table, Metadata.
    has_sasl = listener in SASL_LISTENERS
    return all_connections(
        ConnectionScript(closes_after=5 if has_sasl else 2),
        later,
        listener=listener,
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_RESPONSES + (6 if has_sasl else 0),
    )


def with_table(table: Table) -> ConnectionScript:
    """Return what happens on a connection to a broker that is healthy but for its table."""
    return ConnectionScript(answers=(Answer(table=table),))


def two_old_nodes(newest: int) -> Script:
    """Return a script of two brokers up to a version, which close each connection after two responses."""
    connection = ConnectionScript(newest_version=newest, closes_after=2)
    return Script(
        nodes=(NodeScript(connections=(connection,)),) * 2,
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_RESPONSES,
    )


def downgraded_broker(newest: int) -> Script:
    """Return a script whose broker closes its first connection, and then supports ApiVersions up to a version only."""
    return changed_versions(NEWEST_VERSION, newest)


def changed_versions(first: int, later: int) -> Script:
    """Return a script whose broker supports ApiVersions up to one version on its first connection, and up to another one later."""
    return all_connections(
        ConnectionScript(newest_version=first, closes_after=2),
        ConnectionScript(newest_version=later),
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_RESPONSES,
    )


def two_nodes_with(second: ConnectionScript) -> Script:
    """Return a script of a healthy broker and another one; each closes after two responses."""
    both = (replace(each, closes_after=2) for each in (ConnectionScript(), second))
    return Script(
        nodes=tuple(NodeScript(connections=(each,)) for each in both),
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=ENOUGH_RESPONSES + 2,
    )


def lower_brokers() -> st.SearchStrategy[ConnectionScript]:
    """Connections to brokers with fewer versions of Metadata than the healthy one, some of them of old releases."""
    highs = st.integers(0, NEWEST_METADATA - 1)
    return highs.map(lambda high: with_table(metadata_ranges(0, high))) | st.sampled_from(
        ("0.10.0.1", "2.8.2")
    ).map(connection_of)


def brokers_whose_versions_change() -> st.SearchStrategy[Script]:
    """Brokers that support ApiVersions up to any version on the first connection, and up to another one later."""
    versions = st.integers(0, NEWEST_VERSION)
    return st.builds(changed_versions, versions, versions)


def brokers_that_change() -> st.SearchStrategy[Script]:
    """Brokers whose table, or whose newest version of ApiVersions, changes between two connections or two nodes."""
    return (
        lower_brokers().map(changing_broker)
        | lower_brokers().map(two_nodes_with)
        | st.integers(0, NEWEST_VERSION - 1).map(downgraded_broker)
        | brokers_whose_versions_change()
    )


def brokers_that_close() -> st.SearchStrategy[Script]:
    """Healthy brokers that close each connection after some responses, so that the client connects again."""
    return st.integers(1, 3).map(closing_broker)


def closing_broker(closes_after: int) -> Script:
    """Return a script of a healthy broker that closes each connection after some responses."""
    return all_connections(
        ConnectionScript(closes_after=closes_after),
        timeout_ms=SUCCESS_MS,
        keeps_asking=True,
        ends_after=closes_after + ENOUGH_RESPONSES,
    )
