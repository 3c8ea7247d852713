"""The runs that benchmarks write are read as real ones are."""

from __future__ import annotations

from pathlib import Path

from benchmarks.synthetic_runs import night, write_run
from reports.run.run_folder import read_run_header


def test_synthetic_run_counts(tmp_path: Path) -> None:
    """Readers refuse files with encodings that the suite does not write, and rows that contradict their header."""
    (run,) = night(0, 500, targets=1)
    rows = write_run(tmp_path, run)
    assert rows >= 500
    assert read_run_header(tmp_path / run.run_id)["footer"]["example_rows"] == rows
