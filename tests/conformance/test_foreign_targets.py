"""Targets other than Apache Kafka's newest release and the reference broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.launchers.built_in import launch_built_in, reference_targets
from reports.records import Verdict
from tests.conformance.suite_runs import run_suite

PIN = "PROTOCOL.unknown-api-refused"
SWEPT = {"KIP-35.every-advertised-version-served", "KIP-35.outside-range-not-served"}


@pytest.mark.nightly  # `.ci/run` judges other brokers
@pytest.mark.slow
def test_what_a_foreign_target_is_not_bound_to(tmp_path: Path) -> None:
    """A difference from Kafka where sources are silent is information; a sweep that skips APIs conforms, and its cell names them."""
    defect = "reference+unlisted-apis-are-ignored"
    (target,) = (target for target in reference_targets() if target.id == defect)
    with launch_built_in(target) as running:
        address = str(running.addresses["plaintext"])
        chosen = "unlisted_api_is_closed or advertised_version_is_served or neighbours_of_a_range"
        run = run_suite(
            *("--bootstrap-server", address, "--tier", "smoke", "-k", chosen), runs=tmp_path
        )
    assert run.status == 0, run.output
    assert "is a KRaft controller" not in run.output
    verdicts = {clause: verdict for (_, clause), verdict in run.verdicts().items()}
    assert verdicts == {PIN: Verdict.INFORMATIONAL, **dict.fromkeys(SWEPT, Verdict.CONFORMS)}
    assert f"≈ {PIN} on {address} (plaintext): informational" in run.output
    assert (address, PIN) in run.failures()
    reasons = {cell["clause"]: cell["reason"] for cell in run.header["planned_cells"]}
    spared = "not requested, because this suite did not start the target: "
    assert all(
        reasons[each].startswith(spared) and "DeleteTopics" in reasons[each] for each in SWEPT
    )
    assert f"{len(SWEPT)} clauses are judged only partly on {address}: -v says why" in run.output
