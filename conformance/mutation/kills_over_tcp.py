"""For clauses that need sockets: counts how many generated examples it takes to catch each defect that breaks them.

These properties mostly wait (for handshakes, for a metric, for a log line), so more of them run at a time than there
are cores.
"""

from __future__ import annotations

import math
import multiprocessing
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from conformance.mutation.score import Kill
from conformance.mutation.subjects import SUBJECTS, reference_broker
from conformance.mutation.tried_faults import (
    caught_by_pinned,
    examples_to_kill,
    fewest_examples,
    largest_budget,
    seeds_of,
)
from fixtures.client.patience import Patience
from fixtures.launchers.built_in import launch_built_in, reference_targets
from fixtures.under_test.broker import Broker
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import REFERENCE

SEEDS_AT_ONCE = 5
"""Seeds of one property that share one set of brokers; starting a set takes a second."""
PROCESSES_PER_JOB = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """The result of a run of the suite for a defect and one of the clauses that it breaks.

    Attributes:
        clause: the clause's id.
        defect: the defect's name.
        properties: the properties that caught the defect; none if it survived.
    """

    clause: str
    defect: str
    properties: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The result of one property for its defects and some of the seeds.

    Attributes:
        pinned: the defects that a pinned example catches.
        examples: by seed and defect, the number of generated examples to the kill.
    """

    pinned: Collection[str]
    examples: Mapping[int, Mapping[str, int | None]]


def counted_kills(
    catches: Sequence[Catch], *, seeds: int, jobs: int, quick: bool = False
) -> list[Kill]:
    """Count examples to the kill, seed by seed, for each property that caught its defect in a run of the suite.

    Args:
        catches: the suite's result for each clause with each of its defects.
        seeds: the number of seeds.
        jobs: the number of cores that may be used.
        quick: whether only defects that no pinned example catches are counted.
    """
    caught: dict[str, set[str]] = defaultdict(set)
    for catch in catches:
        for name in catch.properties:
            caught[name].add(catch.defect)
    killed: dict[tuple[str, int], Mapping[str, int | None]] = {}
    pinned: set[tuple[str, str]] = set()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs * PROCESSES_PER_JOB, mp_context=context) as pool:
        counting = [
            (name, pool.submit(count_on_brokers, name, sorted(defects), part, quick))
            for name, defects in caught.items()
            for part in _parts(seeds_of(SUBJECTS[REFERENCE], name, seeds))
        ]
        for name, future in counting:
            counted = future.result()
            pinned |= {(name, defect) for defect in counted.pinned}
            killed |= {(name, seed): counts for seed, counts in counted.examples.items()}
    kills = []
    for catch in catches:
        is_pinned = any((name, catch.defect) in pinned for name in catch.properties)
        counts = fewest_examples(killed, catch.properties, catch.defect, seeds)
        kills.append(
            Kill(
                clause=catch.clause,
                defect=catch.defect,
                examples=() if quick and is_pinned else counts,
                pinned=is_pinned,
                cap=largest_budget(SUBJECTS[REFERENCE], catch.properties),
            )
        )
    return kills


def _parts(seeds: range) -> Iterator[range]:
    return (seeds[first : first + SEEDS_AT_ONCE] for first in range(0, len(seeds), SEEDS_AT_ONCE))


def count_on_brokers(
    property_name: str, defects: Sequence[str], seeds: Sequence[int], quick: bool = False
) -> Counted:
    """Start the plain reference broker and those with the defects, and count the examples for each seed that shares them."""
    targets = {target.id: target for target in reference_targets()}
    with ExitStack() as running:

        def started(target_id: str) -> Broker:
            launched = running.enter_context(launch_built_in(targets[target_id]))
            broker = Broker(launched, PLAINTEXT, patience=Patience(math.inf))
            broker.calibrate()
            return broker

        brokers = {"": started(REFERENCE)}
        brokers |= {defect: started(f"{REFERENCE}+{defect}") for defect in defects}
        subject = reference_broker(brokers.__getitem__)
        pinned = caught_by_pinned(subject, property_name, defects)
        left = [each for each in defects if not (quick and each in pinned)]
        return Counted(
            pinned=pinned,
            examples={
                seed: examples_to_kill(subject, property_name, left, seed)
                for seed in (seeds if left else ())
            },
        )
