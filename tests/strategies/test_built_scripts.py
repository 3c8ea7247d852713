"""Scripts that functions of the strategies return: what they hold."""

from __future__ import annotations

import pytest
from hypothesis import given

from reference_model.clients.scripts.script import (
    ITSELF,
    Answer,
    ConnectionScript,
    Script,
    Table,
    one_node,
)
from reference_model.profiles.listeners import SSL
from strategies.broker_scripts import (
    ENOUGH_RESPONSES,
    REFUSAL_WITHOUT_RANGE,
    SUCCESS_MS,
    broker_up_to,
    descending_refusals,
    listed_versions,
    metadata_ranges,
    range_of_metadata,
    refusal,
)
from strategies.cluster_scripts import (
    OTHER_CLUSTER_ID,
    changing_broker,
    closing_broker,
    clusters_with_an_old_node,
    replaced_cluster,
    swapped_nodes,
    with_table,
)
from strategies.nonsense_scripts import (
    NEWEST_LISTED,
    foreign_tables,
    tables_with_errors,
)
from strategies.refused_name_scripts import (
    REFUSED_NAME,
)
from strategies.secured_scripts import (
    broker_with_sasl_ranges,
    lists_steps,
    second_answer,
    second_version_refused,
    secured,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION


def test_refusal_lists_only_its_ranges() -> None:
    """A refusal is written in the layout of v0 and lists nothing but ApiVersions."""
    answer = refusal((0, 2))
    assert answer.table.entries == ((18, 0, 2),)
    assert (answer.error_code, answer.layout) == (35, 0)
    assert REFUSAL_WITHOUT_RANGE.table.entries == ()


def test_refusals_descend_to_success() -> None:
    """Each refusal names one version less than the one before, and a healthy answer follows."""
    (connection,) = descending_refusals(2).nodes[0].connections
    tables = [answer.table.entries for answer in connection.answers[:-1]]
    assert tables == [((18, 0, 2),), ((18, 0, 1),), ((18, 0, 0),)]
    assert connection.answers[-1] == Answer()


@pytest.mark.parametrize(
    ("table", "listed"),
    [
        (metadata_ranges(7, 2), "v7 to v2"),
        (Table(removed=(3,)), "no version of it"),
        (Table(changed=((3, 0, 1),), after=((3, 4, 5),)), "v0 to v1 and v4 to v5"),
    ],
)
def test_listed_versions_are_named(table: Table, listed: str) -> None:
    """The ranges of Metadata are named in the order of the table."""
    assert listed_versions(one_node(Answer(table=table))) == listed


def test_swapped_nodes_all_move() -> None:
    """After the first connection no node has the id that it had before."""
    script = swapped_nodes(3)
    before, after = script.nodes[0].connections
    assert [before.id_of(index) for index in range(3)] == [1, 2, 3]
    assert [after.id_of(index) for index in range(3)] == [2, 3, 1]
    assert all(node.connections[-1] == after for node in script.nodes)


def test_replaced_cluster_has_another_id() -> None:
    """Only the first connection to the bootstrap server reaches the cluster that was there before."""
    first_node, second_node = replaced_cluster(2).nodes
    other = ConnectionScript(cluster_id=OTHER_CLUSTER_ID)
    assert first_node.connections == (ConnectionScript(closes_after=1), other)
    assert second_node.connections == (other,)


@pytest.mark.parametrize(("listener", "closes_after"), [("plaintext", 2), ("ssl", 2), ("sasl_plaintext", 5)])
def test_first_connection_serves_two_requests(listener: str, closes_after: int) -> None:
    """A connection with SASL closes after the two steps of authentication, a table before and after them, and
    Metadata."""
    script = changing_broker(with_table(ITSELF), listener=listener)
    assert script.nodes[0].connections[0].closes_after == closes_after
    assert script.timeout_ms == SUCCESS_MS


@pytest.mark.parametrize("closes_after", [1, 3])
def test_closing_broker_gives_enough_connections(closes_after: int) -> None:
    (node,) = closing_broker(closes_after).nodes
    assert [each.closes_after for each in node.connections] == [closes_after]
    assert closing_broker(closes_after).ends_after == closes_after + ENOUGH_RESPONSES


def test_steps_of_sasl_are_not_counted() -> None:
    """A connection serves as many other requests as without SASL; TLS changes nothing but the listener."""
    plain = closing_broker(2)
    sasl, tls = secured(plain), secured(plain, SSL)
    assert [each.nodes[0].connections[0].closes_after for each in (plain, sasl, tls)] == [2, 4, 2]
    assert (plain.ends_after, sasl.ends_after, tls.ends_after) == (7, 21, 7)
    assert secured(broker_up_to(2)).ends_after is None


@pytest.mark.parametrize(
    ("handshake", "authenticate", "steps", "are_listed"),
    [
        ((1, 1), (0, 2), {17: 1, 36: 2}, True),
        ((1, 1), (0, 2), {17: 0, 36: -1}, False),
        ((0, 0), None, {17: 0, 36: -1}, True),
        ((0, 1), None, {17: 1, 36: 0}, False),
        ((0, 1), (0, 1), {17: 1, 36: 2}, False),
    ],
)
def test_table_lists_the_steps_of_a_client(
    handshake: tuple[int, int] | None,
    authenticate: tuple[int, int] | None,
    steps: dict[int, int],
    are_listed: bool,
) -> None:
    script = broker_with_sasl_ranges(handshake, authenticate)
    assert lists_steps(script, steps) is are_listed


def test_second_answer_refuses_no_version_that_it_names() -> None:
    """A client that asks in v0, or in the oldest version with a name, gets a table; only a newer one is refused."""
    for script, newest, index in (
        (second_version_refused(2), 2, 1),
        (second_version_refused(0), 0, 1),
        (second_answer(REFUSED_NAME, SSL), 3, 0),
    ):
        refused = script.nodes[0].connections[0].answer(index)
        assert refused.table.ranges_of(API_VERSIONS_KEY) == ((0, newest),)
        assert refused.from_version == newest + 1


@given(script=tables_with_errors() | foreign_tables())
def test_table_lists_two_versions_of_metadata(script: Script) -> None:
    """Each table is of a response that does not count, and lists two versions of Metadata."""
    (answer,) = script.answers
    low, high = range_of_metadata(script)
    assert high == low + 1
    assert high in NEWEST_LISTED
    assert bool(answer.error_code) != bool(answer.correlation_shift)
    assert answer.error_code not in (35, 42, 129)


@given(script=clusters_with_an_old_node())
def test_old_node_is_the_bootstrap_server(script: Script) -> None:
    """The first node has no version with a name, and the second one all."""
    first, second = (node.connections[0].newest_version for node in script.nodes)
    assert first < FIRST_FLEXIBLE_VERSION
    assert second == NEWEST_VERSION
