"""The part of the mutation score that needs sockets.

pytest runs the suite itself against reference brokers.

It judges what cannot be judged in memory (TLS, metrics, the request log, quotas), and a sample of the rest to verify
that both transports agree. For what it catches, brokers with the defects show how many generated examples that takes.
"""

from __future__ import annotations

import math
import multiprocessing
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from clauses.tiers import Tier
from conformance.mutation.in_memory import clauses_in_memory
from conformance.mutation.properties import all_properties
from conformance.mutation.score import Blame, Kill
from conformance.mutation.subjects import SUBJECTS, listeners_in_memory, reference_broker
from conformance.mutation.tried_faults import (
    caught_by_pinned,
    examples_to_kill,
    fewest_examples,
    largest_budget,
    seeds_of,
)
from conformance.runs.suite_processes import EndedRun, SuiteProcesses
from fixtures.client.patience import Patience
from fixtures.errors import HarnessError
from fixtures.launchers.built_in import launch_built_in, reference_targets
from fixtures.under_test.broker import Broker
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import REFERENCE
from reports.records import Phase, Verdict

PROFILE = "unshrunk"
TRANSPORT = "over TCP"
SAMPLE = 2
"""Number of defects that the complete suite runs against, although they could be judged in memory."""
QUICK_SHARE = 18
"""In a quick measurement, of this many defects that break no clause judged here one meets the properties that need
sockets."""
BROKERS_PER_RUN = {Tier.SMOKE: 24, Tier.STANDARD: 7}
"""Chosen so that all runs take about the same time, and there are not too many."""
SEEDS_AT_ONCE = 5
"""Seeds of one property that share one set of brokers; starting a set takes a second."""
PROCESSES_PER_JOB = 4
"""More than one, because these properties mostly wait: for handshakes, for a metric, for a log line."""
EXPECTED_STATUSES = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of the suite.

    Attributes:
        defects: the defects of the brokers that the run judges.
        properties: the properties that judge them.
        tier: the tier; `SMOKE` runs only the pinned examples.
    """

    defects: tuple[str, ...]
    properties: tuple[str, ...]
    tier: Tier


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


def planned_runs(defects: Sequence[str], *, quick: bool = False) -> list[Run]:
    """Return the runs that judge what cannot be judged in memory, and the sample.

    Args:
        defects: names of the defects to judge.
        quick: whether only a share of the defects that can be judged in memory is judged here too, and the sample by
            pinned examples alone: all examples of a complete run take seven minutes.
    """
    properties = all_properties()
    need_sockets = tuple(name for name, each in properties.items() if not listeners_in_memory(each))
    clauses = {clause for name in need_sockets for clause in properties[name].clauses}
    of_these = tuple(name for name, each in properties.items() if clauses & set(each.clauses))
    aimed_at = [name for name in defects if clauses & set(DEFECTS[name].breaks)]
    others = [name for name in defects if name not in aimed_at]
    sample = others[:: max(1, len(others) // SAMPLE)][:SAMPLE]
    bystanders = [name for name in others if name not in sample]
    # The longest first, because one that is begun last is waited for alone.
    runs = [
        *_runs(sample, tuple(properties), Tier.SMOKE if quick else Tier.STANDARD),
        *_runs(aimed_at, of_these, Tier.STANDARD),
        *_runs(bystanders[:: QUICK_SHARE if quick else 1], need_sockets, Tier.SMOKE),
    ]
    return [run for run in runs if run.properties]


def _runs(defects: Sequence[str], properties: tuple[str, ...], tier: Tier) -> Iterable[Run]:
    size = BROKERS_PER_RUN[tier]
    for first in range(0, len(defects), size):
        chosen = tuple(defects[first : first + size])
        yield Run(defects=chosen, properties=properties, tier=tier)


def run_all(runs: Sequence[Run], folder: Path, jobs: int) -> dict[Run, Path]:
    """Do runs, each in its own process, `jobs` at a time; return the folder of each run's records.

    Args:
        runs: the runs.
        folder: where the records go; records of earlier runs there are ignored.
        jobs: how many run at a time.

    Raises:
        HarnessError: a run ended without verdicts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folders = {run: Path(tempfile.mkdtemp(prefix="run-", dir=folder)) for run in runs}

    def check(run: Run, ended: EndedRun) -> None:
        if ended.status not in EXPECTED_STATUSES:
            output = "\n".join(ended.lines)
            raise HarnessError(f"the run against {', '.join(run.defects)} ended with status {ended.status}:\n{output}")

    processes = SuiteProcesses[Run](jobs=jobs, variables={"KAFKA_CONFORMANCE_PROFILE": PROFILE})
    processes.run({run: _options(run, folders[run]) for run in runs}, check)
    return folders


def _options(run: Run, folder: Path) -> list[str]:
    targets = [part for name in run.defects for part in ("--broker", f"{REFERENCE}+{name}")]
    chosen = " or ".join(run.properties)
    return [*targets, "--runs", str(folder), "--tier", run.tier, "-k", chosen, "--tb=no"]


def violations(folder: Path, target: str) -> set[tuple[str, str]]:
    """Read from run folders which clauses a target violates; return pairs of clause and property."""
    pairs: set[tuple[str, str]] = set()
    columns = ["target", "clause", "property", "verdict", "phase"]
    for part in sorted(folder.glob("*/examples/*.parquet")):
        failing = pq.read_table(part, columns=columns).filter(
            (pc.field("target") == target)
            & (pc.field("verdict") == Verdict.VIOLATES.value)
            & (pc.field("phase") == Phase.GENERATE.value)
        )
        pairs |= {(row["clause"], row["property"]) for row in failing.to_pylist()}
    return pairs


def judge(folders: Mapping[Run, Path]) -> tuple[list[Blame], list[Catch]]:
    """Return the results of the runs: each defect's blame, and for clauses that need sockets what caught it."""
    properties = all_properties()
    in_memory = clauses_in_memory(SUBJECTS[REFERENCE])
    blames, catches = [], []
    for run, folder in folders.items():
        judged = {clause for name in run.properties for clause in properties[name].clauses}
        for defect in run.defects:
            pairs = violations(folder, f"{REFERENCE}+{defect}")
            breaks = tuple(clause for clause in DEFECTS[defect].breaks if clause in judged)
            violated = {clause for clause, _ in pairs}
            blames.append(Blame(defect=defect, breaks=breaks, violated=violated, transport=TRANSPORT))
            catches += [
                Catch(
                    clause=clause,
                    defect=defect,
                    properties=tuple(sorted(name for each, name in pairs if each == clause)),
                )
                for clause in breaks
                if clause not in in_memory
            ]
    return blames, catches


def kills_by_property(blames: Iterable[Blame], properties: Collection[str]) -> dict[str, int]:
    """Count for each property the defects that break its clauses and were caught over TCP."""
    known_properties = all_properties()
    return {
        name: sum(
            bool(set(known_properties[name].clauses) & set(blame.breaks) & set(blame.violated)) for blame in blames
        )
        for name in properties
    }


def counted_kills(catches: Sequence[Catch], *, seeds: int, jobs: int, quick: bool = False) -> list[Kill]:
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
            by_pinned, examples = future.result()
            pinned |= {(name, defect) for defect in by_pinned}
            killed |= {(name, seed): counts for seed, counts in examples.items()}
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
) -> tuple[Collection[str], Mapping[int, Mapping[str, int | None]]]:
    """Start the reference broker with and without the defects, and count examples to the kill.

    All seeds share these brokers.

    Returns:
        The defects that a pinned example catches; and by seed and defect, the number of generated examples to the kill.
    """
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
        counted = seeds if left else ()
        return pinned, {seed: examples_to_kill(subject, property_name, left, seed) for seed in counted}
