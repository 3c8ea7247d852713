"""Tests of the roll-up command: tables, refused runs, Spark's log, exit status.

The exit status says whether any run counted. What Spark prints is shown if an error needs it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reports.grid.table_rows import inputs_sha256
from reports.records import Verdict
from reports.site.build import build_site, read_tables
from spark_aggregation.job import command, stderr_held_back
from spark_aggregation.tables.table_schemas import TABLES
from tests.broken_run_folders import BROKEN, write_whole_run
from tests.run_folders import example_row, planned_cell, run_header, write_run

needs_spark = pytest.mark.usefixtures("spark")


def _run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        command([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@needs_spark
def test_tables_are_written_and_refused_runs_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run folder and a folder of run folders yield every table, with the hash of its inputs; a cut-off run is
    named."""
    counted = {
        run_id: write_whole_run(tmp_path / folder, run_id=run_id)
        for run_id, folder in (("r2", "all/nightly/r2"), ("r1", "alone"))
    }
    cut_off = write_whole_run(tmp_path / "all" / "cut off", run_id="r3")
    BROKEN["no footer"][0](cut_off)
    score = tmp_path / "mutation.json"
    score.write_text('{"seeds": 1, "kills": [], "note": "ü"}', encoding="utf-8")
    out = tmp_path / "out"
    assert _run(tmp_path / "alone", tmp_path / "all", "--out", out, "--mutation", score) == 0

    assert {path.name for path in (out / "tables").iterdir()} == {f"{name}.parquet" for name in TABLES}
    assert pq.read_table(out / "tables" / "runs.parquet").num_rows == 2
    assert pq.read_table(out / "tables" / "cells.parquet").num_rows == 1
    assert json.loads((out / "refused.json").read_text()) == [
        {
            "folder": str(cut_off),
            "refusal": "cut_off",
            "reason": "run.json has no footer: the run did not end",
        }
    ]
    assert f"refused {cut_off}: run.json has no footer" in capsys.readouterr().err

    lines = sorted(
        f"{hashlib.sha256((folder / 'run.json').read_bytes()).hexdigest()}  {run_id}\n"
        for run_id, folder in counted.items()
    )
    of_runs = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert {name: inputs_sha256(out / "tables", name) for name in TABLES} == {
        **dict.fromkeys(TABLES, of_runs),
        "mutation": hashlib.sha256(score.read_bytes()).hexdigest(),
        "release_changes": "",
        "inputs_left_out": "",
    }


@needs_spark
def test_nothing_valid_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If every run is refused, no table is written and the exit status is 1."""
    BROKEN["half a header"][0](write_whole_run(tmp_path / "run"))
    assert _run(tmp_path / "run", "--out", tmp_path / "out") == 1
    assert not (tmp_path / "out" / "tables").exists()
    assert len(json.loads((tmp_path / "out" / "refused.json").read_text())) == 1
    assert "none of the given runs is valid" in capsys.readouterr().err


@needs_spark
def test_missing_path_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that does not exist is named, and the command ends with exit status 2."""
    write_whole_run(tmp_path / "run")
    assert _run(tmp_path / "run", tmp_path / "mistyped", "--out", tmp_path / "out") == 2
    assert "mistyped" in capsys.readouterr().err


@needs_spark
@pytest.mark.parametrize("arguments", [(), ("--history", "h", "--rebuild")])
def test_runs_are_needed(arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Except for the runs of a history, which a rebuild discards."""
    assert _run(*arguments, "--out", tmp_path / "out") == 2
    assert "give run folders" in capsys.readouterr().err


def test_tables_become_a_page_with_evidence(spark: SparkSession, tmp_path: Path) -> None:
    """From run folder to page: the violation leads to its bytes and packets, and to the declaration that describes
    it."""
    header = run_header([planned_cell()])
    failing = example_row(header, verdict="violates", failure_signature="0123456789abcdef")
    folder = write_run(tmp_path / "a run", header, [failing])
    failure = folder / "failures" / "0123456789abcdef"
    failure.mkdir(parents=True)
    (failure / "exchange.txt").write_text("00 12 00 03")
    (failure / "exchange.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    (failure / "failure.json").write_text(json.dumps({"known_violation": "open as KAFKA-1"}))
    assert _run(tmp_path / "a run", "--out", tmp_path / "out") == 0
    summary = build_site(*read_tables(tmp_path / "out"), tmp_path / "out")
    assert summary.cells == {Verdict.VIOLATES: 1}
    pages = [page.read_text() for page in (tmp_path / "out").rglob("*.html")]
    assert any("00 12 00 03" in page for page in pages)
    assert any("<dt>Declared because</dt><dd>open as KAFKA-1</dd>" in page for page in pages)
    packets = tmp_path / "out" / "failures" / failure.name / "exchange.pcap"
    assert packets.read_bytes() == b"\xd4\xc3\xb2\xa1"


@needs_spark
def test_missing_report_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is written, the error names the command that makes the report."""
    write_whole_run(tmp_path / "run")
    missing = tmp_path / "mutation.json"
    assert _run(tmp_path / "run", "--out", tmp_path / "out", "--mutation", missing) == 2
    assert f"{missing} is not a file; `kafka-conformance mutation --out`" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


_CHILD = [sys.executable, "-c", "import sys; sys.stderr.write('of a child\\n')"]


def _fail(error: Exception) -> None:
    with stderr_held_back(lambda raised: isinstance(raised, KeyError)):
        subprocess.run(_CHILD, check=True)
        raise error


def test_words_are_shown_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost if the block succeeds."""
    with stderr_held_back(lambda raised: True):
        subprocess.run(_CHILD, check=True)
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "of a child\n"


def test_words_are_dropped_if_the_error_says_it(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError):
        _fail(KeyError())
    assert capfd.readouterr().err == ""
    with pytest.raises(ValueError, match="unknown"):
        _fail(ValueError("unknown"))
    assert capfd.readouterr().err == "of a child\n"
