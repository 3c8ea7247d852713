"""Says whether a night judged what it had planned; a broker that vanished from the grid is news, too.

    python -m workflows.night_result RUNS --targets "ID ID ..."

Exit status: 0 when every planned target has a whole run whose status says that it was judged, else 1. A
violation is a result and no reason to fail here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pytest

from reports.errors import RunRefused
from reports.exit_status import ExitStatus
from reports.run_folder import read_run_header
from workflows.job_outputs import write_summary

JUDGED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, ExitStatus.STALE_EXPECTATION)
"""Exit statuses of a run that told all that there was to tell."""


def statuses_of(runs: Path) -> Mapping[str, int]:
    """Return each judged target with the exit status of its newest whole run."""
    statuses: dict[str, int] = {}
    for path in sorted(runs.glob("*/run.json")):
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            continue
        for target in header["targets"]:
            statuses[target["id"]] = header["footer"]["exit_status"]
    return statuses


def shortfalls(planned: Sequence[str], statuses: Mapping[str, int]) -> list[str]:
    """Name what was planned and not judged, a line each."""
    lines = []
    for target in planned:
        if target not in statuses:
            lines.append(f"{target}: no whole run")
        elif statuses[target] not in JUDGED:
            lines.append(f"{target}: its run ended with status {statuses[target]}")
    return lines


@click.command(name="workflows.night_result")
@click.argument("runs", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--targets", required=True, metavar="IDS", help="what was planned")
def main(runs: Path, targets: str) -> None:
    """Compare the runs of a night with its plan."""
    planned = targets.split()
    missing = shortfalls(planned, statuses_of(runs))
    write_summary(f"{len(planned) - len(missing)} of {len(planned)} planned targets were judged.\n")
    for line in missing:
        click.echo(line, err=True)
        write_summary(f"- {line}")
    raise SystemExit(1 if missing else 0)


if __name__ == "__main__":
    main()
