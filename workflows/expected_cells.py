"""Compares what runs found violated with a list of what is expected, target by target.

    python -m workflows.expected_cells RUNS EXPECTED.json [--write]

`EXPECTED.json` has, by target, the ids of the clauses that it violates. Exit status: 0 where every target of the list
that was judged has a whole run and just these clauses are violated, else 1. With `--write` the list is made anew.
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
    """Return, by target, the clauses that its newest whole run found violated on any listener."""
    found: dict[str, list[str]] = {}
    for path in sorted(runs.glob("*/run.json")):
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            # It has no footer: whoever wrote it did not come to the end.
            continue
        verdicts = run_verdicts(path.parent, header)
        for target in (entry["id"] for entry in header["targets"]):
            broken = {k.clause for k, v in verdicts.items() if k.target == target and v in _BROKEN}
            found[target] = sorted(broken)
    return found


def differences(
    found: Mapping[str, list[str]], expected: Mapping[str, list[str]], *, targets: frozenset[str]
) -> list[str]:
    """Name what differs, a line each.

    Args:
        found: what was violated, by target.
        expected: what is expected, by target.
        targets: those that have to have a whole run.
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
    """Compare what runs found violated with what is expected."""
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
