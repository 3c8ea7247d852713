"""Tests of scripts with responses of an unusual form, and of other protocols.

The scripts of unusual responses are those of healthy brokers. Each kind of script is drawn, and can be read back.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.failures.drawn_values import read_values
from reference_model.clients.scripts.script import Answer, Script
from strategies.broker_scripts import broker_up_to, flexible_versions
from strategies.nonsense_scripts import OTHER_PROTOCOLS, TLS_ALERT, brokers_that_talk_nonsense
from strategies.unusual_answers import (
    SINGLE_BYTES,
    brokers_that_split_responses,
    brokers_with_features_from_level_0,
    split_response,
)
from tests.strategies.search import find_any
from wire.frames import SIZE_BYTES

STRATEGIES = (flexible_versions, brokers_that_split_responses, brokers_with_features_from_level_0)


def first(script: Script) -> Answer:
    """Return the first answer on the first connection."""
    return script.nodes[0].connections[0].answers[0]


@pytest.mark.parametrize(
    ("strategy", "is_it"),
    [
        (flexible_versions, lambda s: s == broker_up_to(3)),
        (brokers_that_split_responses, lambda s: s == split_response(SINGLE_BYTES, newest=2)),
        (brokers_that_split_responses, lambda s: first(s).pieces == 2 and first(s).delay_ms > 400),
        (
            brokers_with_features_from_level_0,
            lambda s: first(s).supported_features == (("kraft.version", 0, 1),),
        ),
        (brokers_with_features_from_level_0, lambda s: len(first(s).finalized_features) > 3),
        (brokers_that_talk_nonsense, lambda s: first(s).raw == TLS_ALERT),
        (brokers_that_talk_nonsense, lambda s: first(s).appended == TLS_ALERT),
    ],
)
def test_extreme_is_drawn(strategy: Callable[[], st.SearchStrategy[Script]], is_it: Callable[[Script], bool]) -> None:
    """The rare scripts are among those that are drawn."""
    assert is_it(find_any(strategy(), is_it))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_script_can_be_read_back(strategy: Callable[[], st.SearchStrategy[Script]]) -> None:
    """The text with which a failure stores a script evaluates to the same script."""

    @given(script=strategy())
    def check(script: Script) -> None:
        assert read_values(repr({"script": script})) == {"script": script}

    check()


def test_sizes_of_other_protocols_are_huge() -> None:
    """The first bytes of a TLS alert announce 352,518,912 bytes; those of each other protocol no less than 100 MB."""
    sizes = [int.from_bytes(data[:SIZE_BYTES]) for data in OTHER_PROTOCOLS]
    assert sizes[0] == 352_518_912
    assert min(sizes) > 100_000_000
