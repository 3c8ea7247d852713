"""Scripts with tables that are not the broker's: each is read back, and the rare ones are drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_model.clients.scripts import script as scripts
from reference_model.clients.scripts.script import Script
from strategies.broker_scripts import range_of_metadata
from strategies.release_scripts import cluster_with_an_old_node, clusters_with_an_old_node
from strategies.untrusted_tables import (
    NEWEST_LISTED,
    foreign_table,
    foreign_tables,
    table_with_error,
    tables_with_errors,
)
from tests.strategies.search import find_any
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION


@given(script=tables_with_errors() | foreign_tables())
def test_table_lists_two_versions_of_metadata(script: Script) -> None:
    """Each table is of a response that does not count, lists two versions of Metadata, and its text evaluates to it."""
    (answer,) = script.answers
    low, high = range_of_metadata(script)
    assert high == low + 1
    assert high in NEWEST_LISTED
    assert bool(answer.error_code) != bool(answer.correlation_shift)
    assert answer.error_code not in (35, 42, 129)
    assert eval(repr(script), vars(scripts)) == script


@given(script=clusters_with_an_old_node())
def test_old_node_is_the_bootstrap_server(script: Script) -> None:
    """The first node has no version with a name, the second one all, and the text evaluates to the script."""
    first, second = (node.connections[0].newest_version for node in script.nodes)
    assert first < FIRST_FLEXIBLE_VERSION
    assert second == NEWEST_VERSION
    assert eval(repr(script), vars(scripts)) == script


@pytest.mark.parametrize(
    ("strategy", "extreme"),
    [
        (tables_with_errors(), lambda s: s == table_with_error(-1, 8)),
        (tables_with_errors(), lambda s: s == table_with_error(1000)),
        (foreign_tables(), lambda s: s == foreign_table(-1)),
        (foreign_tables(), lambda s: s == foreign_table(2**31 - 1, 6)),
        (clusters_with_an_old_node(), lambda s: s == cluster_with_an_old_node(2)),
    ],
)
def test_extreme_is_drawn(
    strategy: st.SearchStrategy[Script], extreme: Callable[[Script], bool]
) -> None:
    """The rare scripts are drawn."""
    assert find_any(strategy, extreme)
