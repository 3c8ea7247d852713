"""Examples to the kill for clauses that need sockets, counted per seed against running brokers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conformance.mutation import kills_over_tcp
from conformance.mutation.kills_over_tcp import Catch, Counted, count_on_brokers, counted_kills

CLAUSE = "KIP-35.client-certificate-guards-table"
PROPERTY = "test_client_without_a_certificate_gets_no_table"
TO_ALL = "client-certificates-are-not-asked-for"
TO_SOME = "client-certificates-are-not-asked-for-in-a-crowd"


@pytest.mark.timeout(180)
def test_seeds_are_counted_one_by_one() -> None:
    """A defect in every answer takes one example, a rarer one takes more; pinned examples catch both."""
    seeds = range(1, 6)
    counted = count_on_brokers(PROPERTY, [TO_ALL, TO_SOME], seeds)
    assert counted.pinned == {TO_ALL, TO_SOME}
    assert {counted.examples[seed][TO_ALL] for seed in seeds} == {1}
    assert max(counted.examples[seed][TO_SOME] or len(seeds) for seed in seeds) > 1
    quick = count_on_brokers(PROPERTY, [TO_ALL], seeds, quick=True)
    assert (quick.pinned, quick.examples) == ({TO_ALL}, {})


def test_parts_of_the_seeds_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """More seeds than one set of brokers is used for are counted in parts; what nothing caught survives every seed."""
    parts: list[Sequence[int]] = []

    def count(_: str, __: Sequence[str], seeds: Sequence[int], quick: bool) -> Counted:
        parts.append(seeds)
        return Counted(pinned={TO_ALL}, examples={seed: {TO_ALL: seed} for seed in seeds})

    def pool(jobs: int, **_: Any) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(kills_over_tcp, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(kills_over_tcp, "count_on_brokers", count)
    caught, missed = counted_kills(
        [
            Catch(clause=CLAUSE, defect=TO_ALL, properties=[PROPERTY]),
            Catch(clause=CLAUSE, defect=TO_SOME, properties=()),
        ],
        seeds=7,
        jobs=1,
    )
    assert parts == [range(1, 6), range(6, 8)]
    assert caught.examples == tuple(range(1, 8))
    assert (caught.pinned, caught.cap) == (True, 10)
    assert (missed.survived, missed.is_certain) == (7, False)
