"""`mutation`: checks that the suite catches every planted defect, and blames only the clauses that it breaks."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from clauses.catalogue import catalogue
from conformance.commands.errors import CouldNotTell
from conformance.commands.progress import status_line
from conformance.commands.selection import selected_targets
from conformance.mutation import in_memory, over_tcp, releases
from conformance.mutation.kills_over_tcp import counted_kills
from conformance.mutation.properties import all_properties
from conformance.mutation.score import Blame, Kill, Score
from conformance.mutation.tables import markdown, summary, terminal_tables
from conformance.mutation.tails import SEEDS_OF_TAILS, measured_reaches
from conformance.mutation.trials import FIRST_SEED
from fixtures.errors import HarnessError
from reference_model.defects import DEFECTS
from reference_model.defects.equivalent import EQUIVALENT_CHANGES
from reference_model.profile import REFERENCE

WIDEST_LINE = 220
SEEDS = 30
QUICK_SEEDS = 3


def selected_defects(patterns: Sequence[str]) -> list[str]:
    """Return the defects that match names or globs; all defects if there are no patterns.

    Raises:
        UnknownName: a pattern matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    wanted = [f"{REFERENCE}+{pattern}" for pattern in patterns or ("*",)]
    return [target.id.partition("+")[2] for target in selected_targets(wanted)]


def measured_score(
    names: Sequence[str], *, seeds: int, jobs: int, sockets: bool, quick: bool, folder: Path
) -> Score:
    """Try defects in memory and, if `sockets` is set, over TCP; records of runs over TCP go below `folder`."""
    blames: list[Blame] = []
    kills: list[Kill] = []
    if sockets:
        # First, because only this part can be stopped by a problem of the machine.
        with status_line("planted defects over TCP"):
            folders = over_tcp.run_all(over_tcp.planned_runs(names, quick=quick), folder, jobs)
            blames, catches = over_tcp.judge(folders)
            kills = counted_kills(catches, seeds=seeds, jobs=jobs)
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("planted defects in memory", total=None)
        found = in_memory.measure(
            names,
            seeds=seeds,
            jobs=jobs,
            bystander_examples=in_memory.QUICK_BYSTANDER_EXAMPLES
            if quick
            else in_memory.BYSTANDER_EXAMPLES,
            advance=lambda done, total: progress.update(task, completed=done, total=total),
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
    complete = set(names) == set(DEFECTS)
    seeds_of_tails = range(FIRST_SEED, FIRST_SEED + min(seeds, SEEDS_OF_TAILS))
    return Score(
        clauses=[clause for clause in catalogue() if clause.id in {*judged, releases.CLAUSE}],
        reference=dataclasses.replace(
            found.reference, violated={*found.reference.violated, *between.reference.violated}
        ),
        kills=[*found.kills, *between.kills, *kills],
        blames=[*found.blames, *between.blames, *blames],
        kills_of_property=caught,
        seeds=seeds,
        complete=complete,
        # They are those of the suite, whatever a defect is.
        reaches=measured_reaches(seeds_of_tails) if complete else (),
    )


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
    help="every defect in memory, but fewer examples of properties that must not blame it, and over TCP "
    f"only one of {over_tcp.QUICK_SHARE} defects that break no clause judged there",
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
    """Run the properties against the reference broker with each planted defect.

    DEFECT is a name or glob ("tags-*"); all defects if none is given. The command fails unless exactly the clauses that
    each defect breaks are found violated. If all defects are tried, each clause must also have enough defects, each
    property must kill at least one, and a standard run must reach the rare values of every dimension of a request.
    """
    names = selected_defects(patterns)
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-mutation-") as scratch:
        folder = Path(scratch) if out is None else out
        try:
            score = measured_score(
                names,
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
