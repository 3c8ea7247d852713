"""Trials in memory: which property catches which defect, and after how many examples."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.mutation.properties import all_properties
from conformance.mutation.subjects import (
    SUBJECTS,
    broker_with,
    listeners_in_memory,
    reference_broker,
)
from conformance.mutation.tried_faults import blame, caught_by_pinned, examples_to_kill
from fixtures.errors import ConnectionFailed, HarnessError
from fixtures.under_test.broker import Broker
from reference_model.profiles.profile import REFERENCE

SIGN = "negative-correlation-ids-lose-their-sign"
OTHER = "v1-lists-one-key-less"
PROPERTY = "test_correlation_id_comes_back"


def test_blame_names_who_is_caught() -> None:
    """A property catches its clause's defect, but not another defect or the plain reference."""
    plain, sign, other = blame(SUBJECTS[REFERENCE], PROPERTY, ("", SIGN, OTHER), 30)
    assert not plain.caught
    assert not other.caught
    assert sign.pinned
    assert sign.generated is None, "what a pinned example catches needs no other"
    assert {each.problem for each in (plain, sign, other)} == {""}


def test_examples_to_a_kill_are_counted_by_seed() -> None:
    """The same seed kills at the same example; a defect of another clause survives the budget."""
    first = examples_to_kill(SUBJECTS[REFERENCE], PROPERTY, (SIGN, OTHER), 3)
    assert first == examples_to_kill(SUBJECTS[REFERENCE], PROPERTY, (SIGN, OTHER), 3)
    assert first[SIGN] is not None
    assert first[OTHER] is None


class _Unreachable:
    def sibling(self, listener: str) -> Broker:
        raise ConnectionFailed(f"{listener}: no listener")


def test_a_defect_that_cannot_be_judged_has_not_survived() -> None:
    """An unreachable broker ends the count, and the message names its defect."""

    def brokers(defect: str) -> Broker:
        return cast("Broker", _Unreachable()) if defect == SIGN else broker_with(defect)

    words = f"{PROPERTY} could not judge .*: with {SIGN} ConnectionFailed: plaintext: no listener"
    with pytest.raises(HarnessError, match=words):
        examples_to_kill(reference_broker(brokers), PROPERTY, (SIGN, OTHER), 3)
    with pytest.raises(HarnessError, match=words):
        caught_by_pinned(reference_broker(brokers), PROPERTY, (SIGN, OTHER))


@pytest.mark.parametrize(
    ("name", "listeners"),
    [
        (PROPERTY, ("plaintext", "sasl_plaintext", "controller")),
        ("test_table_is_served_before_authentication", ("sasl_plaintext",)),
        ("test_nothing_is_answered_before_tls", ()),
        ("test_open_connections_are_counted_by_software", ()),
    ],
)
def test_listeners_are_those_without_tls(name: str, listeners: tuple[str, ...]) -> None:
    """A property runs in memory on its listeners without TLS, unless it needs a separate process."""
    assert listeners_in_memory(all_properties()[name]) == listeners
