"""The records of a run: header, rows, footer and failures."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq
import pytest

from clauses.catalogue import Role, catalogue
from reference_model.profiles.listeners import PLAINTEXT, USUAL_LISTENERS
from reports.arrow_schemas import arrow_schema
from reports.records import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column, Verdict
from reports.run.run_writer import code_sha256
from tests.conformance.suite_runs import REPOSITORY, SuiteRun, run_suite

FAILURE_FILES = {"example.txt", "exchange.pcap", "exchange.txt", "failure.json", "reproducer.py"}


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("examples", EXAMPLE_FIELDS),
        ("exchanges", EXCHANGE_FIELDS),
        ("answers", ANSWER_FIELDS),
    ],
)
def test_rows_have_the_record_schema(
    table: str, fields: tuple[Column, ...], defects_run: SuiteRun
) -> None:
    """Every Parquet file of a run has exactly the columns and types of the record schema."""
    parts = list((defects_run.folder / table).glob("*"))
    assert parts
    for part in parts:
        assert pq.read_schema(part).equals(arrow_schema(fields))


def test_footer_counts_the_rows(defects_run: SuiteRun) -> None:
    """The footer has the number of rows in the files, and the exit status of the run."""
    footer = defects_run.header["footer"]
    assert footer["example_rows"] == len(defects_run.rows("examples"))
    assert footer["exchange_rows"] == len(defects_run.rows("exchanges"))
    assert footer["exit_status"] == defects_run.status


def test_header_follows_the_published_schema(healthy_run: SuiteRun) -> None:
    """`run.json` of a complete run is valid under the project's published JSON Schema."""
    schema = json.loads((REPOSITORY / "reports/run_schema.json").read_text())
    jsonschema.validate(healthy_run.header, schema)


@pytest.mark.slow
@pytest.mark.nightly  # A run on all listeners, as `.ci/run` has of releases
def test_every_planned_cell_has_a_verdict(tmp_path: Path) -> None:
    """A complete run has all listeners, plans every judged clause, and leaves no cell without a verdict."""
    options = ("--broker", "reference", "--tier", "smoke")
    run = run_suite(*options, runs=tmp_path, every_listener=True)
    assert run.status == 0, run.output
    assert run.header["whole"] is True
    assert {cell["listener"] for cell in run.header["planned_cells"]} == set(USUAL_LISTENERS)
    verdicts = run.verdicts()
    judged = {
        clause.id for clause in catalogue() if Role.BROKER in clause.roles and not clause.not_tested
    }
    assert verdicts.keys() == {("reference", clause) for clause in judged}
    assert Verdict.NOT_RUN not in verdicts.values()


def test_run_on_one_listener_is_not_complete(healthy_run: SuiteRun) -> None:
    """Its header says so, because such a run never counts as a complete run of its tier."""
    assert {cell["listener"] for cell in healthy_run.header["planned_cells"]} == {PLAINTEXT}
    assert healthy_run.header["whole"] is False
    assert healthy_run.header["suite"]["code_sha256"] == code_sha256()


def test_answers_are_stored_once(healthy_run: SuiteRun) -> None:
    """Each distinct answer is stored once, and every exchange with it refers to it."""
    stored = [row["answer_sha256"] for row in healthy_run.rows("answers")]
    referred = {row["answer_sha256"] for row in healthy_run.rows("exchanges")} - {None}
    assert len(stored) == len(set(stored))
    assert referred == set(stored)


def test_each_failure_has_its_files(defects_run: SuiteRun) -> None:
    """Each distinct failure in the rows has a folder named after its signature, with all files."""
    signatures = {row["failure_signature"] for row in defects_run.rows()} - {None}
    folders = {folder.name: folder for folder in (defects_run.folder / "failures").iterdir()}
    assert folders.keys() == signatures
    for folder in folders.values():
        assert {file.name for file in folder.iterdir()} == FAILURE_FILES


def test_summary_is_markdown(healthy_run: SuiteRun) -> None:
    """`summary.md` has one line per clause."""
    lines = (healthy_run.folder / "summary.md").read_text().splitlines()
    assert lines[0] == f"# Run {healthy_run.folder.name}"
    assert lines[2] == "| clause | level | reference |"
    assert "| KIP-35.keys-unique | MUST | ✓ conforms |" in lines
    assert len(lines) == 6 + len(healthy_run.verdicts())
    assert lines[-1].startswith("Load of the machine: ")
