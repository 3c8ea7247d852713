"""The records of a run: header, rows, footer and failures."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from clauses.catalogue import Role, catalogue
from reference_model.profiles.listeners import PLAINTEXT, USUAL_LISTENERS
from reports.arrow_schemas import arrow_schema
from reports.records import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column, Verdict
from reports.run.run_writer import code_sha256
from tests.conformance.suite_runs import SuiteRun, run_suite


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
