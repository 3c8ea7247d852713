"""Examples to the kill for clauses that need sockets, counted per seed against running brokers."""

from __future__ import annotations

import pytest

from conformance.mutation.kills_over_tcp import Catch, counted_kills

CLAUSE = "KIP-35.client-certificate-guards-table"
PROPERTY = "test_client_without_a_certificate_gets_no_table"
TO_ALL = "client-certificates-are-not-asked-for"
TO_SOME = "client-certificates-are-not-asked-for-in-a-crowd"
SEEDS = 7
"""More seeds than one set of brokers is used for."""


@pytest.mark.timeout(180)
def test_seeds_are_counted_one_by_one() -> None:
    """A defect in every answer takes one example, a rarer one takes more; pinned examples catch both."""
    catches = [
        Catch(clause=CLAUSE, defect=name, properties=[PROPERTY]) for name in (TO_ALL, TO_SOME)
    ]
    to_all, to_some = counted_kills(catches, seeds=SEEDS, jobs=1)
    assert to_all.examples == (1,) * SEEDS
    assert len(to_some.examples) == SEEDS
    assert max(each or SEEDS for each in to_some.examples) > 1
    assert to_all.pinned
    assert to_some.pinned
    assert {to_all.cap, to_some.cap} == {10}


def test_what_nothing_caught_survives_every_seed() -> None:
    """No broker is started for a defect that the suite missed; it survives every seed."""
    (kill,) = counted_kills(
        [Catch(clause=CLAUSE, defect=TO_ALL, properties=())], seeds=SEEDS, jobs=1
    )
    assert kill.survived == SEEDS
    assert not kill.is_certain


@pytest.mark.timeout(180)
def test_property_that_cannot_see_the_defect_survives() -> None:
    """A property of another clause uses all its examples and catches nothing."""
    blind = "test_nothing_is_answered_before_tls"
    catch = Catch(clause=CLAUSE, defect=TO_ALL, properties=[blind])
    (kill,) = counted_kills([catch], seeds=1, jobs=1)
    assert kill.examples == (None,)
    assert not kill.pinned
