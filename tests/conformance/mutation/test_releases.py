"""Planted defects between two releases: `changes` reports them as not predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clauses.catalogue import catalogue
from conformance.mutation.releases import CLAUSE, measure
from conformance.mutation.score import Score
from reference_model.faults.broker import DEFECTS

OTHER = "tags-descend"


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
