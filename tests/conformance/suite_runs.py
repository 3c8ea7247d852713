"""Runs the suite in a separate process, as users do, and reads its records.

The command is `pytest conformance/ ...`.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pyarrow.parquet as pq

from conformance.mutation.properties import all_properties, proxy_properties
from reference_model.faults.broker import DEFECTS
from reports.records import WORST_FIRST, Verdict
from reports.run.run_folder import run_verdicts

REPOSITORY = Path(__file__).parent.parent.parent
SUITE = "conformance/"
END_TIMEOUT_S = 20
TIME_LIMIT_S = 500
"""Far above the duration of any run here; it only keeps a hanging run from blocking the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """One finished run.

    Attributes:
        status: its exit status.
        output: what it printed.
    """

    status: int
    output: str

    @property
    def folder(self) -> Path:
        """The run's folder, as its output names it."""
        _, _, rest = self.output.partition("\nrecords: ")
        return Path(rest.partition("\n")[0])

    @property
    def header(self) -> dict[str, Any]:
        """The content of `run.json`."""
        content: dict[str, Any] = json.loads((self.folder / "run.json").read_text())
        return content

    def rows(self, table: str = "examples") -> list[dict[str, Any]]:
        """Return all rows of one of the run's tables, in the order of writing."""
        parts = sorted((self.folder / table).glob("*.parquet"))
        return [row for part in parts for row in pq.read_table(part).to_pylist()]

    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """Return the verdict of each planned clause by target and clause: the worst, if there are several listeners."""
        found = run_verdicts(self.folder, self.header)
        best_first = sorted(found, key=lambda cell: -WORST_FIRST.index(found[cell]))
        return {(cell.target, cell.clause): found[cell] for cell in best_first}

    def failures(self) -> dict[tuple[str, str], Path]:
        """Return the folder of each failure by target and clause."""
        facts = {path.parent: json.loads(path.read_text()) for path in self.folder.glob("failures/*/failure.json")}
        return {(fact["target"], fact["clause"]): folder for folder, fact in facts.items()}


def start_suite(
    *options: str,
    runs: Path,
    suite: Sequence[str] = (SUITE,),
    profile: str = "ci",
    variables: Mapping[str, str] | None = None,
    every_listener: bool = False,
) -> subprocess.Popen[str]:
    """Start a run on the plaintext listener, unless options or `every_listener` name others; its output goes to a
    pipe."""
    chosen = every_listener or "--listener" in options
    listener = () if chosen else ("--listener", "plaintext")
    command = [sys.executable, "-m", "pytest", *suite, *options, *listener, "--runs", str(runs)]
    return subprocess.Popen(
        [*command, "-p", "no:cacheprovider"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=REPOSITORY,
        env={
            **os.environ,
            "KAFKA_CONFORMANCE_PROFILE": profile,
            "PYTHONUNBUFFERED": "1",
            **(variables or {}),
        },
    )


def finish(process: subprocess.Popen[str]) -> SuiteRun:
    """Wait for a run that was started."""
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT_S)
    finally:
        process.kill()
    return SuiteRun(status=process.returncode, output=output)


def run_suite(*options: str, runs: Path, **how: Any) -> SuiteRun:
    """Run the suite until it ends; see `start_suite`."""
    return finish(start_suite(*options, runs=runs, **how))


def drain(process: subprocess.Popen[str]) -> None:
    """Read the output of a run that nothing else reads, in the background: it would fill the pipe."""
    assert process.stdout is not None
    threading.Thread(target=process.stdout.read, daemon=True).start()


def await_line(process: subprocess.Popen[str], text: str) -> str:
    """Read a run's output up to the first line that contains a text; return everything read."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"the run ended without {text!r}:\n{seen}")


def children_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the current descendants of a process."""
    children: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return children


def survivors(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Wait for processes to end; return those that did not end within the time limit."""
    _, alive = psutil.wait_procs(processes, timeout=END_TIMEOUT_S)
    return list(alive)


def judge_defects(names: Iterable[str], folder: Path, *options: str) -> SuiteRun:
    """Judge each defect by the properties of the clauses that it breaks, with further options of the suite."""
    brokers = [part for name in names for part in ("--broker", f"reference+{name}")]
    chosen = [
        f"{Path(inspect.getfile(judged.body)).relative_to(REPOSITORY)}::{judged.name}[reference+{name}]"
        for name in names
        for judged in {**all_properties(), **proxy_properties()}.values()
        if set(judged.clauses) & set(DEFECTS[name].breaks)
    ]
    return run_suite(
        *(*brokers, "--alluredir", str(folder / "allure"), *options),
        runs=folder / "runs",
        suite=chosen,
        profile="unshrunk",
    )
