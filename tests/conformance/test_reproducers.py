"""Each planted defect is caught, and its reproducer shows it by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from fixtures.launchers.built_in import launch_built_in, reference_targets
from reference_model.defects import DEFECTS
from reports.records import Verdict
from tests.conformance.suite_runs import SuiteRun

TARGETS = {target.id: target for target in reference_targets()}
FAILURE_SHOWS = 1
FAILURE_DOES_NOT_SHOW = 0
NO_CONNECTION = 3
TIME_LIMIT_S = 60


@pytest.fixture(scope="module")
def healthy_address() -> Iterator[str]:
    """Address of a healthy reference broker."""
    with launch_built_in(TARGETS["reference"]) as running:
        yield str(running.addresses["plaintext"])


@pytest.mark.parametrize("defect", DEFECTS)
def test_reproducer_tells_defect_from_health(
    defect: str, defects_run: SuiteRun, healthy_address: str
) -> None:
    """The clauses that a defect breaks are violated, and the scripts show it there and not elsewhere."""
    target = f"reference+{defect}"
    broken = DEFECTS[defect].breaks
    verdicts = defects_run.verdicts()
    assert {verdicts[target, clause] for clause in broken} == {Verdict.VIOLATES}
    failures = defects_run.failures()
    for clause in broken:
        script = failures[target, clause] / "reproducer.py"
        # A defect may remember earlier connections; the script gets a broker that has none.
        with launch_built_in(TARGETS[target]) as running:
            again = subprocess.run(
                [sys.executable, "-I", script, str(running.addresses["plaintext"])],
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_S,
                check=False,
            )
        assert again.returncode == FAILURE_SHOWS, again.stdout + again.stderr
        assert "The failure shows." in again.stdout
        healthy = subprocess.run(
            [sys.executable, "-I", script, healthy_address],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        assert healthy.returncode == FAILURE_DOES_NOT_SHOW, healthy.stdout + healthy.stderr
        assert "The target does not do what was recorded." in healthy.stdout
