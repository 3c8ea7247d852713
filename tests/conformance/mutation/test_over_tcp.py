"""Tests of the part of the mutation score that needs sockets.

They check which runs it makes, how they are read, and how examples to the kill are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clauses.tiers import Tier
from conformance.mutation import over_tcp
from conformance.mutation.over_tcp import (
    SAMPLE,
    Catch,
    Run,
    count_on_brokers,
    counted_kills,
    judge,
    planned_runs,
)
from conformance.mutation.properties import all_properties
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.profile import REFERENCE
from tests.run_folders import example_row, planned_cell, run_header, write_run

TLS_DEFECT = "tls-listeners-serve-without-tls"
TLS_CLAUSE = "KIP-35.nothing-before-tls"
TLS_PROPERTY = "test_nothing_is_answered_before_tls"


def test_every_defect_meets_every_property_that_needs_sockets() -> None:
    """Each defect is in one run, and each run has all properties that cannot judge in memory."""
    runs = planned_runs(tuple(DEFECTS))
    assert sorted(name for run in runs for name in run.defects) == sorted(DEFECTS)
    assert all(TLS_PROPERTY in run.properties for run in runs)


def test_quick_measurement_leaves_out_bystanders_alone() -> None:
    """Each defect of a clause that needs sockets is judged all the same, and a share of the others; the sample by
    pinned examples."""
    everything, quick = planned_runs(tuple(DEFECTS)), planned_runs(tuple(DEFECTS), quick=True)
    sample, *others = [run for run in everything if run.tier is Tier.STANDARD]
    assert [run for run in quick if run.tier is Tier.STANDARD] == others
    assert quick[0] == replace(sample, tier=Tier.SMOKE)
    judged = {name for run in quick for name in run.defects}
    assert len(DEFECTS) / 10 < len(judged) < len(DEFECTS) / 3


def test_defects_of_socket_clauses_get_generated_examples() -> None:
    """Defects of clauses that need sockets, and the sample, run in the standard tier."""
    runs = planned_runs(tuple(DEFECTS))
    aimed_at = {name for run in runs if run.tier == "standard" for name in run.defects}
    assert {name for name, each in DEFECTS.items() if TLS_CLAUSE in each.breaks} <= aimed_at
    whole = [run for run in runs if set(run.properties) == set(all_properties())]
    assert sum(len(run.defects) for run in whole) == SAMPLE


def test_runs_are_judged_by_their_records(tmp_path: Path) -> None:
    """A run against a broker that skips TLS violates that clause, and names the property; what conforms or is shrunk
    is no catch."""
    target = f"{REFERENCE}+{TLS_DEFECT}"
    header = run_header([planned_cell(TLS_CLAUSE, target)])
    failed = {"verdict": "violates", "failure_signature": "0" * 16}
    rows = [
        example_row(header, 1, property="test_that_holds"),
        example_row(header, 2, property=TLS_PROPERTY, **failed),
        example_row(header, 3, property="test_that_shrinks", phase="shrink", **failed),
    ]
    write_run(tmp_path / "run", header, rows)
    run = Run(defects=(TLS_DEFECT,), properties=(TLS_PROPERTY,), tier=Tier.SMOKE)
    blames, catches = judge({run: tmp_path})
    assert [each.is_exact for each in blames] == [True]
    assert [(catch.clause, catch.defect, tuple(catch.properties)) for catch in catches] == [
        (TLS_CLAUSE, TLS_DEFECT, (TLS_PROPERTY,))
    ]


CLAUSE = "KIP-35.client-certificate-guards-table"
PROPERTY = "test_client_without_a_certificate_gets_no_table"
TO_ALL = "client-certificates-are-not-asked-for"
TO_SOME = "client-certificates-are-not-asked-for-in-a-crowd"


@pytest.mark.timeout(180)
def test_seeds_are_counted_one_by_one() -> None:
    """A defect in every answer takes one example, a rarer one takes more; pinned examples catch both."""
    seeds = range(1, 6)
    pinned, examples = count_on_brokers(PROPERTY, [TO_ALL, TO_SOME], seeds)
    assert pinned == {TO_ALL, TO_SOME}
    assert {examples[seed][TO_ALL] for seed in seeds} == {1}
    assert max(examples[seed][TO_SOME] or len(seeds) for seed in seeds) > 1
    assert count_on_brokers(PROPERTY, [TO_ALL], seeds, quick=True) == ({TO_ALL}, {})


def test_parts_of_the_seeds_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """More seeds than one set of brokers is used for are counted in parts; what nothing caught survives every seed."""
    parts: list[Sequence[int]] = []

    def count(
        _: str, __: Sequence[str], seeds: Sequence[int], quick: bool
    ) -> tuple[set[str], dict[int, dict[str, int]]]:
        parts.append(seeds)
        return {TO_ALL}, {seed: {TO_ALL: seed} for seed in seeds}

    def pool(jobs: int, **_: Any) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(over_tcp, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(over_tcp, "count_on_brokers", count)
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
