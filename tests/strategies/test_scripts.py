"""Tests of scripts for clients.

Each strategy reaches its extremes, and its scripts can be read back. SASL steps are tested in addition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_model.clients.scripts import script as scripts
from reference_model.clients.scripts.answer_bytes import answer_bytes
from reference_model.clients.scripts.script import (
    EMPTY,
    Answer,
    Script,
)
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT, SSL
from strategies.broker_scripts import (
    NEWEST_METADATA,
    REFUSAL_WITHOUT_RANGE,
    broker_up_to,
    brokers_before_named_ranges,
    brokers_of_the_future,
    brokers_that_name_flexible_versions,
    brokers_that_name_their_range,
    brokers_with_metadata_ranges,
    brokers_with_odd_ranges,
    brokers_with_older_apis,
    brokers_with_useless_ranges,
    brokers_without_overlap,
    descending_refusals,
    flexible_brokers,
    listed_versions,
    range_of_metadata,
    refusal,
    tables_in_every_refusal,
    tables_in_refusals,
)
from strategies.cluster_scripts import (
    brokers_of_releases,
    brokers_that_change,
    brokers_that_close,
    brokers_that_demand_rebootstrapping,
    brokers_up_to_any_version,
    brokers_whose_versions_change,
    changed_versions,
    changing_broker,
    cluster_with_an_old_node,
    clusters_with_an_old_node,
    clusters_without_the_check,
    connection_of,
    healthy_clusters,
    misrouted_clusters,
    replaced_cluster,
    swapped_nodes,
    two_old_nodes,
)
from strategies.newer_broker_scripts import (
    brokers_with_other_apis,
    brokers_without_old_features,
    next_releases,
)
from strategies.nonsense_scripts import (
    DAYS_MS,
    DUPLICATE_TAG,
    RECOVERY_MS,
    brokers_before_api_versions,
    brokers_that_heal,
    brokers_that_talk_nonsense,
    foreign_table,
    foreign_tables,
    healing_after_a_huge_frame,
    nonsense_answers,
    swapping_broker,
    table_with_error,
    tables_with_errors,
)
from strategies.refused_name_scripts import (
    REFUSED_NAME,
    brokers_that_refuse_names,
    brokers_that_refuse_names_again_and_again,
    refused_again_and_again,
)
from strategies.removal_scripts import brokers_with_maximums, brokers_with_minimums
from strategies.secured_scripts import (
    broker_that_refuses_login,
    broker_with_sasl_ranges,
    brokers_that_refuse_login,
    brokers_with_sasl_ranges,
    sasl_broker_that_refuses_names,
    sasl_brokers_that_name_their_range,
    sasl_brokers_that_refuse_names,
    sasl_brokers_that_talk_nonsense,
    second_answer,
    second_version_refused,
    second_versions_refused,
    secured,
    secured_brokers_that_demand_rebootstrapping,
    secured_rebootstrapping,
    tls_brokers_that_name_their_range,
    tls_brokers_that_refuse_names,
    tls_brokers_that_talk_nonsense,
)
from strategies.slow_broker_scripts import (
    brokers_that_fail_for_long,
    late_tables,
    slow_brokers,
    throttling_brokers,
)
from tests.strategies.search import find_any, unmet
from wire.api_keys import METADATA_KEY
from wire.api_versions import NEWEST_VERSION

STRATEGIES = (
    brokers_that_name_their_range,
    brokers_before_named_ranges,
    brokers_with_useless_ranges,
    brokers_with_odd_ranges,
    tables_in_every_refusal,
    tables_in_refusals,
    flexible_brokers,
    brokers_with_metadata_ranges,
    brokers_with_older_apis,
    brokers_that_name_flexible_versions,
    brokers_up_to_any_version,
    brokers_without_overlap,
    brokers_of_the_future,
    brokers_that_change,
    brokers_that_close,
    brokers_that_refuse_names,
    brokers_that_talk_nonsense,
    brokers_that_heal,
    brokers_before_api_versions,
    slow_brokers,
    throttling_brokers,
    brokers_whose_versions_change,
    healthy_clusters,
    clusters_without_the_check,
    misrouted_clusters,
    brokers_that_demand_rebootstrapping,
    tables_with_errors,
    foreign_tables,
    clusters_with_an_old_node,
    brokers_with_other_apis,
    brokers_without_old_features,
    brokers_with_minimums,
    brokers_with_maximums,
    next_releases,
    brokers_that_fail_for_long,
    late_tables,
)
EVERY_SCRIPT = st.one_of([strategy() for strategy in STRATEGIES])
EVERY_SECURED_SCRIPT = st.one_of(
    sasl_brokers_that_name_their_range(),
    sasl_brokers_that_refuse_names(),
    sasl_brokers_that_talk_nonsense(),
    tls_brokers_that_talk_nonsense(),
    secured_brokers_that_demand_rebootstrapping(SSL),
    brokers_that_close().map(secured),
    brokers_with_sasl_ranges(),
    second_versions_refused(),
    tls_brokers_that_name_their_range(),
    tls_brokers_that_refuse_names(),
    brokers_of_releases(SASL_PLAINTEXT),
)


@given(script=EVERY_SCRIPT, secured_script=EVERY_SECURED_SCRIPT)
def test_script_is_read_back(script: Script, secured_script: Script) -> None:
    """The text of a script evaluates to the script, and equal scripts have one hash: a run stores and finds them so."""
    assert secured_script.listener != PLAINTEXT
    for each in (script, secured_script):
        again = eval(repr(each), vars(scripts))
        assert again == each
        assert hash(again) == hash(each)


@given(script=EVERY_SCRIPT, version=st.integers(0, NEWEST_VERSION))
def test_every_answer_can_be_written(script: Script, version: int) -> None:
    """No answer has a value that does not fit its field in any version."""
    for answer in script.answers:
        if answer.action == "answer":
            answer_bytes(answer, api_version=version, correlation_id=7)


@given(script=EVERY_SCRIPT)
def test_no_script_takes_too_long(script: Script) -> None:
    """A client has at most ten seconds, and so much only if it may end earlier."""
    assert script.timeout_ms <= RECOVERY_MS
    may_keep_asking = script.ends_after is not None or script.heals_after_ms is not None
    assert script.keeps_asking is may_keep_asking


@given(script=brokers_that_heal())
def test_broker_that_heals_lets_no_client_wait(script: Script) -> None:
    """Until it heals, a broker leaves no connection open: a client may rightly wait there, or keep the table."""
    (connection,) = script.nodes[0].connections
    for answer in connection.answers:
        assert answer.throttle_time_ms < DAYS_MS
        closes = answer.action in ("close", "reset") or answer.then != "stay"
        assert closes or connection.on_open == "close"


def refusals(script: Script) -> list[Answer]:
    """Return what versions get that the brokers of a script do not support."""
    return [
        connection.refusal for node in script.nodes for connection in node.connections if connection.refusal is not None
    ]


def first(script: Script) -> Answer:
    """Return the first answer of a script."""
    return next(iter(script.answers))


@pytest.mark.parametrize(
    ("strategy", "extreme"),
    [
        (brokers_that_name_their_range, lambda s: s == broker_up_to(2)),
        (brokers_that_name_their_range, lambda s: s == broker_up_to(4)),
        (brokers_that_name_flexible_versions, lambda s: s == broker_up_to(4)),
        (brokers_up_to_any_version, lambda s: s == two_old_nodes(5)),
        (brokers_with_older_apis, lambda s: range_of_metadata(s) == (3, 9)),
        (brokers_with_older_apis, lambda s: first(s).table.ranges_of(60) == ((0, 1),)),
        (brokers_before_named_ranges, lambda s: refusals(s)[0].delay_ms > 50),
        (brokers_with_useless_ranges, lambda s: REFUSAL_WITHOUT_RANGE in refusals(s)),
        (brokers_with_useless_ranges, lambda s: refusal((-32768, -1)) in refusals(s)),
        (brokers_with_useless_ranges, lambda s: refusal((6, 9)) in refusals(s)),
        (brokers_with_useless_ranges, lambda s: refusal((3, 2)) in refusals(s)),
        (brokers_with_odd_ranges, lambda s: refusal((0, 5)) in refusals(s)),
        (brokers_with_odd_ranges, lambda s: refusal((0, 2), (0, 2)) in refusals(s)),
        (brokers_with_odd_ranges, lambda s: s == descending_refusals(NEWEST_VERSION)),
        (tables_in_every_refusal, lambda s: listed_versions(s) == "v1 to v12"),
        (tables_in_refusals, lambda s: refusals(s)[0].table.base == "healthy"),
        (flexible_brokers, lambda s: first(s).pieces == 5 and first(s).delay_ms > 50),
        (brokers_with_metadata_ranges, lambda s: range_of_metadata(s) == (0, NEWEST_METADATA)),
        (
            brokers_with_metadata_ranges,
            lambda s: range_of_metadata(s) == (NEWEST_METADATA, NEWEST_METADATA),
        ),
        (brokers_without_overlap, lambda s: listed_versions(s) == "no version of it"),
        (brokers_without_overlap, lambda s: listed_versions(s) == "v-3 to v-1"),
        (brokers_without_overlap, lambda s: listed_versions(s) == "v60 to v1000"),
        (brokers_without_overlap, lambda s: listed_versions(s) == "v7 to v6"),
        (brokers_that_change, lambda s: len(s.nodes) == 2),
        (brokers_that_change, lambda s: s == changed_versions(NEWEST_VERSION, 1)),
        (brokers_that_change, lambda s: s == changing_broker(connection_of("0.10.0.1"))),
        (brokers_that_refuse_names, lambda s: first(s).throttle_time_ms == 100),
        (brokers_that_refuse_names_again_and_again, lambda s: s == refused_again_and_again()),
        (brokers_that_refuse_login, lambda s: s == broker_that_refuses_login("close", (0, 0))),
        (
            brokers_of_the_future,
            lambda s: any(key > 255 and key & 255 == METADATA_KEY for key, *_ in first(s).table.entries),
        ),
        (brokers_that_talk_nonsense, lambda s: s.nodes[0].connections[0].unasked is not None),
        (flexible_brokers, lambda s: first(s).delay_ms > 400),
        (brokers_before_api_versions, lambda s: first(s).held_back),
        (brokers_before_api_versions, lambda s: s == swapping_broker()),
        (brokers_whose_versions_change, lambda s: s == changed_versions(4, 2)),
        (brokers_whose_versions_change, lambda s: s == changed_versions(2, 4)),
        (brokers_that_change, lambda s: s == changed_versions(2, 5)),
        (brokers_before_api_versions, lambda s: first(s).action == "silence"),
        (brokers_before_api_versions, lambda s: first(s).action == "reset"),
        (brokers_before_api_versions, lambda s: s.nodes[0].connections[0].on_open == "silence"),
        (brokers_before_api_versions, lambda s: s.nodes[0].connections[0].newest_version == 2),
        (brokers_that_heal, lambda s: first(s).action == "reset"),
        (brokers_that_heal, lambda s: first(s) == Answer(then="reset")),
        (brokers_that_heal, lambda s: s.nodes[0].connections[0].on_open == "close"),
        (healthy_clusters, lambda s: len(s.nodes) == 3),
        (
            partial(healthy_clusters, "without_rebootstrap"),
            lambda s: s.nodes[0].connections[0].newest_version == 1,
        ),
        (healthy_clusters, lambda s: len(s.nodes[0].connections[0].cluster_id) == 1),
        (clusters_without_the_check, lambda s: s.nodes[0].connections[0].newest_version == 4),
        (misrouted_clusters, lambda s: s == swapped_nodes(3)),
        (misrouted_clusters, lambda s: s == replaced_cluster(3)),
        (brokers_that_demand_rebootstrapping, lambda s: first(s).throttle_time_ms > 0),
        (sasl_brokers_that_refuse_names, lambda s: s == second_answer(REFUSED_NAME)),
        (second_versions_refused, lambda s: s == second_version_refused(4)),
        (tls_brokers_that_refuse_names, lambda s: s == second_answer(REFUSED_NAME, SSL)),
        (brokers_with_sasl_ranges, lambda s: s == broker_with_sasl_ranges(None, (3, 9))),
        (sasl_brokers_that_name_their_range, lambda s: s == secured(broker_up_to(4))),
        (
            sasl_brokers_that_refuse_names,
            lambda s: s == sasl_broker_that_refuses_names(from_version=0),
        ),
        (
            sasl_brokers_that_talk_nonsense,
            lambda s: s.nodes[0].connections[0].answers[0] == Answer(),
        ),
        (sasl_brokers_that_talk_nonsense, lambda s: len(s.nodes[0].connections[0].answers) == 1),
        (
            partial(secured_brokers_that_demand_rebootstrapping, SASL_PLAINTEXT),
            lambda s: s == secured_rebootstrapping(SASL_PLAINTEXT, pieces=3),
        ),
        (tables_with_errors, lambda s: s == table_with_error(-1, 8)),
        (tables_with_errors, lambda s: s == table_with_error(1000)),
        (foreign_tables, lambda s: s == foreign_table(-1)),
        (foreign_tables, lambda s: s == foreign_table(2**31 - 1, 6)),
        (clusters_with_an_old_node, lambda s: s == cluster_with_an_old_node(2)),
    ],
)
def test_extreme_is_drawn(strategy: Callable[[], st.SearchStrategy[Script]], extreme: Callable[[Script], bool]) -> None:
    """The rare scripts of each kind are drawn."""
    assert find_any(strategy(), extreme)


@pytest.mark.slow
def test_extremes_of_the_future_are_drawn() -> None:
    """Among the same scripts, which are the largest ones."""
    extremes: Sequence[Callable[[Script], object]] = (
        lambda s: len(first(s).table.after) >= 20,
        lambda s: any(key >= 10_000 for key, _, _ in first(s).table.before),
        lambda s: any(key < 0 for key, _, _ in first(s).table.changed),
        lambda s: any(tag >= 2**28 for tag, _ in first(s).unknown_tags),
        lambda s: any(len(data) > 127 for _, data in first(s).unknown_tags),
        lambda s: first(s).finalized_features_epoch > 2**32,
    )
    assert not unmet(brokers_of_the_future(), dict(enumerate(extremes)))


KINDS_OF_NONSENSE: Sequence[Callable[[Answer], object]] = (
    lambda answer: answer.table.null,
    lambda answer: answer.table.claimed_count == 2**31 - 1,
    lambda answer: answer.cut_to == 0,
    lambda answer: answer.cut_to == 2 and answer.error_code == 35,
    lambda answer: answer.layout == 0 and answer.error_code == 0,
    lambda answer: answer.layout == 3 and answer.error_code == 35,
    lambda answer: answer.table == EMPTY and answer.error_code == 0,
    lambda answer: answer.body == b"",
    lambda answer: len(answer.trailing) > 20,
    lambda answer: answer.table.descending,
    lambda answer: any(low > high for _, low, high in answer.table.entries),
    lambda answer: any(high < 0 for _, _, high in answer.table.entries),
    lambda answer: len(answer.table.ranges_of(3)) > 1,
    lambda answer: answer.flexible_header,
    lambda answer: answer.correlation_shift == -1,
    lambda answer: answer.claimed_size is not None and answer.claimed_size < 0,
    lambda answer: answer.claimed_size is not None and answer.claimed_size >= 100_000_000,
    lambda answer: answer.claimed_size is not None and answer.then == "reset",
    lambda answer: answer.claimed_size == -1 and answer.then == "stay",
    lambda answer: answer.claimed_size == 0 and answer.then == "stay",
    lambda answer: answer.claimed_size == 2 and answer.then == "close",
    lambda answer: answer.claimed_size == 3 and answer.then == "stay",
    # Each single code is drawn about twice in 2,000 answers, so one may be missed by chance.
    lambda answer: answer.error_code < 0,
    lambda answer: 100 < answer.error_code < 137,
    lambda answer: answer.error_code > 136,
    lambda answer: answer.throttle_time_ms == -(2**31),
    lambda answer: answer.throttle_time_ms == 2**31 - 1,
    lambda answer: answer.tag_section == DUPLICATE_TAG,
    lambda answer: answer.tag_section == b"",
    lambda answer: answer.tag_section is not None and len(answer.tag_section) == 10,
    lambda answer: answer.table.claimed_count == -2,
    lambda answer: answer.table.claimed_count == -(2**31),
    lambda answer: len(answer.table.count_bytes or b"") == 6,
    lambda answer: answer.copies == 3 and answer.error_code == 35,
)


def test_nonsense_of_every_kind_is_drawn() -> None:
    """Every way in which a response makes no sense is drawn; those that are not are named by their place."""
    assert not unmet(nonsense_answers(), dict(enumerate(KINDS_OF_NONSENSE)))


def test_huge_frame_is_begun_before_the_end() -> None:
    """The connection is closed only when a client has had time to make room for the frame."""
    (answer,) = healing_after_a_huge_frame().answers
    assert (answer.claimed_size, answer.then) == (2**31 - 1, "close")
    assert answer.pieces > 1
    assert answer.delay_ms > 0
