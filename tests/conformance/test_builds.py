"""A build of Kafka in a folder is judged like the nearest release, and the record says what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.registry.targets import newest_release
from reports.records import Verdict
from reports.run.run_folder import read_run_header
from reports.run.run_verdicts import run_verdicts
from tests.conformance.suite_runs import run_suite
from tests.fixtures.kafka_homes import COMMIT, VERSION, renamed_release

DECLARED = {known.clause for known in newest_release().known_violations}
NEEDS_A_LAUNCHER = (
    "KIP-511.connections-metric",
    "KIP-511.request-log",
    "KIP-35.throttle-time",
)


@pytest.mark.nightly
@pytest.mark.slow  # It starts a real broker, and judges all of its listeners
def test_jars_under_another_version_violate_what_the_release_declares(tmp_path: Path) -> None:
    """On all listeners, with log, metrics and quotas; nothing else is violated, and nothing is left out."""
    folder = renamed_release(tmp_path / f"kafka_2.13-{VERSION}")
    run = run_suite(
        "--kafka-home", str(folder), "--tier", "smoke", runs=tmp_path / "runs", every_listener=True
    )
    assert run.status == 0, run.output
    assert f"{folder}, commit {COMMIT}; judged like {newest_release().id}" in run.output
    header = read_run_header(run.folder)
    (target,) = header["targets"]
    assert {
        key: target[key] for key in ("id", "release", "launcher", "like", "folder", "commit")
    } == {
        "id": f"kafka-build-{VERSION}",
        "release": VERSION,
        "launcher": "home",
        "like": newest_release().id,
        "folder": str(folder),
        "commit": COMMIT,
    }
    assert f"kafka_2.13-{VERSION}.jar" in target["artefacts"]
    listeners = {cell["listener"] for cell in header["planned_cells"]}
    assert listeners == set(newest_release().listeners)
    found: dict[Verdict, set[str]] = {}
    for cell, verdict in run_verdicts(run.folder, header).items():
        found.setdefault(verdict, set()).add(cell.clause)
    assert found.keys() == {Verdict.CONFORMS, Verdict.KNOWN_VIOLATION, Verdict.NOT_APPLICABLE}
    assert found[Verdict.KNOWN_VIOLATION] == DECLARED
    assert set(NEEDS_A_LAUNCHER) <= found[Verdict.CONFORMS]
