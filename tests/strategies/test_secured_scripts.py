"""Scripts with SASL and TLS: the steps of SASL come on top, and the rare ones are drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_model.clients.scripts import script as scripts
from reference_model.clients.scripts.script import Answer, Script
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT, SSL
from strategies.broker_scripts import broker_up_to
from strategies.connection_scripts import brokers_that_close, closing_broker
from strategies.release_scripts import brokers_of_releases
from strategies.secured_scripts import (
    REFUSED_NAME,
    broker_with_sasl_ranges,
    brokers_with_sasl_ranges,
    lists_steps,
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
from tests.strategies.search import find_any
from wire.api_keys import API_VERSIONS_KEY

EVERY_SCRIPT = st.one_of(
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


@given(script=EVERY_SCRIPT)
def test_script_is_read_back(script: Script) -> None:
    """Each script has a listener with security, and its text evaluates to it."""
    assert script.listener != PLAINTEXT
    assert eval(repr(script), vars(scripts)) == script


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
    """Both requests are listed in the client's versions; a bare token has none."""
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


@pytest.mark.parametrize(
    ("strategy", "extreme"),
    [
        (sasl_brokers_that_refuse_names(), lambda s: s == second_answer(REFUSED_NAME)),
        (second_versions_refused(), lambda s: s == second_version_refused(4)),
        (tls_brokers_that_refuse_names(), lambda s: s == second_answer(REFUSED_NAME, SSL)),
        (brokers_with_sasl_ranges(), lambda s: s == broker_with_sasl_ranges(None, (3, 9))),
        (sasl_brokers_that_name_their_range(), lambda s: s == secured(broker_up_to(4))),
        (
            sasl_brokers_that_refuse_names(),
            lambda s: s == sasl_broker_that_refuses_names(from_version=0),
        ),
        (
            sasl_brokers_that_talk_nonsense(),
            lambda s: s.nodes[0].connections[0].answers[0] == Answer(),
        ),
        (sasl_brokers_that_talk_nonsense(), lambda s: len(s.nodes[0].connections[0].answers) == 1),
        (
            secured_brokers_that_demand_rebootstrapping(SASL_PLAINTEXT),
            lambda s: s == secured_rebootstrapping(SASL_PLAINTEXT, pieces=3),
        ),
    ],
)
def test_extreme_is_drawn(
    strategy: st.SearchStrategy[Script], extreme: Callable[[Script], bool]
) -> None:
    """The rare scripts are drawn."""
    assert find_any(strategy, extreme)
