"""Targets other than Apache Kafka's newest release and the reference broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.launchers.built_in import launch_built_in, reference_targets
from reports.records import Verdict
from tests.conformance.suite_runs import REPOSITORY, run_suite

PIN = "PROTOCOL.unknown-api-refused"
SWEPT = {"KIP-35.every-advertised-version-served", "KIP-35.outside-range-not-served"}


@contextmanager
def old_release() -> Iterator[str]:
    """Serve the reference model of a release that only supports ApiVersions v0; yield its address."""
    command = [sys.executable, "-m", "fixtures.model_processes.server"]
    with subprocess.Popen(
        [*command, "--release", "0.10.0.1", "--quorum", "zookeeper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as server:
        assert server.stdout is not None
        try:
            yield f"127.0.0.1:{json.loads(server.stdout.readline())['plaintext']}"
        finally:
            server.kill()


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


@pytest.mark.slow
def test_clauses_of_versions_that_are_not_served_do_not_apply(tmp_path: Path) -> None:
    """A target that only supports v0 is judged by clauses from v0; the others say why they do not apply."""
    with old_release() as address:
        run = run_suite("--bootstrap-server", address, "--tier", "smoke", runs=tmp_path)
    levels = {clause["id"]: clause["level"] for clause in run.header["clauses"]}
    verdicts = {clause: verdict for (_, clause), verdict in run.verdicts().items()}
    assert verdicts["KIP-35.v0-always-served"] is Verdict.CONFORMS
    assert verdicts["KIP-511.names-refused"] is Verdict.NOT_APPLICABLE
    # The reference broker answers other APIs only in versions that the newest schemas still have.
    assert verdicts.pop("KIP-35.every-advertised-version-served") is Verdict.VIOLATES
    assert {
        clause
        for clause, verdict in verdicts.items()
        if levels[clause] == "MUST" and verdict not in (Verdict.CONFORMS, Verdict.NOT_APPLICABLE)
    } == set(), run.output
    reasons = {cell["reason"] for cell in run.header["planned_cells"] if not cell["applicable"]}
    assert "applies from ApiVersions v3 on; the target serves at most v0" in reasons
