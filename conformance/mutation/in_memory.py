"""In-memory part of the mutation score.

It tries all faults of a model with all properties that need no socket, with many seeds.
"""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TypeVar

from conformance.assertions.contradictions import is_of_model
from conformance.engine.hypothesis_profiles import EXAMPLES_PER_PROPERTY
from conformance.mutation.score import Blame, Kill
from conformance.mutation.subjects import SUBJECTS, Subject
from conformance.mutation.tried_faults import (
    Killed,
    TriedFault,
    blame,
    examples_to_kill,
    fewest_examples,
    largest_budget,
    seeds_of,
)
from fixtures.under_test.in_memory import LAUNCHER

BLAMED_EXAMPLES = EXAMPLES_PER_PROPERTY
"""The number that most properties draw in a standard run."""
BYSTANDER_EXAMPLES = 40
"""Examples for properties whose clauses a fault does not break, not counting pinned ones: by far most of the work."""
QUICK_BYSTANDER_EXAMPLES = 10
QUICK_BYSTANDER_SHARE = 12
"""In a quick measurement, each property meets one of this many bystanders, and each bystander one of this many
properties."""

T = TypeVar("T")
Advance = Callable[[int, int], None]
"""Called with the number of tasks done and the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemoryResult:
    """The result of the in-memory part.

    Attributes:
        reference: the clauses that the plain model was found to violate.
        blames: the clauses that each fault was found to violate.
        kills: one per fault and clause that the fault breaks and that is judged in memory.
        kills_of_property: by property, how many of these faults it caught.
    """

    reference: Blame
    blames: Sequence[Blame]
    kills: Sequence[Kill]
    kills_of_property: dict[str, int]


def judged_in_memory(subject: Subject) -> dict[str, tuple[str, ...]]:
    """Return the clauses of every property that can judge a model, with some fault or none, by the property's name."""
    return {
        name: judged.clauses
        for name, judged in subject.properties().items()
        if any(subject.applies(judged, fault) for fault in ("", *subject.faults))
    }


def clauses_in_memory(subject: Subject) -> set[str]:
    """Return the clauses that are judged in memory.

    A clause of a model that is also judged over TCP counts only if all its properties can judge the model in memory.
    """
    here = judged_in_memory(subject)
    judged = {clause for clauses in here.values() for clause in clauses}
    if not subject.is_judged_over_tcp:
        return judged
    elsewhere = (each for name, each in subject.properties().items() if name not in here)
    return judged - {clause for each in elsewhere for clause in each.clauses}


def measure(
    subject: Subject,
    faults: Sequence[str],
    *,
    seeds: int,
    jobs: int,
    quick: bool = False,
    advance: Advance | None = None,
) -> InMemoryResult:
    """Try every fault.

    Args:
        subject: the model, one of `SUBJECTS`.
        faults: names of the faults.
        seeds: for how many seeds the examples to a kill are counted.
        jobs: how many processes work at a time.
        quick: whether a share of the faults that do not break a property's clause is enough, with fewer examples, and
            examples to the kill are counted only for faults that no pinned example catches.
        advance: called with the progress.
    """
    properties = judged_in_memory(subject)
    broken = {
        name: [each for each in faults if set(subject.faults[each].breaks) & set(clauses)]
        for name, clauses in properties.items()
    }
    share = QUICK_BYSTANDER_SHARE if quick else 1
    bystander_examples = QUICK_BYSTANDER_EXAMPLES if quick else BYSTANDER_EXAMPLES
    # Spawned processes do not inherit loaded modules, so they draw the same examples every time.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        judged = [
            pool.submit(_blame, subject.name, name, ("", *tried), count)
            for index, name in enumerate(properties)
            for tried, count in (
                (broken[name], BLAMED_EXAMPLES),
                (bystanders(subject, faults, name, index=index, share=share), bystander_examples),
            )
            if tried
        ]
        tried = [each for work in results(judged, advance) for each in work]
        # Count only pairs that caught: a property that cannot see a fault would run up to the cap for every seed.
        pairs = {(each.property_name, each.fault) for each in tried if each.caught}
        caught = {name: [each for each in broken[name] if (name, each) in pairs] for name in properties}
        certain = _certain(subject, faults, tried) if quick else set()
        left = {name: [each for each in caught[name] if each not in certain] for name in properties}
        keys = [
            (name, seed)
            for name in properties
            if left[name] and not subject.properties()[name].is_deep
            for seed in seeds_of(subject, name, seeds)
        ]
        counted = [pool.submit(_examples_to_kill, subject.name, name, left[name], seed) for name, seed in keys]
        killed = dict(zip(keys, results(counted, advance), strict=True))
    reference, *blames = blames_of(subject, ("", *faults), tried)
    return InMemoryResult(
        reference=reference,
        blames=blames,
        kills=kills_of_standard_run(subject, faults, tried, killed, seeds, uncounted=certain),
        kills_of_property={name: len(caught[name]) for name in properties},
    )


def _certain(subject: Subject, faults: Sequence[str], tried: Sequence[TriedFault]) -> set[str]:
    """Return the faults of which pinned examples catch each clause, with whatever seed."""
    kills = kills_of_standard_run(subject, faults, tried, {}, 0)
    uncertain = {kill.defect for kill in kills if not kill.pinned}
    return {fault for fault in faults if subject.named(fault) not in uncertain}


def _blame(model: str, property_name: str, faults: Sequence[str], count: int) -> list[TriedFault]:
    return blame(SUBJECTS[model], property_name, faults, count)


def _examples_to_kill(model: str, property_name: str, faults: Sequence[str], seed: int) -> dict[str, int | None]:
    return examples_to_kill(SUBJECTS[model], property_name, faults, seed)


def bystanders(
    subject: Subject, faults: Sequence[str], property_name: str, *, index: int = 0, share: int = 1
) -> list[str]:
    """Return the faults, or a share of them, that do not break the property's clauses.

    The property may not blame these faults. Return none if the property is deep, or if it goes through a list about the
    model: both take too long.

    Any other property about the model may blame each fault for its own clause, but for no MUST that the fault does not
    break.

    Args:
        subject: the model.
        faults: the faults that are tried.
        property_name: the property.
        index: its index among the properties; neighbours get different shares.
        share: of how many faults one is enough.
    """
    judged = subject.properties()[property_name]
    is_list = not judged.is_drawn and all(map(is_of_model, judged.clauses))
    if judged.is_deep or is_list:
        return []
    clauses = set(judged.clauses)
    others = [each for each in faults if not set(subject.faults[each].breaks) & clauses]
    return others[index % share :: share]


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


def blames_of(subject: Subject, faults: Sequence[str], tried: Sequence[TriedFault]) -> list[Blame]:
    """Return which clauses each fault violated; one without a name is the plain model."""
    properties = judged_in_memory(subject)
    violated: dict[str, set[str]] = defaultdict(set)
    problems: dict[str, list[str]] = defaultdict(list)
    for tried_fault in tried:
        if tried_fault.caught:
            violated[tried_fault.fault].update(properties[tried_fault.property_name], tried_fault.contradicted)
        elif tried_fault.problem:
            problems[tried_fault.fault].append(f"{tried_fault.property_name}: {tried_fault.problem}")
    judged = clauses_in_memory(subject)
    return [
        Blame(
            defect=subject.named(fault),
            breaks=tuple(c for c in subject.faults[fault].breaks if c in judged) if fault else (),
            # The run over TCP judges the other clauses.
            violated=(violated[fault] & judged).difference(subject.faults[fault].breaks_rarely if fault else ()),
            transport=LAUNCHER,
            problems=problems[fault],
        )
        for fault in faults
    ]


def kills_of_standard_run(
    subject: Subject,
    faults: Sequence[str],
    tried: Sequence[TriedFault],
    killed: Killed,
    seeds: int,
    uncounted: Collection[str] = (),
) -> list[Kill]:
    """Return how each clause caught the faults that break it, without the properties that only a deep run has."""
    pinned = {(each.property_name, each.fault) for each in tried if each.pinned}
    judged = clauses_in_memory(subject)
    judging: dict[str, list[str]] = defaultdict(list)
    for name, clauses in judged_in_memory(subject).items():
        if not subject.properties()[name].is_deep:
            for clause in clauses:
                judging[clause].append(name)
    return [
        Kill(
            clause=clause,
            defect=subject.named(fault),
            examples=() if fault in uncounted else fewest_examples(killed, judging[clause], fault, seeds),
            pinned=any((name, fault) in pinned for name in judging[clause]),
            cap=largest_budget(subject, judging[clause]),
        )
        for fault in faults
        for clause in subject.faults[fault].breaks
        if clause in judged
    ]
