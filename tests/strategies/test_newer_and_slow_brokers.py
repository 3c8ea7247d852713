"""Rare scripts of newer, slow or failing brokers are drawn.

The brokers are newer than the client, slow, or failing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from reference_model.clients.scripts.script import ERROR_AFTER_MS, Script
from strategies.newer_broker_scripts import (
    brokers_with_other_apis,
    brokers_without_old_features,
    changed_keys,
    next_release,
    next_releases,
    unknown_keys_of,
)
from strategies.refused_name_scripts import (
    brokers_that_refuse_names,
    name_refused_by_an_older_broker,
    refused_for_name,
)
from strategies.removal_scripts import brokers_with_maximums, brokers_with_minimums
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
from tests.strategies.search import find_any
from tests.strategies.test_scripts import first
from wire.api_keys import API_VERSIONS_KEY, JOIN_GROUP_KEY
from wire.api_versions import NEWEST_VERSION


@pytest.mark.parametrize(
    ("strategy", "extreme"),
    [
        (
            brokers_that_refuse_names,
            lambda s: s == name_refused_by_an_older_broker(NEWEST_VERSION),
        ),
        (slow_brokers, lambda s: s == slow_broker()),
        (slow_brokers, lambda s: first(s).pieces == 2 and first(s).delay_ms == 1300),
        (slow_brokers, lambda s: s == slow_broker(always=False)),
        (throttling_brokers, lambda s: s == throttling_broker(1)),
        (throttling_brokers, lambda s: s == throttling_broker(1000)),
        (late_tables, lambda s: s == late_table(0)),
        (late_tables, lambda s: s.keeps_asking),
        (brokers_that_fail_for_long, lambda s: len(s.nodes[0].connections) == 3),
        (brokers_that_fail_for_long, lambda s: s == failing_for_long(first_works=False)),
        (brokers_that_fail_for_long, lambda s: first(s).error_code != 0),
        (next_releases, lambda s: s == next_release(6, more=1)),
        (next_releases, lambda s: first(s).table.ranges_of(API_VERSIONS_KEY) == ((0, 32767),)),
        (brokers_without_old_features, lambda s: 0 in unknown_keys_of(s)),
        (brokers_with_minimums, lambda s: changed_keys(s) == {JOIN_GROUP_KEY}),
        (brokers_with_maximums, lambda s: len(changed_keys(s)) == 3),
        (brokers_with_other_apis, lambda s: unknown_keys_of(s) == {10}),
        (brokers_with_other_apis, lambda s: changed_keys(s) - unknown_keys_of(s)),
        (brokers_with_other_apis, lambda s: 60 in first(s).table.removed),
        (brokers_with_other_apis, lambda s: len(changed_keys(s)) == 4),
    ],
)
def test_rare_script_is_drawn(
    strategy: Callable[[], st.SearchStrategy[Script]], extreme: Callable[[Script], bool]
) -> None:
    """Each end of what a strategy varies is reached."""
    assert find_any(strategy(), extreme)


@pytest.mark.parametrize("script", [refused_for_name(), name_refused_by_an_older_broker()])
def test_what_follows_a_refused_name_is_a_reaction(script: Script) -> None:
    """A broker waits with INVALID_REQUEST: what a client sends after it was not on its way before."""
    assert first(script).delay_ms == ERROR_AFTER_MS
