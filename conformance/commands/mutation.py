"""`mutation`: does the suite see every planted defect, and blame just the clauses that it breaks?"""

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
from conformance.mutation.tables import markdown, summary, terminal_table
from fixtures.errors import HarnessError
from fixtures.launchers.built_in import REFERENCE
from reference_model.defects import DEFECTS
from reference_model.defects.equivalent import EQUIVALENT_CHANGES

WIDEST_LINE = 220
SEEDS = 30


def selected_defects(patterns: Sequence[str]) -> list[str]:
    """Return the defects that names or globs choose; all for none.

    Raises:
        UnknownName: one chooses nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    wanted = [f"{REFERENCE}+{pattern}" for pattern in patterns or ("*",)]
    return [target.id.partition("+")[2] for target in selected_targets(wanted)]


def measured_score(
    names: Sequence[str], *, seeds: int, jobs: int, sockets: bool, folder: Path
) -> Score:
    """Try defects in memory and, where asked, over TCP; the records of the latter go below `folder`."""
    blames: list[Blame] = []
    kills: list[Kill] = []
    if sockets:
        # First, since it is the part that a fault of this machine can end.
        with status_line("planted defects over TCP"):
            folders = over_tcp.run_all(over_tcp.planned_runs(names), folder, jobs)
            blames, catches = over_tcp.judge(folders)
            kills = counted_kills(catches, seeds=seeds, jobs=jobs)
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("planted defects in memory", total=None)
        found = in_memory.measure(
            names,
            seeds=seeds,
            jobs=jobs,
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
    return Score(
        clauses=[clause for clause in catalogue() if clause.id in {*judged, releases.CLAUSE}],
        reference=dataclasses.replace(
            found.reference, violated={*found.reference.violated, *between.reference.violated}
        ),
        kills=[*found.kills, *between.kills, *kills],
        blames=[*found.blames, *between.blames, *blames],
        kills_of_property=caught,
        seeds=seeds,
        complete=set(names) == set(DEFECTS),
    )


@click.command()
@click.argument("patterns", metavar="[DEFECT]...", nargs=-1)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=SEEDS,
    show_default=True,
    help="for how many seeds the examples to a kill are counted",
)
@click.option(
    "--in-memory-only",
    is_flag=True,
    help="leave out what needs sockets: TLS, metrics, the request log, and the sample over TCP",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="keep the run folders, mutation.json and mutation.md there",
)
def mutation(
    patterns: tuple[str, ...], jobs: int, seeds: int, in_memory_only: bool, out: Path | None
) -> None:
    """Run the properties against the reference broker with each planted defect.

    DEFECT is a name or glob ("tags-*"); all of them if none is given. Fails unless exactly the clauses that a
    defect breaks are found violated and, for all of them, each clause has its defects and each property kills.
    """
    names = selected_defects(patterns)
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-mutation-") as scratch:
        folder = Path(scratch) if out is None else out
        try:
            score = measured_score(
                names, seeds=seeds, jobs=jobs, sockets=not in_memory_only, folder=folder
            )
        except HarnessError as error:
            raise CouldNotTell(str(error)) from error
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "mutation.json").write_text(json.dumps(score.as_json(), indent=1) + "\n")
        (out / "mutation.md").write_text(markdown(score, EQUIVALENT_CHANGES))
    # A line that a terminal wraps is better than a name that is cut.
    Console(width=WIDEST_LINE).print(terminal_table(score))
    for finding in score.findings:
        click.echo(finding)
    click.echo(summary(score))
    if score.findings:
        raise SystemExit(1)
