"""The part of the mutation score that is about a model client or proxy: all planted faults, all properties, many seeds."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor

from clauses.catalogue import Clause, catalogue
from conformance.mutation.in_memory import Advance, InMemoryResult, results
from conformance.mutation.model_subjects import Subject
from conformance.mutation.model_trials import ModelTrial, model_trials
from conformance.mutation.score import Blame, Kill
from conformance.mutation.trials import FIRST_SEED

TRANSPORT = "in memory"
BYSTANDER_SEEDS = 5
"""Seeds for properties whose clauses a fault does not break: by far most of the work."""


def judged_clauses(subject: Subject) -> list[Clause]:
    """Return the clauses that a property can judge on a model."""
    judged = {clause for clauses in _judging_properties(subject).values() for clause in clauses}
    return [clause for clause in catalogue() if clause.id in judged]


def _judging_properties(subject: Subject) -> dict[str, tuple[str, ...]]:
    """Return the clauses of every property that can judge a model, with some fault or none, by the property's name."""
    return {
        name: found.clauses
        for name, found in subject.properties().items()
        if any(subject.applies(found, fault) for fault in ("", *subject.faults))
    }


def measure(
    subject: Subject,
    faults: Sequence[str],
    *,
    seeds: int,
    jobs: int,
    bystander_seeds: int = BYSTANDER_SEEDS,
    advance: Advance | None = None,
) -> InMemoryResult:
    """Try every fault.

    Args:
        subject: the model.
        faults: names of the faults.
        seeds: with how many seeds every property is tried whose clauses a fault breaks.
        jobs: how many processes work at a time.
        bystander_seeds: with how many seeds the other properties are tried.
        advance: called with the progress.
    """
    properties = _judging_properties(subject)
    broken = {
        name: [each for each in faults if set(subject.faults[each].breaks) & set(clauses)]
        for name, clauses in properties.items()
    }
    # Spawned processes do not inherit loaded modules, so they draw the same examples every time.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        work = [
            pool.submit(
                model_trials,
                subject.name,
                name,
                tuple(tried),
                range(FIRST_SEED, FIRST_SEED + count),
            )
            for name in properties
            for tried, count in (
                (broken[name], seeds),
                (["", *(each for each in faults if each not in broken[name])], bystander_seeds),
            )
            if tried
        ]
        trials = [trial for done in results(work, advance) for trial in done]
    reference, *blames = _blames(subject, ("", *faults), trials)
    return InMemoryResult(
        reference=reference,
        blames=blames,
        kills=list(_kills(subject, faults, trials, seeds)),
        kills_of_property={
            name: sum(
                trial.caught and trial.fault in broken[name]
                for trial in trials
                if trial.property_name == name
            )
            for name in properties
        },
    )


def _blames(subject: Subject, faults: Iterable[str], trials: Iterable[ModelTrial]) -> list[Blame]:
    properties = _judging_properties(subject)
    violated: dict[str, set[str]] = defaultdict(set)
    problems: dict[str, list[str]] = defaultdict(list)
    for trial in trials:
        if trial.caught:
            violated[trial.fault].update(properties[trial.property_name])
        if trial.problem:
            problems[trial.fault].append(f"{trial.property_name}: {trial.problem}")
    return [
        Blame(
            defect=f"{subject.name}+{fault}" if fault else "",
            breaks=subject.faults[fault].breaks if fault else (),
            violated=violated[fault],
            transport=TRANSPORT,
            problems=problems[fault],
        )
        for fault in faults
    ]


def _kills(
    subject: Subject, faults: Iterable[str], trials: Sequence[ModelTrial], seeds: int
) -> Iterable[Kill]:
    properties = _judging_properties(subject)
    for fault in faults:
        for clause in subject.faults[fault].breaks:
            judging = [
                trial
                for trial in trials
                if trial.fault == fault and clause in properties[trial.property_name]
            ]
            yield Kill(
                clause=clause,
                defect=f"{subject.name}+{fault}",
                examples=tuple(
                    min((each for each in numbers if each is not None), default=None)
                    for numbers in zip(*(trial.examples for trial in judging), strict=True)
                )
                or (None,) * seeds,
                pinned=any(trial.pinned for trial in judging),
                cap=max(
                    subject.examples_of(subject.properties()[trial.property_name])
                    for trial in judging
                ),
            )
