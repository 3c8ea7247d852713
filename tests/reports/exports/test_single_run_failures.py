"""Tests of the stored failures of a single run folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reports.exports.single_run import grid_of_run
from reports.exports.single_run_failures import failures_of_run
from reports.run_folders.refused_runs import RunRefused
from tests.reports.exports.runs import SIGNATURE, run_with_failures
from tests.reports.recorders import answered_step, failure_of, key_of
from tests.written_failures import write_failure

FACTS = {
    "property_name": "test_x",
    "kind": "AssertionError",
    "message": "m",
    "example": "{}",
    "verdict": "violates",
}


def _keep_failure(run: Path, facts: str) -> Path:
    folder = run / "failures" / SIGNATURE
    folder.mkdir(parents=True)
    (folder / "failure.json").write_text(facts)
    return folder


def test_what_was_kept_of_a_failure_is_read(tmp_path: Path) -> None:
    """Texts come from the failure's folder; a missing file is an empty text."""
    folder = run_with_failures(tmp_path / "run")
    failure_folder = _keep_failure(folder, json.dumps(FACTS))
    (failure_folder / "exchange.txt").write_bytes(b"00 12 \xff")
    (failure,) = failures_of_run(folder, grid_of_run(folder))
    assert (failure.property, failure.hex_dump, failure.reproducer) == ("test_x", "00 12 \\xff", "")
    assert failure.pcap is None


def test_failure_with_long_bytes_is_read(tmp_path: Path) -> None:
    folder = run_with_failures(tmp_path / "run")
    step = answered_step()
    (exchange,) = step.exchanges
    stray = replace(exchange, stray=bytes(600_000))
    long = replace(failure_of(key_of(), "seen", SIGNATURE), steps=(replace(step, exchanges=(stray,)),))
    failure_folder = write_failure(folder / "failures", replace(long, known_violation="open as KAFKA-1"))
    assert (failure_folder / "failure.json").stat().st_size > 2**20
    (failure,) = failures_of_run(folder, grid_of_run(folder))
    assert (failure.message, failure.known_violation) == ("seen", "open as KAFKA-1")
    assert json.loads(failure.facts)["steps"]


def test_capture_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    """The capture comes from the failure's folder; one that exceeds the size limit of a page's files is not read."""
    folder = run_with_failures(tmp_path / "run")
    failure_folder = _keep_failure(folder, json.dumps(FACTS))
    for content, read in ((b"\xd4\xc3\xb2\xa1", b"\xd4\xc3\xb2\xa1"), (bytes(2**20 + 1), None)):
        (failure_folder / "exchange.pcap").write_bytes(content)
        (failure,) = failures_of_run(folder, grid_of_run(folder))
        assert failure.pcap == read


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}"])
def test_damaged_failure_is_refused_by_name(text: str, tmp_path: Path) -> None:
    """The error about a failure.json without its facts names the folder."""
    folder = run_with_failures(tmp_path / "run")
    _keep_failure(folder, text)
    with pytest.raises(RunRefused, match=rf"failures/{SIGNATURE}/failure\.json is damaged"):
        failures_of_run(folder, grid_of_run(folder))


def test_signature_that_is_none_leads_nowhere(tmp_path: Path) -> None:
    """Rows are not trusted: a text that is not a signature is never used as a path."""
    folder = run_with_failures(tmp_path / "run", signature="../../outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "failure.json").write_text(json.dumps(FACTS))
    assert failures_of_run(folder, grid_of_run(folder)) == ()
