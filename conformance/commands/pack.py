"""`pack`: writes one file of a run, for a grid that somebody else publishes."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.errors import InvalidFile, reported_as
from conformance.commands.options import FOLDER
from conformance.commands.output_console import status_line
from fixtures.cleanup.temporary_folder import temporary_folder
from reports.run.run_folder import read_run_header
from reports.run_folders.refused_runs import RunRefused
from reports.run_folders.run_pack import write_pack
from reports.wording.escaping import printable
from reports.wording.verdict_labels import judged_again


@click.command()
@click.argument("run", type=FOLDER)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="the file, a zip archive; one that is there is replaced",
)
def pack(run: Path, out: Path) -> None:
    """Write one file of a run, for somebody else's grid.

    The file has the rows of the run, the bytes of its exchanges and failures, and the versions that it was judged by.
    `grid` takes it like a run folder: it judges again what the bytes show, by the same properties, refuses a file that
    states something else, and marks the column "judged by its owner". This command does the same before it writes the
    file. RUN is a run of brokers.
    """
    with status_line("judging the stored bytes again"), reported_as(InvalidFile, RunRefused):
        # Half a second of imports that nothing else needs.
        from conformance.packs.taking_in import take_in  # noqa: PLC0415

        header = read_run_header(run)
        with temporary_folder() as scratch:
            write_pack(run, header, scratch / "pack")
            reasons = take_in(scratch / "pack", scratch / "run")
        write_pack(run, header, out)
    again = judged_again([*reasons.values()].count(""), len(reasons))
    click.echo(printable(f"{out}: {out.stat().st_size:,} bytes; {again}"))
