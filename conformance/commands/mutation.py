"""`mutation`: does the suite see every planted defect, and blame just the clauses that it breaks?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from conformance.commands.errors import UnknownName
from fixtures.errors import UnknownTarget
from fixtures.launchers.built_in import REFERENCE, reference_targets
from fixtures.targets import select_targets
from reference_model.defects import DEFECTS
from reports.records import Phase, Verdict

DEPARTS_FROM_MODEL = "MODEL.agrees-with-reference"
"""Every defect departs from the model, so this clause may be violated beside those that it breaks."""
SUITE = Path(__file__).parent.parent
PROFILE = "unshrunk"
WIDEST_LINE = 220
EXPECTED_STATUSES = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one planted defect.

    Attributes:
        defect: its name.
        breaks: the clauses that it breaks.
        violated: the clauses that were found violated, each with the number of its first failing example.
    """

    defect: str
    breaks: tuple[str, ...]
    violated: Mapping[str, int]

    @property
    def missed(self) -> list[str]:
        """Clauses that it breaks and that were not found violated."""
        return sorted(set(self.breaks) - set(self.violated))

    @property
    def blamed(self) -> list[str]:
        """Clauses that were found violated although it does not break them."""
        return sorted(set(self.violated) - set(self.breaks) - {DEPARTS_FROM_MODEL})

    @property
    def is_exact(self) -> bool:
        """Whether exactly the broken clauses were found violated."""
        return not self.missed and not self.blamed


def run_suite(targets: Sequence[str], runs: Path) -> subprocess.Popen[str]:
    """Start the suite against targets, with records below `runs`; its output goes to a file there."""
    runs.mkdir(parents=True, exist_ok=True)
    chosen = [part for target in targets for part in ("--broker", target)]
    command = [sys.executable, "-m", "pytest", str(SUITE), *chosen, "--runs", str(runs)]
    command += ["--tb=no", "-q", "-p", "no:cacheprovider"]
    with (runs / "output.txt").open("w") as output:
        return subprocess.Popen(
            command,
            text=True,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=SUITE.parent,
            env={**os.environ, "KAFKA_CONFORMANCE_PROFILE": PROFILE},
        )


def violated_clauses(runs: Path, target: str) -> dict[str, int]:
    """Read from run folders which clauses a target violates, with the first failing example's number."""
    first: dict[str, int] = {}
    for part in sorted(runs.glob("*/examples/*.parquet")):
        table = pq.read_table(
            part, columns=["target", "clause", "verdict", "phase", "example_number"]
        )
        failing = table.filter(
            (pc.field("target") == target)
            & (pc.field("verdict") == Verdict.VIOLATES.value)
            & (pc.field("phase") == Phase.GENERATE.value)
        )
        for row in failing.to_pylist():
            number = row["example_number"]
            first[row["clause"]] = min(number, first.get(row["clause"], number))
    return first


def run_all(names: Sequence[str], folder: Path, jobs: int) -> None:
    """Run the suite against every defect, each in a process of its own, `jobs` at a time.

    Raises:
        click.ClickException: a run ended otherwise than with a verdict.
    """
    waiting = list(names)
    running: dict[str, subprocess.Popen[str]] = {}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("planted defects", total=len(names))
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    name = waiting.pop(0)
                    running[name] = run_suite([f"{REFERENCE}+{name}"], folder / name)
                done = next(iter(running))
                status = running[done].wait()
                del running[done]
                progress.advance(task)
                if status not in EXPECTED_STATUSES:
                    output = (folder / done / "output.txt").read_text()
                    raise click.ClickException(
                        f"the run against {REFERENCE}+{done} ended with status {status}:\n{output}"
                    )
        finally:
            for process in running.values():
                process.terminate()
                process.wait()


def result_table(results: Sequence[Result]) -> Table:
    """Return a table of defects with the clauses that caught them."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("planted defect", "breaks", "examples to kill", "result"):
        table.add_column(column, no_wrap=True)
    for result in results:
        verdict = "caught"
        if result.missed:
            verdict = f"SURVIVED {', '.join(result.missed)}"
        elif result.blamed:
            verdict = f"BLAMED ALSO {', '.join(result.blamed)}"
        examples = (str(result.violated.get(clause, "never")) for clause in result.breaks)
        table.add_row(result.defect, ", ".join(result.breaks), ", ".join(examples), verdict)
    return table


@click.command()
@click.argument("patterns", metavar="[DEFECT]...", nargs=-1)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="keep the run folders and mutation.json there",
)
def mutation(patterns: tuple[str, ...], jobs: int, out: Path | None) -> None:
    """Run the suite against the reference broker with each planted defect.

    DEFECT is a name or glob ("tags-*"); all of them if none is given. Fails unless exactly the clauses that a
    defect breaks are found violated.
    """
    wanted = [f"{REFERENCE}+{pattern}" for pattern in patterns or ("*",)]
    try:
        targets = select_targets(wanted, extra=reference_targets())
    except UnknownTarget as error:
        raise UnknownName(str(error)) from error
    names = [target.id.partition("+")[2] for target in targets]
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-mutation-") as scratch:
        folder = Path(scratch) if out is None else out
        run_all(names, folder, jobs)
        results = [
            Result(
                defect=name,
                breaks=DEFECTS[name].breaks,
                violated=violated_clauses(folder / name, f"{REFERENCE}+{name}"),
            )
            for name in names
        ]
        if out is not None:
            content = [asdict(result) for result in results]
            (out / "mutation.json").write_text(json.dumps(content, indent=1) + "\n")
    # A line that a terminal wraps is better than a name that is cut.
    Console(width=WIDEST_LINE).print(result_table(results))
    exact = sum(result.is_exact for result in results)
    click.echo(
        f"mutation score: {exact} of {len(results)} planted defects caught by exactly their clauses"
    )
    if exact < len(results):
        raise SystemExit(1)
