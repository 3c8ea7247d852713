"""The in-memory part of the mutation score: all defects, all properties that need no socket, and many seeds."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TypeVar

from conformance.engine.hypothesis_profiles import EXAMPLES_PER_PROPERTY
from conformance.mutation.properties import all_properties
from conformance.mutation.score import Blame, Kill, is_of_model
from conformance.mutation.trials import (
    Killed,
    Trial,
    blame,
    examples_to_kill,
    fewest_examples,
    largest_budget,
    listeners_in_memory,
    seeds_of,
)
from fixtures.under_test.in_memory import LAUNCHER
from reference_model.faults.broker import DEFECTS

BLAMED_EXAMPLES = EXAMPLES_PER_PROPERTY
"""The number that most properties draw in a standard run."""
BYSTANDER_EXAMPLES = 40
"""Examples for properties whose clauses a defect does not break, not counting pinned ones: by far most of the work."""
QUICK_BYSTANDER_EXAMPLES = 10
QUICK_BYSTANDER_SHARE = 3
"""In a quick measurement, each property meets one of this many bystanders, and each bystander one of this many properties."""

T = TypeVar("T")
Advance = Callable[[int, int], None]
"""Called with the number of tasks done and the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemoryResult:
    """The result of the in-memory part.

    Attributes:
        reference: the clauses that the plain reference was found to violate.
        blames: the clauses that each defect was found to violate.
        kills: one per defect and clause that the defect breaks and that is judged in memory.
        kills_of_property: by property, how many of these defects it caught.
    """

    reference: Blame
    blames: Sequence[Blame]
    kills: Sequence[Kill]
    kills_of_property: dict[str, int]


def judged_in_memory() -> dict[str, tuple[str, ...]]:
    """Return the clauses of every property that needs no socket, by the property's name."""
    return {
        name: found.clauses
        for name, found in all_properties().items()
        if listeners_in_memory(found)
    }


def clauses_in_memory() -> set[str]:
    """Return the clauses whose properties can all judge in memory."""
    elsewhere = {
        clause
        for found in all_properties().values()
        if not listeners_in_memory(found)
        for clause in found.clauses
    }
    return {clause for clauses in judged_in_memory().values() for clause in clauses} - elsewhere


def measure(
    defects: Sequence[str],
    *,
    seeds: int,
    jobs: int,
    quick: bool = False,
    advance: Advance | None = None,
) -> InMemoryResult:
    """Try every defect.

    Args:
        defects: names of the defects.
        seeds: for how many seeds the examples to a kill are counted.
        jobs: how many processes work at a time.
        quick: whether a share of the defects that do not break a property's clause is enough, with fewer examples.
        advance: called with the progress.
    """
    properties = judged_in_memory()
    broken = {
        name: [each for each in defects if set(DEFECTS[each].breaks) & set(clauses)]
        for name, clauses in properties.items()
    }
    share = QUICK_BYSTANDER_SHARE if quick else 1
    bystander_examples = QUICK_BYSTANDER_EXAMPLES if quick else BYSTANDER_EXAMPLES
    # Spawned processes do not inherit loaded modules, so they draw the same examples every time.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        judged = [
            pool.submit(blame, name, ("", *tried), count)
            for place, name in enumerate(properties)
            for tried, count in (
                (broken[name], BLAMED_EXAMPLES),
                (bystanders(defects, name, place=place, share=share), bystander_examples),
            )
            if tried
        ]
        trials = [trial for work in results(judged, advance) for trial in work]
        # Count only pairs that caught: a property that cannot see a defect would run up to the cap for every seed.
        pairs = {(trial.property_name, trial.defect) for trial in trials if trial.caught}
        caught = {
            name: [each for each in broken[name] if (name, each) in pairs] for name in properties
        }
        keys = [
            (name, seed)
            for name in properties
            if caught[name] and not all_properties()[name].is_deep
            for seed in seeds_of(name, seeds)
        ]
        counted = [pool.submit(examples_to_kill, name, caught[name], seed) for name, seed in keys]
        killed = dict(zip(keys, results(counted, advance), strict=True))
    reference, *blames = _blames(("", *defects), trials)
    return InMemoryResult(
        reference=reference,
        blames=blames,
        kills=kills_of_standard_run(defects, trials, killed, seeds),
        kills_of_property={name: len(caught[name]) for name in properties},
    )


def bystanders(
    defects: Sequence[str], property_name: str, *, place: int = 0, share: int = 1
) -> list[str]:
    """Return the defects that a property may not blame; none if it is about the model or takes too long.

    Args:
        defects: the defects that are tried.
        property_name: the property.
        place: its place among the properties; neighbours get different shares.
        share: of how many defects one is enough.
    """
    judged = all_properties()[property_name]
    if judged.is_deep or all(map(is_of_model, judged.clauses)):
        return []
    others = [each for each in defects if not set(DEFECTS[each].breaks) & set(judged.clauses)]
    return others[place % share :: share]


def results(work: Sequence[Future[T]], advance: Advance | None) -> list[T]:
    """Wait for futures that complete in any order, and return their results in the given order."""
    try:
        for done, future in enumerate(as_completed(work), start=1):
            future.result()
            if advance is not None:
                advance(done, len(work))
    except BaseException:
        for future in work:
            future.cancel()
        raise
    return [future.result() for future in work]


def _blames(defects: Sequence[str], trials: Sequence[Trial]) -> list[Blame]:
    properties = judged_in_memory()
    violated: dict[str, set[str]] = defaultdict(set)
    problems: dict[str, list[str]] = defaultdict(list)
    for trial in trials:
        if trial.caught:
            violated[trial.defect].update(properties[trial.property_name])
        elif trial.problem:
            problems[trial.defect].append(f"{trial.property_name}: {trial.problem}")
    judged = clauses_in_memory()
    return [
        Blame(
            defect=defect,
            breaks=tuple(c for c in DEFECTS[defect].breaks if c in judged) if defect else (),
            # The run over TCP judges the other clauses.
            violated=violated[defect] & judged,
            transport=LAUNCHER,
            problems=problems[defect],
        )
        for defect in defects
    ]


def kills_of_standard_run(
    defects: Sequence[str],
    trials: Sequence[Trial],
    killed: Killed,
    seeds: int,
) -> list[Kill]:
    """Return how each clause caught the defects that break it, without the properties that only a deep run has.

    Args:
        defects: the defects' names.
        trials: what each property made of each of them.
        killed: the examples that it took, by property and seed.
        seeds: how many seeds were tried.
    """
    properties = judged_in_memory()
    pinned = {(trial.property_name, trial.defect) for trial in trials if trial.pinned}
    judged = clauses_in_memory()
    judging: dict[str, list[str]] = defaultdict(list)
    for name, clauses in properties.items():
        if not all_properties()[name].is_deep:
            for clause in clauses:
                judging[clause].append(name)
    return [
        Kill(
            clause=clause,
            defect=defect,
            examples=fewest_examples(killed, judging[clause], defect, seeds),
            pinned=any((name, defect) in pinned for name in judging[clause]),
            cap=largest_budget(judging[clause]),
        )
        for defect in defects
        for clause in DEFECTS[defect].breaks
        if clause in judged
    ]
