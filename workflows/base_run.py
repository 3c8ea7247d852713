"""Compares a pull request's run with that of its base branch, on the job's page.

    python -m workflows.base_run RUN --repository OWNER/NAME --base main --artefact kafka-conformance

The action keeps each run folder as an artefact; the newest one of the base branch is fetched. Without one, or if it
cannot be fetched or read, the page says so in one sentence, and nothing fails: the job is red or green by the verdicts
alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from reports.command_line.suite_command import CannotWork, SuiteCommand
from reports.records import HEADER_FILE
from workflows.earlier_history import newest_run
from workflows.github import gh, gh_json, write_summary

SUITE = Path(__file__).parent.parent
DIFFERENT = (0, 1, 10)
"""Statuses of `diff` with which it has printed a comparison."""


def fetched(repository: str, base: str, artefact: str, folder: Path) -> Path | None:
    """Fetch the newest run folder that the base branch kept into a folder; None if there is none.

    Raises:
        CannotWork: it could not be fetched, or is no run folder.
    """
    listed = gh_json("api", f"repos/{repository}/actions/artifacts?name={artefact}&per_page=100")
    run = newest_run(listed["artifacts"], base)
    if run is None:
        return None
    gh("run", "download", str(run), "--repo", repository, "--name", artefact, "--dir", str(folder / "run"))
    try:
        run_id = json.loads((folder / "run" / HEADER_FILE).read_text("utf-8"))["run_id"]
        return (folder / "run").rename(folder / Path(run_id).name)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CannotWork(f"the artefact {artefact} of workflow run {run} is no run folder: {error}") from error


def compared(before: Path, after: Path) -> str:
    """Return what changed from one run folder to another, as three lists in Markdown.

    Raises:
        CannotWork: one of them cannot be read.
    """
    command = [sys.executable, "-m", "conformance", "diff", str(before), str(after), "--format", "pull-request"]
    printed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=SUITE, check=False)
    if printed.returncode not in DIFFERENT or not printed.stdout:
        raise CannotWork(printed.stderr.strip().removeprefix("Error: "))
    return printed.stdout


@click.command(cls=SuiteCommand, name="workflows.base_run")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--repository", required=True, metavar="OWNER/NAME")
@click.option("--base", required=True, metavar="BRANCH", help="the branch that the pull request goes to")
@click.option("--artefact", required=True, metavar="NAME", help="the artefact in which the action keeps run folders")
def main(run: Path, repository: str, base: str, artefact: str) -> None:
    """Write on the job's page what changed since the base branch's newest run."""
    with TemporaryDirectory() as folder:
        try:
            before = fetched(repository, base, artefact, Path(folder))
            text = f"No run of {base} is kept yet, so there is nothing to compare with."
            text = text if before is None else compared(before, run.resolve())
        except CannotWork as fault:
            text = f"The run could not be compared with one of {base}: {fault.message}"
    write_summary(text)


if __name__ == "__main__":
    main()
