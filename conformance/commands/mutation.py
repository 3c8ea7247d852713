"""`mutation`: checks that the suite catches every planted defect, and blames only the clauses that it breaks."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.progress import Progress

from clauses.catalogue import catalogue
from conformance.commands.errors import CouldNotTell, UnknownName
from conformance.commands.progress import status_line
from conformance.commands.selection import selected_targets
from conformance.mutation import in_memory, models, over_tcp, releases
from conformance.mutation.kills_over_tcp import counted_kills
from conformance.mutation.model_subjects import SUBJECTS
from conformance.mutation.properties import all_properties
from conformance.mutation.score import Blame, Kill, Score
from conformance.mutation.tables import markdown, summary, terminal_tables
from conformance.mutation.tails import SEEDS_OF_TAILS, measured_reaches
from conformance.mutation.trials import FIRST_SEED
from fixtures.cleanup.temporary_folder import temporary_folder
from fixtures.errors import HarnessError
from reference_model.faults.broker import DEFECTS
from reference_model.faults.broker.equivalent import EQUIVALENT_CHANGES
from reference_model.profiles.profile import REFERENCE

WIDEST_LINE = 220
SEEDS = 30
QUICK_SEEDS = 3
NOTHING_FOUND = Blame(defect="", breaks=(), violated=(), transport="in memory")


class Planted(NamedTuple):
    """What is tried.

    Attributes:
        defects: names of defects of the reference broker.
        faults: by model, names of its faults.
    """

    defects: list[str]
    faults: dict[str, list[str]]

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return set(self.defects) == set(DEFECTS) and all(
            set(self.faults[model]) == set(subject.faults) for model, subject in SUBJECTS.items()
        )


def selected_planted(patterns: Sequence[str]) -> Planted:
    """Return the defects and faults that match names or globs; all if there are no patterns.

    Args:
        patterns: each matches defects and faults; one that begins with a model and "+" matches its faults alone.

    Raises:
        UnknownName: a pattern matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    defects: dict[str, None] = {}
    faults: dict[str, dict[str, None]] = {model: {} for model in SUBJECTS}
    for pattern in patterns or ("*",):
        model, plus, name = pattern.partition("+")
        of_one_model = plus and model in SUBJECTS
        found = 0
        for each in [model] if of_one_model else SUBJECTS:
            matching = fnmatch.filter(SUBJECTS[each].faults, name if of_one_model else pattern)
            faults[each].update(dict.fromkeys(matching))
            found += len(matching)
        if not of_one_model:
            defects.update(dict.fromkeys(_selected_defects(pattern, may_be_none=found > 0)))
        elif not found:
            raise UnknownName(f"no fault of {model} matches {name!r}")
    return Planted(list(defects), {model: list(names) for model, names in faults.items()})


def _selected_defects(pattern: str, *, may_be_none: bool) -> list[str]:
    try:
        targets = selected_targets([f"{REFERENCE}+{pattern}"])
    except UnknownName:
        if may_be_none:
            return []
        raise
    names = (target.id.partition("+")[2] for target in targets)
    # A broker that follows a proposal is no defect.
    return [name for name in names if name in DEFECTS]


def measured_score(
    planted: Planted, *, seeds: int, jobs: int, sockets: bool, quick: bool, folder: Path
) -> Score:
    """Try what is planted in memory and, if `sockets` is set, over TCP; records of runs over TCP go below `folder`."""
    score = Score(
        clauses=(), reference=NOTHING_FOUND, kills=(), blames=(), seeds=seeds, complete=False
    )
    complete = planted.is_everything
    # They are those of the suite, whatever a defect is. First, because a problem here is found in seconds.
    seeds_of_tails = range(FIRST_SEED, FIRST_SEED + min(seeds, SEEDS_OF_TAILS))
    reaches = measured_reaches(seeds_of_tails) if complete else ()
    if planted.defects:
        score = _score_of_brokers(
            planted.defects, seeds=seeds, jobs=jobs, sockets=sockets, quick=quick, folder=folder
        )
    for model, names in planted.faults.items():
        if not names:
            continue
        subject = SUBJECTS[model]
        with _progress(f"planted faults of {model}") as advance:
            found = models.measure(
                subject,
                names,
                seeds=seeds,
                jobs=jobs,
                bystander_seeds=1 if quick else models.BYSTANDER_SEEDS,
                advance=advance,
            )
        score = dataclasses.replace(
            score,
            clauses=[*score.clauses, *models.judged_clauses(subject)],
            models={**score.models, model: found.reference},
            kills=[*score.kills, *found.kills],
            blames=[*score.blames, *found.blames],
            kills_of_property={**score.kills_of_property, **found.kills_of_property},
        )
    return dataclasses.replace(score, complete=complete, reaches=reaches)


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
            kills = counted_kills(catches, seeds=seeds, jobs=jobs)
    with _progress("planted defects in memory") as advance:
        found = in_memory.measure(
            names,
            seeds=seeds,
            jobs=jobs,
            quick=quick,
            advance=advance,
        )
    caught = dict(found.kills_of_property)
    if sockets:
        missing = all_properties().keys() - caught.keys()
        caught |= over_tcp.kills_by_property(blames, sorted(missing))
    between = releases.measure(names)
    judged = (
        {clause for name in caught for clause in all_properties()[name].clauses}
        if sockets
        else in_memory.clauses_in_memory()
    )
    return Score(
        clauses=[clause for clause in catalogue() if clause.id in {*judged, releases.CLAUSE}],
        reference=dataclasses.replace(
            found.reference, violated={*found.reference.violated, *between.reference.violated}
        ),
        kills=[*found.kills, *between.kills, *kills],
        blames=[*found.blames, *between.blames, *blames],
        kills_of_property=caught,
        seeds=seeds,
        complete=False,
    )


@contextmanager
def _progress(what: str) -> Iterator[in_memory.Advance]:
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@click.command()
@click.argument("patterns", metavar="[DEFECT]...", nargs=-1)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
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
    f"{in_memory.QUICK_BYSTANDER_SHARE}, with fewer examples, and over TCP only one of {over_tcp.QUICK_SHARE} defects that break no clause judged there",
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

    The properties are run against the reference broker with each defect, and against the model client and proxy with each fault.

    DEFECT is a name or glob ("tags-*"); everything if none is given. "model+*" names all faults of the model client, "model-proxy+*" those of the model proxy, "model-kip-1313+*" those of the broker of KIP-1313.
    The command fails unless exactly the clauses that each defect breaks are found violated. If all defects are tried, each clause must also have enough defects, each
    property must kill at least one, and a standard run must reach the rare values of every dimension of a request.
    """
    planted = selected_planted(patterns)
    with temporary_folder() as scratch:
        folder = scratch if out is None else out
        try:
            score = measured_score(
                planted,
                seeds=seeds or (QUICK_SEEDS if quick else SEEDS),
                jobs=jobs,
                sockets=not in_memory_only,
                quick=quick,
                folder=folder,
            )
        except HarnessError as error:
            raise CouldNotTell(str(error)) from error
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "mutation.json").write_text(json.dumps(score.as_json(), indent=1) + "\n")
        (out / "mutation.md").write_text(markdown(score, EQUIVALENT_CHANGES))
    # A wrapped line is better than a truncated name.
    console = Console(width=WIDEST_LINE)
    for table in terminal_tables(score):
        console.print(table)
        console.print()
    for finding in score.findings:
        click.echo(finding)
    click.echo(summary(score))
    if score.findings:
        raise SystemExit(1)
