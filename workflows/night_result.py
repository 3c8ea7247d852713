"""Reports whether a nightly run judged every target that it had planned.

It names the targets that were not judged.

    python -m workflows.night_result RUNS --targets "ID ID ..."

Exit status: 0 if every planned target has a complete run whose status says that it was judged, and no cell of it is
unsettled, otherwise 1. A violation is a result and no reason to fail here. But a run with a violation may also have
unsettled cells, which its status does not show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from reports.command_line.suite_command import SuiteCommand
from reports.records import HEADER_FILE, OPERATION, UNSETTLED_VERDICTS
from reports.run.exit_status import ExitStatus
from reports.run.run_folder import Header, complete_runs, run_verdicts
from reports.wording.verdict_labels import counted
from workflows.github import write_summary

JUDGED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, ExitStatus.STALE_EXPECTATION)
"""Exit statuses of a run that reached its results."""


class NewestResult(NamedTuple):
    """The result of a target's newest complete run.

    Attributes:
        status: its exit status.
        unsettled: how many of the target's cells could not be judged.
    """

    status: int
    unsettled: int


def of_operations(target: str) -> str:
    """Return the id of a target on which operations of clients were tried.

    The plain id of the target stands for its run as a broker.
    """
    return f"operations/{target}"


def judged_targets(runs: Path) -> Mapping[str, NewestResult]:
    """Return each judged target with the result of its newest complete run."""
    judged: dict[str, NewestResult] = {}
    headers = sorted(runs.rglob(HEADER_FILE), key=lambda path: path.parent.name)
    for folder, header in complete_runs(headers):
        verdicts = run_verdicts(folder, header)
        open_cells = Counter(key.target for key, verdict in verdicts.items() if verdict in UNSETTLED_VERDICTS)
        for name, id_ in names_of(header).items():
            judged[name] = NewestResult(header["footer"]["exit_status"], open_cells[id_])
    return judged


def names_of(header: Header) -> Mapping[str, str]:
    """Return the ids of a run's targets by the names that they have in a plan."""
    tries_operations = any(each["role"] == OPERATION for each in header["clauses"])
    ids = [target["id"] for target in header["targets"]]
    return {of_operations(id_) if tries_operations else id_: id_ for id_ in ids}


def shortfalls(planned: Sequence[str], judged: Mapping[str, NewestResult]) -> list[str]:
    """Return one line for each planned target that was not judged completely."""
    lines = []
    for target in planned:
        if target not in judged:
            lines.append(f"{target}: no complete run")
        elif judged[target].status not in JUDGED:
            lines.append(f"{target}: its run ended with status {judged[target].status}")
        elif judged[target].unsettled:
            cells = counted(judged[target].unsettled, "cell")
            lines.append(f"{target}: {cells} could not be judged")
    return lines


@click.command(cls=SuiteCommand, name="workflows.night_result")
@click.argument("runs", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--targets", required=True, metavar="IDS", help="planned targets")
def main(runs: Path, targets: str) -> None:
    """Compare the runs of one night with their plan."""
    planned = targets.split()
    missing = shortfalls(planned, judged_targets(runs))
    write_summary(f"{len(planned) - len(missing)} of {len(planned)} planned targets were judged.\n")
    for line in missing:
        click.echo(line, err=True)
        write_summary(f"- {line}")
    raise SystemExit(1 if missing else 0)


if __name__ == "__main__":
    main()
