"""A stored failure is read from its folder, and anything else is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.failures.stored_failures import NoStoredFailure, read_failure
from tests.conformance.suite_runs import SuiteRun

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"


def test_failure_becomes_an_entry(defects_run: SuiteRun) -> None:
    """The entry has the request without the sentinel, and a note of its origin."""
    stored = defects_run.failures()[DEFECT, CLAUSE]
    (entry,) = read_failure(stored / "failure.json").entries()
    assert entry.data[4:6] == b"\0\x12"
    assert len(entry.data) == 4 + int.from_bytes(entry.data[:4])
    assert f"found on {DEFECT} (plaintext): {CLAUSE}" in entry.origin


def test_folder_without_a_failure_is_refused(tmp_path: Path) -> None:
    """A folder without a failure, or with an incomplete one, is refused by name."""
    instead = ": give a folder failures/SIGNATURE of a run, or a file in it"
    with pytest.raises(NoStoredFailure, match=f"{tmp_path} contains no failure{instead}"):
        read_failure(tmp_path)
    (tmp_path / "afile").touch()
    with pytest.raises(NoStoredFailure, match=f"{tmp_path}/afile is no failure{instead}"):
        read_failure(tmp_path / "afile")
    (tmp_path / "failure.json").mkdir()
    with pytest.raises(NoStoredFailure, match=r"failure\.json cannot be read: Is a directory"):
        read_failure(tmp_path)
    (tmp_path / "failure.json").rmdir()
    (tmp_path / "failure.json").write_text("[]")
    with pytest.raises(NoStoredFailure, match="does not describe a failure"):
        read_failure(tmp_path)


def test_run_in_place_of_its_failures_is_recognised(tmp_path: Path) -> None:
    """The sentence says whether it has some."""
    (tmp_path / "run.json").touch()
    with pytest.raises(NoStoredFailure, match=f"{tmp_path} is the folder of a run without failures"):
        read_failure(tmp_path)
    (tmp_path / "failures" / "x").mkdir(parents=True)
    with pytest.raises(NoStoredFailure, match=f"such as {tmp_path}/failures/"):
        read_failure(tmp_path)
