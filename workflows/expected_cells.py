"""Compares the verdicts of runs with a list of what is expected, target by target.

    python -m workflows.expected_cells RUNS EXPECTED.json [--write]

`EXPECTED.json` has, by target, the ids of the clauses or operations that are violated on any listener and of those
that are inconclusive, and by hand also of those that are so only sometimes. Exit status: 0 if every
target that was judged has a complete run with just these verdicts and each inconclusive cell has its reason, else 1.
With `--write` the entries of the targets that were judged are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import click

from reports.command_line.suite_command import SuiteCommand
from reports.records import HEADER_FILE, UNSETTLED_VERDICTS, VIOLATED_VERDICTS
from reports.run.run_folder import Header, complete_runs, run_verdicts

VIOLATED, INCONCLUSIVE, NEITHER = "violated", "inconclusive", "neither violated nor inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What is known of one target.

    Attributes:
        violated: the clauses that it violates on any listener.
        inconclusive: of the others, those that could not be judged on one of its listeners.
        sometimes_inconclusive: those that may be inconclusive or not: the target is silent, and how much of that a run
            can wait for depends on the machine. Always empty for what a run found.
        sometimes_violated: those that may be anything: the target fails by chance. Always empty for what a run found.
    """

    violated: list[str]
    inconclusive: list[str]
    sometimes_inconclusive: list[str] = field(default_factory=list)
    sometimes_violated: list[str] = field(default_factory=list)

    def of(self, clause: str) -> str:
        """Return the verdict on a clause in words."""
        if clause in self.violated:
            return VIOLATED
        return INCONCLUSIVE if clause in self.inconclusive else NEITHER

    def expects(self, clause: str, verdict: str) -> bool:
        """Tell whether a verdict on a clause is one that is expected."""
        if clause in self.sometimes_violated:
            return True
        if clause in self.sometimes_inconclusive:
            return verdict != VIOLATED
        return verdict == self.of(clause)

    def updated(self, now: Verdicts) -> Verdicts:
        """Return the verdicts of a run, with what is known to be only sometimes inconclusive or violated."""
        chance = {*self.sometimes_inconclusive, *self.sometimes_violated}
        return Verdicts(
            violated=[each for each in now.violated if each not in self.sometimes_violated],
            inconclusive=[clause for clause in now.inconclusive if clause not in chance],
            sometimes_inconclusive=self.sometimes_inconclusive,
            sometimes_violated=self.sometimes_violated,
        )


UNKNOWN = Verdicts(violated=[], inconclusive=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCells:
    """What the newest complete run of one target found.

    Attributes:
        verdicts: its verdicts.
        unexplained: the inconclusive cells for which the run gives no reason, as clause and listener.
    """

    verdicts: Verdicts
    unexplained: list[str]


def found_in(runs: Path) -> Mapping[str, FoundCells]:
    """Return, by target, what its newest complete run found."""
    complete = [
        (datetime.fromisoformat(header["started_at"]), folder, header)
        for folder, header in complete_runs(runs.glob(f"*/{HEADER_FILE}"))
    ]
    cells: dict[str, FoundCells] = {}
    # A newer run of the same target replaces an older one.
    for _, folder, header in sorted(complete, key=lambda run: run[:2]):
        cells |= _found_in_run(folder, header)
    return cells


def _found_in_run(folder: Path, header: Header) -> Mapping[str, FoundCells]:
    verdicts = run_verdicts(folder, header)
    reasons = {(cell["clause"], cell["target"], cell["listener"]): cell["reason"] for cell in header["planned_cells"]}
    cells = {}
    for target in (entry["id"] for entry in header["targets"]):
        own = {key: verdict for key, verdict in verdicts.items() if key.target == target}
        broken = {key.clause for key, verdict in own.items() if verdict in VIOLATED_VERDICTS}
        open_cells = [key for key, verdict in own.items() if verdict in UNSETTLED_VERDICTS]
        cells[target] = FoundCells(
            verdicts=Verdicts(
                violated=sorted(broken),
                inconclusive=sorted({key.clause for key in open_cells} - broken),
            ),
            unexplained=[
                f"{key.clause} on {key.listener}"
                for key in open_cells
                if not reasons[key.clause, key.target, key.listener]
            ],
        )
    return cells


def differences(
    cells: Mapping[str, FoundCells], expected: Mapping[str, Verdicts], *, targets: Iterable[str]
) -> list[str]:
    """Return one line per difference."""
    lines = [f"{target}: no complete run" for target in sorted(set(targets) - cells.keys())]
    for target, found_cells in cells.items():
        now = found_cells.verdicts
        known = expected.get(target, UNKNOWN)
        clauses = {*now.violated, *now.inconclusive, *known.violated, *known.inconclusive}
        lines += [
            f"{target}: {clause} is {now.of(clause)} now"
            for clause in sorted(clauses)
            if not known.expects(clause, now.of(clause))
        ]
        lines += [f"{target}: {cell} is inconclusive without a reason" for cell in found_cells.unexplained]
    return lines


def read_expected(path: Path) -> dict[str, Verdicts]:
    """Read a list of expected verdicts."""
    return {target: Verdicts(**entry) for target, entry in json.loads(path.read_text()).items()}


@click.command(cls=SuiteCommand, name="workflows.expected_cells")
@click.argument("runs", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.argument("expected", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--targets", default="", metavar="IDS", help="targets that must have a complete run")
@click.option("--write", is_flag=True, help="replace the entries of the judged targets")
def main(runs: Path, expected: Path, targets: str, *, write: bool) -> None:
    """Compare what runs found with what is expected."""
    cells, wanted = found_in(runs), read_expected(expected)
    if write:
        wanted |= {target: wanted.get(target, UNKNOWN).updated(each.verdicts) for target, each in cells.items()}
        entries = {target: asdict(entry) for target, entry in wanted.items()}
        expected.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
        return
    lines = differences(cells, wanted, targets=targets.split())
    for line in lines:
        click.echo(line, err=True)
    raise SystemExit(1 if lines else 0)


if __name__ == "__main__":
    main()
