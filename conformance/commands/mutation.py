"""`mutation`: checks that the suite catches every planted defect.

It also checks that the suite blames only the clauses that the defect breaks.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from clauses.catalogue import Clause, catalogue
from conformance.commands.errors import CouldNotTell, UnknownName, reported_as
from conformance.commands.output_console import output_console, status_line
from conformance.commands.selection import selected_targets
from conformance.mutation import over_tcp, releases
from conformance.mutation.in_memory import (
    QUICK_BYSTANDER_SHARE,
    InMemoryResult,
    clauses_in_memory,
    measure,
)
from conformance.mutation.properties import all_properties
from conformance.mutation.reached_tails import SEEDS_OF_TAILS, measured_reaches
from conformance.mutation.score import (
    MAX_PROPERTIES,
    Blame,
    Kill,
    Score,
    kills_table,
    mutation_report,
    summary,
    tails_tables,
)
from conformance.mutation.subjects import OLDER_MODELS, SUBJECTS
from conformance.mutation.tried_faults import FIRST_SEED
from fixtures.cleanup.temporary_folder import temporary_folder
from fixtures.errors import HarnessError
from reference_model.faults.broker.equivalent import EQUIVALENT_CHANGES
from reference_model.profiles.profile import REFERENCE
from reports.document.markdown_form import markdown
from reports.document.terminal_form import show

WIDTH_ON_TERMINAL = 220
"""Columns even of a narrow terminal: a wrapped row is better than one that is broken up into a list."""
SEEDS = 30
QUICK_SEEDS = 3
NOTHING_FOUND = Blame(defect="", breaks=(), violated=(), transport="in memory")


Planted = Mapping[str, Sequence[str]]
"""What is tried: by model, names of its faults; those of the reference broker are called defects."""


def is_everything(planted: Planted) -> bool:
    """Return whether nothing is left out."""
    return all(set(planted[model]) == set(subject.faults) for model, subject in SUBJECTS.items())


def selected_planted(patterns: Sequence[str]) -> Planted:
    """Return the faults that match names or globs; all if there are no patterns.

    Args:
        patterns: each matches faults of all models; one that begins with a model and "+" matches its faults alone.

    Raises:
        UnknownName: a pattern matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    faults: dict[str, dict[str, None]] = {model: {} for model in SUBJECTS}
    for pattern in patterns or ("*",):
        model, plus, name = pattern.partition("+")
        of_one_model = plus and model in SUBJECTS
        matches = 0
        for model_name in [model] if of_one_model else SUBJECTS:
            matching = fnmatch.filter(SUBJECTS[model_name].faults, name if of_one_model else pattern)
            faults[model_name].update(dict.fromkeys(matching))
            matches += len(matching)
        if not matches and of_one_model:
            raise UnknownName(f"no fault of {model} matches {name!r}")
        if not matches:
            # Its error names what is similar.
            selected_targets([f"{REFERENCE}+{pattern}"])
    return {model: list(names) for model, names in faults.items()}


def measured_score(planted: Planted, *, seeds: int, jobs: int, sockets: bool, quick: bool, folder: Path) -> Score:
    """Try what is planted in memory and, if `sockets` is set, over TCP; records of runs over TCP go below `folder`."""
    score = Score(clauses=(), reference=NOTHING_FOUND, kills=(), blames=(), seeds=seeds, complete=False)
    complete = is_everything(planted)
    # They are those of the suite, whatever a defect is. First, because a problem here is found in seconds.
    seeds_of_tails = range(FIRST_SEED, FIRST_SEED + min(seeds, SEEDS_OF_TAILS))
    reaches = measured_reaches(seeds_of_tails) if complete else ()
    if planted[REFERENCE]:
        score = _score_of_brokers(
            planted[REFERENCE], seeds=seeds, jobs=jobs, sockets=sockets, quick=quick, folder=folder
        )
    for model, names in planted.items():
        if names and model != REFERENCE:
            score = with_model(score, model, _found_in_memory(model, names, seeds=seeds, jobs=jobs, quick=quick))
    return dataclasses.replace(score, complete=complete, reaches=reaches)


def with_model(score: Score, model: str, result: InMemoryResult) -> Score:
    """Return a score with the result of a further model.

    A reference broker at an older level has only the faults that the plain one cannot have. What these are not about
    is no gap of it.
    """
    kills = result.kills_of_property
    clauses = clauses_in_memory(SUBJECTS[model])
    if model in OLDER_MODELS:
        kills = {name: caught for name, caught in kills.items() if caught}
        clauses = {clause for blame in result.blames for clause in blame.breaks}
    return dataclasses.replace(
        score,
        clauses=[*score.clauses, *_in_catalogue(clauses)],
        models={**score.models, model: result.reference},
        kills=[*score.kills, *result.kills],
        blames=[*score.blames, *result.blames],
        kills_of_property={
            name: score.kills_of_property.get(name, 0) + kills.get(name, 0)
            for name in {**score.kills_of_property, **kills}
        },
    )


def _score_of_brokers(
    names: Sequence[str], *, seeds: int, jobs: int, sockets: bool, quick: bool, folder: Path
) -> Score:
    blames: list[Blame] = []
    kills: list[Kill] = []
    if sockets:
        # First, because only this part can be stopped by a problem of the machine.
        with status_line("planted defects over TCP"):
            folders = over_tcp.run_all(over_tcp.planned_runs(names, quick=quick), folder, jobs)
            blames, catches = over_tcp.judge(folders)
            kills = over_tcp.counted_kills(catches, seeds=seeds, jobs=jobs, quick=quick)
    in_memory = _found_in_memory(REFERENCE, names, seeds=seeds, jobs=jobs, quick=quick)
    caught = dict(in_memory.kills_of_property)
    if sockets:
        missing = all_properties().keys() - caught.keys()
        caught |= over_tcp.kills_by_property(blames, sorted(missing))
    between = releases.measure(names)
    judged = (
        {clause for name in caught for clause in all_properties()[name].clauses}
        if sockets
        else clauses_in_memory(SUBJECTS[REFERENCE])
    )
    return Score(
        clauses=_in_catalogue({*judged, releases.CLAUSE}),
        reference=dataclasses.replace(
            in_memory.reference, violated={*in_memory.reference.violated, *between.reference.violated}
        ),
        kills=[*in_memory.kills, *between.kills, *kills],
        blames=[*in_memory.blames, *between.blames, *blames],
        kills_of_property=caught,
        seeds=seeds,
        complete=False,
    )


def _in_catalogue(clauses: Collection[str]) -> list[Clause]:
    return [clause for clause in catalogue() if clause.id in clauses]


def _found_in_memory(model: str, names: Sequence[str], *, seeds: int, jobs: int, quick: bool) -> InMemoryResult:
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(f"planted faults of {model} in memory", total=None)
        return measure(
            SUBJECTS[model],
            names,
            seeds=seeds,
            jobs=jobs,
            quick=quick,
            advance=lambda done, total: progress.update(task, completed=done, total=total),
        )


@click.command()
@click.argument("patterns", metavar="[DEFECT]...", nargs=-1)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="the processors of the machine",
    help="number of processes at the same time",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="number of seeds with which the examples until a defect is caught are counted  "
    f"[default: {SEEDS}; with --quick {QUICK_SEEDS}]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="every defect in memory, but of the properties that must not blame it only one of "
    f"{QUICK_BYSTANDER_SHARE}, with fewer examples, and over TCP only one of {over_tcp.QUICK_SHARE} defects that break no clause judged there; "
    "its sample of all properties there by pinned examples alone; examples are counted only of defects that no pinned example catches",
)
@click.option(
    "--in-memory-only",
    is_flag=True,
    help="leave out everything that needs sockets: TLS, metrics, the request log, and the sample over TCP",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="folder in which to keep the run folders, mutation.json and mutation.md",
)
def mutation(
    patterns: tuple[str, ...],
    jobs: int,
    seeds: int | None,
    quick: bool,
    in_memory_only: bool,
    out: Path | None,
) -> None:
    """Check that the suite finds every planted defect.

    The properties are run against the reference broker with each defect, and against the model client and proxy with
    each fault.

    DEFECT is a name or glob ("tags-*"); everything if none is given. "model+*" names all faults of the model client,
    "model-proxy+*" those of the model proxy; the model of a proposal has a name of its own. The command fails unless
    exactly the clauses that each defect breaks are found violated. If all defects are tried, each clause must also have
    enough defects, each property must kill at least one, and a standard run must reach the rare values of every
    dimension of a request.
    """
    planted = selected_planted(patterns)
    with temporary_folder() as scratch:
        folder = scratch if out is None else out
        with reported_as(CouldNotTell, HarnessError):
            score = measured_score(
                planted,
                seeds=seeds or (QUICK_SEEDS if quick else SEEDS),
                jobs=jobs,
                sockets=not in_memory_only,
                quick=quick,
                folder=folder,
            )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "mutation.json").write_text(json.dumps(score.as_json(), indent=1) + "\n")
        (out / "mutation.md").write_text(markdown(mutation_report(score, EQUIVALENT_CHANGES)))
    console = Console(width=WIDTH_ON_TERMINAL) if sys.stdout.isatty() else output_console()
    show(console, kills_table(score), *tails_tables(score, max_properties=MAX_PROPERTIES))
    console.print()
    for finding in score.findings:
        click.echo(finding)
    click.echo(summary(score))
    if score.findings:
        raise SystemExit(1)
