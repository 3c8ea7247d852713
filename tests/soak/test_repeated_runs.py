"""Many runs in a row have the same verdicts, and leave nothing.

No process, port or file may be left.

`KAFKA_CONFORMANCE_SOAK_RUNS` says how many there are of each kind.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fixtures.polling import poll_until
from reports.run.run_folder import read_run_header, run_verdicts
from tests.conformance.suite_runs import REPOSITORY
from tests.soak.leftovers import (
    ENDING_S,
    adopting_orphans,
    left_files,
    left_processes,
    number_in,
    rise,
    running_children,
)

RUNS = number_in("KAFKA_CONFORMANCE_SOAK_RUNS", 50)
MAX_RUN_S = 900
MAX_TIMES = 1.1
"""Memory of the last runs in memory of the first ones."""
KINDS = {
    "the reference broker": ("reference", "--listener", "plaintext"),
    "a client": ("--client", "aiokafka-0.14.0"),
}

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(RUNS * MAX_RUN_S)]


@pytest.mark.parametrize("kind", KINDS)
def test_runs_agree_and_leave_nothing(kind: str, tmp_path: Path) -> None:
    """Each run ends with the same status and verdicts as the first one, and as much memory."""
    temporary, runs = tmp_path / "temporary", tmp_path / "runs"
    temporary.mkdir()
    faults: list[str] = []
    memory_mib: list[float] = []
    results: list[str] = []
    began = time.monotonic()
    with adopting_orphans():
        for number in range(RUNS):
            before = running_children()
            status, peak_mib = _run(*KINDS[kind], runs=runs / str(number), temporary=temporary)
            poll_until(lambda: not left_files(temporary), True, limit_s=ENDING_S)
            left = left_processes(before) + left_files(temporary)
            (folder,) = (runs / str(number)).iterdir()
            verdicts = run_verdicts(folder, read_run_header(folder))
            results.append(f"status {status}, {sorted((str(k), str(v)) for k, v in verdicts.items())}")
            memory_mib.append(peak_mib)
            if results[-1] != results[0]:
                left.append(f"its result differs from the first one's: {results[-1]}")
            faults += [f"run {number}: {each}" for each in left]
    low, high = min(memory_mib), max(memory_mib)
    seconds = time.monotonic() - began
    sys.stdout.write(f"{RUNS} runs of {kind}: {seconds:.0f} s, {low:.0f} to {high:.0f} MiB\n")
    faults += rise("memory of a run", memory_mib, most=MAX_TIMES)
    assert faults == []


def _run(*arguments: str, runs: Path, temporary: Path) -> tuple[int, float]:
    """Judge in the smoke tier; return the exit status, and the most memory of one process in MiB."""
    command = ["-m", "conformance", "judge", *arguments, "--tier", "smoke", "--runs", str(runs)]
    with (temporary.parent / "output.txt").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=REPOSITORY,
            env={**os.environ, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss / 1024
