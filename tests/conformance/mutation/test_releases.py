"""Planted defects between two releases: `changes` reports them as not predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clauses.catalogue import catalogue
from conformance.mutation.in_memory import InMemoryResult
from conformance.mutation.releases import CLAUSE, measure
from conformance.mutation.score import Score
from reference_model.faults.broker import DEFECTS

PLANTED = [name for name, defect in DEFECTS.items() if CLAUSE in defect.breaks]
OTHER = "tags-descend"


@pytest.fixture(scope="module")
def measured() -> InMemoryResult:
    """All planted defects of the clause, and one of another clause."""
    return measure([*PLANTED, OTHER])


def test_healthy_releases_differ_only_as_predicted(measured: InMemoryResult) -> None:
    """Without a defect no difference between the two releases is a surprise."""
    assert measured.reference.is_exact
    assert not measured.reference.violated


def test_a_planted_difference_is_not_predicted(measured: InMemoryResult) -> None:
    """Each defect of the clause is caught; a defect of another clause is not judged."""
    assert [blame.defect for blame in measured.blames] == PLANTED
    assert all(blame.is_exact and blame.violated == {CLAUSE} for blame in measured.blames)


def test_the_score_counts_planted_differences(measured: InMemoryResult) -> None:
    """A kill is certain if a stored input shows the difference, whatever is drawn."""
    assert [(kill.clause, kill.defect) for kill in measured.kills] == [
        (CLAUSE, name) for name in PLANTED
    ]
    assert all(kill.is_certain and kill.pinned for kill in measured.kills)


def test_a_difference_that_is_not_seen_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of the clause that `changes` does not report has survived."""
    monkeypatch.setitem(DEFECTS, OTHER, replace(DEFECTS[OTHER], breaks=(CLAUSE,)))
    unseen = measure([OTHER])
    score = Score(
        clauses=[catalogue()[CLAUSE]],
        reference=unseen.reference,
        kills=unseen.kills,
        blames=unseen.blames,
        seeds=1,
        complete=False,
    )
    assert score.findings == [
        f"{OTHER} SURVIVED {CLAUSE} between releases",
        f"{OTHER} SURVIVED {CLAUSE} for 300 examples in 1 of 1 seeds",
    ]
