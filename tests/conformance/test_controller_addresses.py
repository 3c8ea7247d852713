"""`--bootstrap-server` with the address of a KRaft controller: it is judged as one, and the terminal says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.launchers.built_in import launch_built_in, reference_targets
from tests.conformance.suite_runs import run_suite

CLAUSE = "KIP-35.controller-listener-table"


@pytest.mark.slow
def test_role_of_an_address_is_named(tmp_path: Path) -> None:
    """A controller has the clause about controllers, and a sentence in the terminal."""
    reference = next(each for each in reference_targets() if each.id == "reference")
    with launch_built_in(reference) as running:
        address = str(running.addresses["controller"])
        run = run_suite(
            *("--bootstrap-server", address, "--tier", "smoke", "-k", "table"),
            runs=tmp_path,
            every_listener=True,
        )
    assert run.status == 0, run.output
    assert "is a KRaft controller: " in run.output
    assert CLAUSE in {clause for _, clause in run.verdicts()}
    assert run.header["whole"] is False, "it leaves properties out"
