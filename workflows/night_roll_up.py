"""Adds a night's runs to the history and makes the site.

    python -m workflows.night_roll_up RUNS --kept DIR --given DIR --out SITE --plan JSON --published-by OWNER/REPOSITORY

DIR of `--kept` contains the earlier history as `history.tar`, if there is one, and afterwards the new one. It is one
file because an artefact keeps neither empty folders nor hidden files.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import click

from reports.command_line.suite_command import SuiteCommand
from reports.records import HEADER_FILE
from reports.run.run_folder import complete_runs
from workflows.github import write_summary
from workflows.night_result import names_of

_PREFIX = "runs-"


ARCHIVE = "history.tar"
HISTORY = "history"
GIVEN_REPORTS = ("mutation", "changes")
KEEP_DAYS = 90
"""As long as the workflow keeps run folders, so that every run in the tables can be rejudged; transitions are kept."""


def leave_out_unplanned(runs: Path, plan: str) -> list[str]:
    """Remove folders of runs that the job that they came from had not to do; return one line for each.

    Args:
        runs: the folder of the downloaded artefacts.
        plan: the output `matrix` of the plan: the rows of the workflow's job matrix, as JSON.
    """
    judged = {row["name"]: set(row["judged"].split()) for row in json.loads(plan)["include"]}
    lines = []
    for artefact in sorted(runs.iterdir()):
        planned = judged.get(artefact.name.removeprefix(_PREFIX))
        if planned is None or not artefact.name.startswith(_PREFIX) or artefact.is_symlink():
            lines.append(f"left out {artefact.name}: no job of the plan has this name")
            _remove(artefact)
            continue
        # What the roll-up refuses it also lists.
        for folder, header in complete_runs(sorted(artefact.rglob(HEADER_FILE))):
            others = sorted(set(names_of(header)) - planned)
            if others:
                reason = f"its job was to judge other targets than {', '.join(others)}"
                lines.append(f"left out {folder.relative_to(runs)}: {reason}")
                _remove(folder)
    return lines


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def unpack(kept: Path) -> Path:
    """Return the folder of the history, filled from the archive if there is one."""
    history = kept / HISTORY
    if (kept / ARCHIVE).exists():
        with tarfile.open(kept / ARCHIVE) as archive:
            # Python before 3.11.4 has no filters; the archive is this module's own.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(kept)
    return history


def pack(kept: Path) -> None:
    """Write the history to the archive atomically: a reader sees either the old one or the new one, never a part."""
    unfinished = kept / f"{ARCHIVE}.new"
    with tarfile.open(unfinished, "w") as archive:
        archive.add(kept / HISTORY, arcname=HISTORY)
    unfinished.replace(kept / ARCHIVE)


def pages_of(repository: str) -> str:
    """Return the address at which GitHub publishes the pages of a repository.

    It redirects to a domain of the owner's, if there is one.

    Args:
        repository: "owner/name"; a repository that is named like the owner's pages is published at their root.
    """
    owner, _, name = repository.partition("/")
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def grid_command(runs: Path, history: Path, given: Path | None, out: Path, *, published_by: str = "") -> list[str]:
    """Return the roll-up command; reports that another job of the night failed to produce are left out."""
    command = ["grid", str(runs), "--history", str(history), "--out", str(out)]
    command += ["--pages", pages_of(published_by)] if published_by else []
    command += ["--keep-days", str(KEEP_DAYS)]
    if given is not None:
        for name in GIVEN_REPORTS:
            path = given / f"{name}.json"
            command += [f"--{name}", str(path)] if path.exists() else []
    return [sys.executable, "-m", "conformance", *command]


@click.command(cls=SuiteCommand, name="workflows.night_roll_up")
@click.argument("runs", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--kept", required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--given", type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--plan", metavar="JSON", help="the plan's matrix, if RUNS has a folder for each of its jobs")
@click.option(
    "--published-by",
    default="",
    metavar="OWNER/REPOSITORY",
    help="repository whose pages the site becomes, so that links in exports work elsewhere; empty: it is not published",
)
def main(runs: Path, kept: Path, given: Path | None, out: Path, plan: str | None, published_by: str) -> None:
    """Roll up a night."""
    for line in [] if plan is None else leave_out_unplanned(runs, plan):
        click.echo(line, err=True)
        write_summary(f"- {line}")
    history = unpack(kept)
    command = grid_command(runs, history, given, out, published_by=published_by)
    finished = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    click.echo(finished.stdout, nl=False)
    if finished.returncode != 0:
        raise SystemExit(finished.returncode)
    pack(kept)
    summary = [sys.executable, "-m", "conformance", "summary", str(out)]
    write_summary(subprocess.run(summary, check=True, stdout=subprocess.PIPE, text=True).stdout)


if __name__ == "__main__":
    main()
