"""The words in which properties of clients are written.

A property module imports all of them, and nothing else but the standard library, pytest and Hypothesis.
"""

from __future__ import annotations

# What is asserted, and how it is judged
from conformance.assertions.client_moves import (
    assert_allowed,
    assert_begins_with_newest,
    assert_bounded,
    assert_ends_by_itself,
    assert_forgets_refusals,
    assert_gives_no_ids,
    assert_knows_what_it_asks,
    assert_memory_stays_small,
    assert_names_software,
    assert_names_version,
    assert_newest_metadata,
    assert_no_connection_is_lost,
    assert_refused_name_is_an_error,
    assert_reports_error,
    assert_sends_none_of,
    assert_sends_what_is_listed,
    assert_waits_for_tls,
    assert_works,
    flexible_tables,
    misrouted_at_ms,
    newest_api_versions,
    newest_metadata,
    outcome_of,
    played,
    sasl_steps,
)
from conformance.assertions.client_success import (
    assert_every_success_is_earned,
    assert_keeps_working,
    assert_pauses,
    assert_recovers,
    assert_recovers_if_asked_again,
    assert_success_is_earned,
    assert_table_is_not_used,
    assert_uses_late_table,
    assert_uses_later_connections,
    assert_works_or_says_why,
)
from conformance.assertions.newest_versions import (
    assert_as_new_as_usual,
    assert_newest_common_versions,
    newest_versions,
)
from conformance.assertions.transactions import assert_commits, assert_uses_transaction_v2, unjudged_without_commit

# What is judged
from fixtures.client_processes.driver_output import OK
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest

# What is allowed
from reference_model.clients.rules.transaction_versions import TRANSACTION_VERSION
from reference_model.clients.scripts.named_scripts import LONG_PAUSE_MS
from reference_model.clients.scripts.script import (
    EMPTY,
    HEALTHY,
    HEALTHY_SCRIPT,
    ITSELF,
    Answer,
    Script,
    Table,
    one_node,
)
from reference_model.profiles.listeners import SASL_PLAINTEXT, SSL

# What is drawn
from strategies.broker_scripts import (
    FAILURE_MS,
    REFUSAL_WITHOUT_RANGE,
    SUCCESS_MS,
    always_answering,
    broker_that_refuses_what_it_named,
    broker_up_to,
    broker_with,
    broker_with_older_apis,
    broker_with_twins,
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
    flexible_versions,
    metadata_ranges,
    range_of_metadata,
    refusal,
    refusal_with_metadata,
    table_in_every_refusal,
    tables_in_every_refusal,
    tables_in_refusals,
)
from strategies.cluster_scripts import (
    METADATA_DEMANDS_REBOOTSTRAP,
    SILENT,
    UNUSABLE,
    UNUSED_KEYS,
    broker_of,
    broker_without,
    brokers_of_releases,
    brokers_that_change,
    brokers_that_close,
    brokers_that_demand_rebootstrapping,
    brokers_up_to_any_version,
    brokers_whose_versions_change,
    brokers_without_unused_features,
    changed_versions,
    changing_broker,
    closing_broker,
    cluster_of,
    cluster_with_an_old_node,
    clusters_of_two_releases,
    clusters_with_an_old_node,
    clusters_without_the_check,
    connection_of,
    healthy_cluster,
    healthy_clusters,
    load_balanced_cluster,
    load_balanced_clusters,
    lower_brokers,
    misrouted_clusters,
    reasons_to_rebootstrap,
    rebootstrapping,
    replaced_cluster,
    swapped_nodes,
    two_nodes_with,
    two_old_nodes,
    with_table,
)
from strategies.newer_broker_scripts import (
    OTHER_BEGINNING_KEYS,
    broker_with_other_apis,
    broker_with_raised,
    brokers_with_other_apis,
    brokers_without_old_features,
    changed_keys,
    next_release,
    next_releases,
    raised,
    unknown_keys_of,
)
from strategies.nonsense_scripts import (
    ABSURD_SIZE,
    DUPLICATE_TAG,
    ENDLESS_COUNT,
    HUGE_FEATURE_COUNT,
    TLS_ALERT,
    UNUSABLE_TABLES,
    brokers_before_api_versions,
    brokers_that_heal,
    brokers_that_talk_nonsense,
    foreign_table,
    foreign_tables,
    healing,
    healing_after_a_huge_frame,
    swapping_broker,
    table_with_error,
    tables_with_errors,
    unasked_response,
    without_answer,
)
from strategies.refused_name_scripts import (
    REFUSED_NAME,
    brokers_that_refuse_names,
    brokers_that_refuse_names_again_and_again,
    name_refused_by_an_older_broker,
    refused_again_and_again,
    refused_for_name,
)
from strategies.removal_scripts import (
    broker_a_version_behind,
    broker_with_maximums,
    broker_with_minimums,
    broker_with_minimums_of,
    brokers_with_maximums,
    brokers_with_minimums,
)
from strategies.secured_scripts import (
    LOST_WITH_TLS,
    SEVERAL_WITH_TLS,
    WITH_TLS,
    broker_that_refuses_login,
    broker_with_sasl_ranges,
    brokers_that_refuse_login,
    brokers_with_sasl_ranges,
    healthy_brokers_with_tls,
    lists_steps,
    sasl_broker_that_refuses_names,
    sasl_brokers_that_name_their_range,
    sasl_brokers_that_refuse_names,
    sasl_brokers_that_talk_nonsense,
    sasl_nonsense,
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
    failing_for_long,
    late_table,
    late_tables,
    slow_broker,
    slow_brokers,
    throttling_broker,
    throttling_brokers,
)
from strategies.transaction_scripts import (
    AT_LEVEL_1,
    AT_LEVEL_2,
    LOOK_ALIKES,
    WITHOUT_FEATURES,
    at_level,
    at_level_0,
    changed_level,
    clusters_below_level_2,
    clusters_that_change_a_level,
    clusters_with_an_older_epoch,
    clusters_with_transaction_v2,
    clusters_with_unknown_features,
    clusters_without_an_epoch,
    finalized,
    invalid_epoch,
    level_outside,
    levels_twice,
    nonsensical_features,
    only_supported,
    transactions_along,
    transactions_with,
)
from strategies.unusual_answers import (
    FEATURES_FROM_0,
    SINGLE_BYTES,
    brokers_that_split_responses,
    brokers_with_features_from_level_0,
    features_from_level_0,
    split_response,
)

# Kafka's protocol
from wire.api_keys import (
    DESCRIBE_CLUSTER_KEY,
    FETCH_KEY,
    FIND_COORDINATOR_KEY,
    JOIN_GROUP_KEY,
    LIST_OFFSETS_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
)
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION
