"""Planted defects of the clause that compares releases.

No single target can violate this clause.

Reference brokers of two adjacent releases get the same bytes in memory, as `kafka-conformance changes` sends them to
real brokers. The newer one has the defect: the difference that it makes has to be reported as not predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from conformance.corpus.entries import CorpusEntry, load_corpus
from conformance.mutation.in_memory import InMemoryResult
from conformance.mutation.score import Blame, Kill
from conformance.mutation.subjects import broker_with
from conformance.releases.release_changes import (
    COUNT,
    SEED,
    Observer,
    Release,
    changes_between,
    generated_inputs,
)
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import NEWEST_RELEASE, RECORDED_RELEASES

CLAUSE = "MODEL.release-differences-explained"
RELEASE_BEFORE = RECORDED_RELEASES[-2]
"""The release before the newest one, in which nothing is planted."""
TRANSPORT = "between releases"


def measure(defects: Sequence[str]) -> InMemoryResult:
    """Compare two releases without a defect, and with each of the defects that break the clause.

    Args:
        defects: names of the defects that are tried; those of other clauses are left out.

    Returns:
        For each of these defects whether its difference is reported, and how many drawn inputs it took.
    """
    stored, drawn = load_corpus(), generated_inputs(COUNT, SEED)
    before = _observed((*stored, *drawn), release=RELEASE_BEFORE)
    blames, kills = [], []
    for name in ("", *(each for each in defects if CLAUSE in DEFECTS[each].breaks)):
        since = _observed((*stored, *drawn), release=NEWEST_RELEASE, defect=name)
        by_stored = _is_news(stored, before, since)
        by_drawn = (n for n, entry in enumerate(drawn, 1) if _is_news([entry], before, since))
        first = next(by_drawn, None)
        seen = by_stored or first is not None
        blames.append(
            Blame(
                defect=name,
                breaks=(CLAUSE,) if name else (),
                violated={CLAUSE} if seen else set(),
                transport=TRANSPORT,
            )
        )
        if name:
            kills.append(Kill(clause=CLAUSE, defect=name, examples=(first,), pinned=by_stored, cap=COUNT))
    return InMemoryResult(reference=blames[0], blames=blames[1:], kills=kills, kills_of_property={})


def _observed(inputs: Iterable[CorpusEntry], *, release: str, defect: str = "") -> Release:
    return Observer(broker_with(defect, release=release)).observe(inputs)


def _is_news(inputs: Sequence[CorpusEntry], before: Release, since: Release) -> bool:
    """Tell whether one of some inputs is treated differently although the profiles do not predict it."""
    named = {entry.name: entry for entry in inputs}
    releases = [
        (RELEASE_BEFORE, _only(named, before)),
        (NEWEST_RELEASE, _only(named, since)),
    ]
    return any(not change.predicted for change in changes_between(releases, named, PLAINTEXT))


def _only(named: Mapping[str, CorpusEntry], release: Release) -> Release:
    return {name: seen for name, seen in release.items() if name in named}
