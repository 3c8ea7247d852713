"""Predictions from the requests of one run are compared with another's verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.run_folders import (
    clause_entry,
    example_row,
    planned_cell,
    run_header,
    write_exchanges,
    write_run,
)
from wire.frames import encode_frame
from workflows.predictions import main

OPERATION = "a-1.0.produce"
NEW, OLD = "apache-kafka-4.4.0", "apache-kafka-3.9.2"
ASKS, PRODUCE_2, PRODUCE_12 = (18, 3), (0, 2), (0, 12)


def write_operations(runs: Path, target: str, verdict: str, *sent: tuple[int, int], row: str = OPERATION) -> Path:
    """Write a run of one operation with one release: its verdict, and the requests that it sent."""
    cell = planned_cell(row, target)
    header = run_header([cell], run_id=target, clauses=[clause_entry(row, role="operation")])
    header["footer"]["exchange_rows"] = len(sent)
    folder = write_run(runs / target, header, [example_row(header, verdict=verdict)])
    frames = [encode_frame(key.to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\0\1a") for key, version in sent]
    write_exchanges(folder, frames, clause=row)
    return folder


def compare(runs: Path, *options: str) -> Result:
    """Compare what was seen with the old release with what happened with the new one."""
    return CliRunner().invoke(main, [str(runs), "--watched", OLD, "--for", NEW, *options])


@pytest.mark.parametrize(
    ("sent", "happened", "wrong"),
    [
        ((ASKS, (0, 11)), "conforms", ""),
        ((ASKS, (0, 11)), "violates", "is served is predicted for apache-kafka-4.4.0, but it fails"),
        ((PRODUCE_2,), "informational", ""),
        ((PRODUCE_2,), "violates", ""),
        ((PRODUCE_2,), "conforms", "breaks is predicted for apache-kafka-4.4.0, but it works"),
        ((ASKS,), "conforms", ""),
        ((ASKS,), "violates", ""),
    ],
)
def test_a_wrong_prediction_is_found(
    tmp_path: Path, sent: tuple[tuple[int, int], ...], happened: str, wrong: str
) -> None:
    write_operations(tmp_path, OLD, "conforms", *sent)
    write_operations(tmp_path, NEW, happened, ASKS, PRODUCE_12)
    result = compare(tmp_path)
    assert wrong in result.output
    assert result.exit_code == bool(wrong)
    assert result.output.endswith(f"1 prediction, {int(bool(wrong))} of them wrong\n")


def test_what_is_about_all_operations_is_no_prediction(tmp_path: Path) -> None:
    for target, happened in ((OLD, "conforms"), (NEW, "violates")):
        write_operations(tmp_path, target, happened, PRODUCE_12, row="a-1.0.newest-versions")
    assert compare(tmp_path).exit_code == 2


def test_an_operation_that_could_not_be_tried_proves_nothing(tmp_path: Path) -> None:
    write_operations(tmp_path / "a", OLD, "violates", PRODUCE_2)
    write_operations(tmp_path / "a", NEW, "conforms", PRODUCE_12)
    write_operations(tmp_path / "b", OLD, "conforms", PRODUCE_2)
    write_operations(tmp_path / "b", NEW, "inconclusive", PRODUCE_12)
    for runs in (tmp_path / "a", tmp_path / "b"):
        result = compare(runs)
        assert result.exit_code == 2
        assert "no complete runs of operations with two such releases" in result.output


def test_what_is_no_run_of_operations_is_left_out(tmp_path: Path) -> None:
    """Runs of brokers are skipped, those that were cut off are named, and those of targets without a table cannot be
    predicted."""
    header = run_header([planned_cell()], run_id="brokers")
    write_run(tmp_path / "brokers", header, [example_row(header)])
    write_operations(tmp_path, "kafka-cluster-4.4.0", "conforms", PRODUCE_12)
    write_operations(tmp_path, NEW, "conforms", PRODUCE_12)
    write_operations(tmp_path, OLD, "conforms", ASKS, (0, 11))
    (tmp_path / "cut-off").mkdir()
    (tmp_path / "cut-off" / "run.json").write_text("")
    result = compare(tmp_path)
    assert result.exit_code == 0
    assert "not compared" in result.output
    assert result.output.endswith("1 prediction, 0 of them wrong\n")
