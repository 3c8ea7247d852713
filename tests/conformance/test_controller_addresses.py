"""`--bootstrap-server` with the address of a KRaft controller: it is judged as one, and the terminal says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.launchers import launch
from fixtures.launchers.built_in import launch_built_in, reference_targets
from fixtures.registry.targets import select_targets
from reports.records import Verdict
from tests.conformance.suite_runs import SuiteRun, run_suite

CLAUSE = "KIP-35.controller-listener-table"


def judged_at(address: object, runs: Path, *options: str) -> SuiteRun:
    """Judge an address in the smoke tier."""
    options = ("--bootstrap-server", str(address), "--tier", "smoke", *options)
    return run_suite(*options, runs=runs, every_listener=True)


def test_role_of_an_address_is_named(tmp_path: Path) -> None:
    """A controller has the clause about controllers, and a sentence in the terminal."""
    reference = next(each for each in reference_targets() if each.id == "reference")
    with launch_built_in(reference) as running:
        run = judged_at(running.addresses["controller"], tmp_path, "-k", "table")
    assert run.status == 0, run.output
    assert "is a KRaft controller: " in run.output
    assert CLAUSE in {clause for _, clause in run.verdicts()}
    assert run.header["whole"] is False, "it leaves properties out"


@pytest.mark.slow  # It starts a real broker
def test_real_controller_is_judged_as_one(tmp_path: Path) -> None:
    """Its ids are known, so KIP-1242 is judged, and every clause that is judged holds."""
    (target,) = select_targets(["apache-kafka-4.4.0"])
    with launch(target, "process") as running:
        address = running.addresses["controller"]
        run = judged_at(address, tmp_path)
    assert run.status == 0, run.output
    assert f"{address} is a KRaft controller: " in run.output
    verdicts = run.verdicts()
    for clause in (CLAUSE, "KIP-1242.both-match"):
        assert verdicts[str(address), clause] is Verdict.CONFORMS
