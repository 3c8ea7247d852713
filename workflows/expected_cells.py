"""Compares the clauses that runs found violated with the expected ones, target by target.

    python -m workflows.expected_cells RUNS EXPECTED.json [--write]

`EXPECTED.json` maps each target to the ids of the clauses that it violates. Exit status: 0 if every target given by
`--targets` has a complete run and every judged target violates exactly its expected clauses, otherwise 1. With
`--write` the list is rewritten from the runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from reports.errors import RunRefused
from reports.records import Verdict
from reports.run_folder import read_run_header
from reports.run_verdicts import run_verdicts

_BROKEN = (Verdict.VIOLATES, Verdict.FLAKY)


def violated_clauses(runs: Path) -> Mapping[str, list[str]]:
    """Return, by target, the clauses that its newest complete run found violated on any listener."""
    found: dict[str, list[str]] = {}
    for path in sorted(runs.glob("*/run.json")):
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            # For example, it has no footer because it was interrupted.
            continue
        verdicts = run_verdicts(path.parent, header)
        for target in (entry["id"] for entry in header["targets"]):
            broken = {k.clause for k, v in verdicts.items() if k.target == target and v in _BROKEN}
            found[target] = sorted(broken)
    return found


def differences(
    found: Mapping[str, list[str]], expected: Mapping[str, list[str]], *, targets: frozenset[str]
) -> list[str]:
    """Return one line per difference.

    Args:
        found: the violated clauses, by target.
        expected: the expected clauses, by target.
        targets: the targets that need a complete run.
    """
    lines = [f"{target}: no whole run" for target in sorted(targets - found.keys())]
    for target, clauses in found.items():
        known = expected.get(target, [])
        lines += [f"{target}: {clause} is violated" for clause in sorted(set(clauses) - set(known))]
        lines += [f"{target}: {clause} holds now" for clause in sorted(set(known) - set(clauses))]
    return lines


@click.command(name="workflows.expected_cells")
@click.argument("runs", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.argument("expected", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--targets", default="", metavar="IDS", help="what must have a whole run")
@click.option("--write", is_flag=True, help="make the list anew")
def main(runs: Path, expected: Path, targets: str, *, write: bool) -> None:
    """Compare the violated clauses with the expected ones."""
    found = violated_clauses(runs)
    if write:
        expected.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        return
    wanted = json.loads(expected.read_text())
    lines = differences(found, wanted, targets=frozenset(targets.split()))
    for line in lines:
        click.echo(line, err=True)
    raise SystemExit(1 if lines else 0)


if __name__ == "__main__":
    main()
