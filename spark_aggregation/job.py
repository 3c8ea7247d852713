"""Command line of the roll-up, which turns run folders into tables of the grid.

It handles options, Spark and the exit status.

    kafka-conformance roll-up RUN... --history URI --out DIR

Without `--history` the history begins empty and is not kept. Exit status: 0 if a run was valid or already known; 1 if
none was; 2 for wrong usage; 3 if Spark does not start here; 4 if another roll-up adds to the history at the same time;
10 if a disk is full or a folder cannot be written to, or for an error of the roll-up itself.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from reports.command_line.suite_command import SuiteCommand, check_writable
from reports.run_folders.refused_runs import RefusedRun, RunLists
from spark_aggregation.errors import (
    RollUpError,
    SparkUnavailable,
    check_path,
    disk_faults_explained,
)
from spark_aggregation.reading.run_files import screened
from spark_aggregation.reading.storage import Storage, is_small, is_uri
from spark_aggregation.run_roll_up import RollUpRequest, RollUpResult, aggregate
from spark_aggregation.session import start_session

_STDERR = 2


_FEW_BYTES = 1_000_000
"""Size of a few runs. Below it, interpreting rows (about 20 microseconds each) costs less than compiling queries."""


@contextmanager
def stderr_held_back(explained: Callable[[BaseException], bool]) -> Iterator[None]:
    """Keep in memory what is written to standard error in the block; show it afterwards.

    Processes that the block starts are held back for as long as they run. No disk is needed.

    Args:
        explained: whether an exception that ends the block is a sentence by itself, so that nothing is shown.
    """
    if not hasattr(os, "memfd_create"):
        yield
        return
    sys.stderr.flush()
    terminal, held = os.dup(_STDERR), os.memfd_create("stderr")
    os.dup2(held, _STDERR)
    shown = True
    try:
        yield
    except BaseException as error:
        shown = not explained(error)
        raise
    finally:
        sys.stderr.flush()
        os.dup2(terminal, _STDERR)
        with open(held, "rb") as kept, open(terminal, "wb") as out:  # noqa: PTH123
            kept.seek(0)
            if shown:
                out.write(kept.read())


@click.command(cls=SuiteCommand, name="roll-up")
@click.argument("runs", nargs=-1)
@click.option("--out", required=True, help="Folder for the tables, refused.json and notices.json.")
@click.option("--history", help="Folder of the history; any Hadoop URI.")
@click.option("--rebuild", is_flag=True, help="Discard the history and build it from the given runs.")
@click.option("--keep-days", type=click.IntRange(1), help="Number of days of runs to keep.")
@click.option("--mutation", help="mutation.json, as written by `kafka-conformance mutation --out`.")
@click.option("--changes", help="changes.json, as written by `kafka-conformance changes --out`.")
@click.option("--refused", hidden=True, help="JSON list of runs that were refused before.")
def command(
    runs: tuple[str, ...],
    out: str,
    history: str | None,
    rebuild: bool,
    keep_days: int | None,
    mutation: str | None,
    changes: str | None,
    refused: str | None,
) -> None:
    """Roll up run folders, or folders of run folders, into the tables of the grid."""
    if not (runs or refused) and (history is None or rebuild):
        raise click.UsageError("give run folders, or a --history of earlier runs")
    if rebuild and history is None:
        raise click.UsageError("--rebuild needs --history")
    for path in (out, history, mutation, changes):
        check_path(path)
    folders = screened(runs)
    request = RollUpRequest(
        roots=folders.roots,
        refused=(*folders.refused, *_refused_before(refused)),
        out=out,
        history=history,
        rebuild=rebuild,
        keep_days=keep_days,
        mutation=mutation,
        changes=changes,
    )
    with stderr_held_back(_is_explained):
        outcome = _rolled_up(request)
    _name(outcome.lists)
    if (runs or refused) and not outcome.counted:
        click.echo("Error: none of the given runs is valid", err=True)
        sys.exit(1)


def _refused_before(file: str | None) -> Iterator[RefusedRun]:
    for entry in json.loads(Path(file).read_text(encoding="utf-8")) if file else ():
        yield RefusedRun(**entry)


def _rolled_up(request: RollUpRequest) -> RollUpResult:
    with disk_faults_explained("the roll-up could not be written"):
        for folder in (request.out, request.history if request.changes_history else None):
            # Before Java starts, because Hadoop does not say why it cannot write.
            if folder is not None and not is_uri(folder):
                check_writable(Path(folder))
        # A history may be of any size.
        few = request.history is None and is_small(request.roots, most=_FEW_BYTES)
        spark = start_session(quick=is_small(request.roots), interpreted=few)
        outcome = aggregate(spark, request)
        for name, text in outcome.lists.texts().items():
            Storage(spark, request.out).write_text(name, text)
        return outcome


def _is_explained(error: BaseException) -> bool:
    """Return whether an error needs no words of Spark."""
    return isinstance(error, RollUpError) and not isinstance(error, SparkUnavailable)


def _name(lists: RunLists) -> None:
    for run in lists.refused:
        click.echo(f"refused {run.folder}: {run.reason}", err=True)
    for noticed in lists.notices:
        click.echo(f"noticed {noticed.folder}: {noticed.notice}", err=True)


if __name__ == "__main__":
    command(prog_name="kafka-conformance roll-up")
