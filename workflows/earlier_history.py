"""Fetches the history that an earlier nightly run kept as an artefact.

    python -m workflows.earlier_history --repository OWNER/NAME --branch main --out DIR

Only artefacts of runs on the given branch of the repository itself count, because a pull request may upload one
with the same name. If there is none, the history starts empty and the command says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from reports.command_line.suite_command import SuiteCommand
from workflows.github import gh, gh_json

ARTEFACT = "history"


def newest_run(artefacts: Iterable[Mapping[str, Any]], branch: str) -> int | None:
    """Return the id of the workflow run of a branch that kept the newest usable artefact, or None."""
    usable = [
        artefact for artefact in artefacts if not artefact["expired"] and _is_own(artefact["workflow_run"], branch)
    ]
    if not usable:
        return None
    newest = max(usable, key=lambda artefact: str(artefact["created_at"]))
    return int(newest["workflow_run"]["id"])


def _is_own(run: Mapping[str, Any] | None, branch: str) -> bool:
    return run is not None and run["head_branch"] == branch and run["head_repository_id"] == run["repository_id"]


@click.command(cls=SuiteCommand, name="workflows.earlier_history")
@click.option("--repository", required=True, metavar="OWNER/NAME")
@click.option("--branch", required=True)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False))
def main(repository: str, branch: str, out: Path) -> None:
    """Fetch the newest history into DIR, if there is one."""
    listed = gh_json("api", f"repos/{repository}/actions/artifacts?name={ARTEFACT}&per_page=100")
    run = newest_run(listed["artifacts"], branch)
    out.mkdir(parents=True, exist_ok=True)
    if run is None:
        click.echo("no earlier night kept a history: a new one begins")
        return
    gh(
        *("run", "download", str(run), "--repo", repository),
        *("--name", ARTEFACT, "--dir", str(out)),
    )
    click.echo(f"history of workflow run {run}")


if __name__ == "__main__":
    main()
