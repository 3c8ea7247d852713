"""Tests of how complete runs end, and what they record and write for Allure.

The rules of each have tests in tests/reports.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from clauses.catalogue import Role, catalogue
from fixtures.launchers.built_in import launch_built_in, reference_targets
from reference_model.profiles.listeners import PLAINTEXT, USUAL_LISTENERS
from reports.arrow_schemas import arrow_schema
from reports.record_columns import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column
from reports.records import Verdict
from reports.run.exit_status import ExitStatus
from reports.run.run_writer import code_sha256
from tests.conformance import leaves_a_socket_open
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite

OF_CLUSTERS = "FEATURES.same-levels-on-every-node"


def test_healthy_target_ends_with_0(healthy_run: SuiteRun) -> None:
    """A target that keeps every clause ends the run with 0: every cell conforms, but those about proxies, clusters
    and a proposal do not apply."""
    assert healthy_run.status == 0, healthy_run.output
    verdicts = healthy_run.verdicts()
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    absent = {clause for (_, clause), found in verdicts.items() if found is Verdict.NOT_APPLICABLE}
    assert absent == {
        clause.id
        for clause in catalogue()
        if not clause.not_tested
        and (
            clause.source == "PROXY"
            or clause.id == OF_CLUSTERS
            or (clause.source == "KIP-1313" and Role.BROKER in clause.roles)
        )
    }


@pytest.mark.slow
@pytest.mark.parametrize(("interrupt", "status"), [("", ExitStatus.HARNESS_ERROR), ("1", 2)])
def test_what_is_left_open_is_no_violation(interrupt: str, status: int, tmp_path: Path) -> None:
    """For a socket that nothing closed, pytest ends with 1; it is a bug in this suite, or what an interrupt may
    leave."""
    run = run_suite(
        *("--broker", "reference", "--tier", "smoke", "-p", leaves_a_socket_open.__name__),
        runs=tmp_path,
        suite=[f"{SUITE}brokers/test_read_only_apis.py"],
        variables={leaves_a_socket_open.INTERRUPT: interrupt},
    )
    assert run.status == status
    assert ("a bug in this suite" in run.output) is not bool(interrupt), run.output


@pytest.mark.slow
def test_nothing_chosen_is_never_green(tmp_path: Path) -> None:
    """A run without any selected property ends with pytest's status for it, and keeps no records."""
    run = run_suite("--broker", "reference", "-k", "no_such_property", runs=tmp_path / "runs")
    assert run.status == pytest.ExitCode.NO_TESTS_COLLECTED
    assert " deselected" in run.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("examples", EXAMPLE_FIELDS),
        ("exchanges", EXCHANGE_FIELDS),
        ("answers", ANSWER_FIELDS),
    ],
)
def test_rows_have_the_record_schema(table: str, fields: tuple[Column, ...], defects_run: SuiteRun) -> None:
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
    judged = {clause.id for clause in catalogue() if Role.BROKER in clause.roles and not clause.not_tested}
    assert verdicts.keys() == {("reference", clause) for clause in judged}
    assert Verdict.NOT_RUN not in verdicts.values()


def test_run_on_one_listener_is_not_complete(healthy_run: SuiteRun) -> None:
    assert {cell["listener"] for cell in healthy_run.header["planned_cells"]} == {PLAINTEXT}
    assert healthy_run.header["whole"] is False
    assert healthy_run.header["suite"]["code_sha256"] == code_sha256()


def results_of(run: SuiteRun) -> list[dict[str, Any]]:
    """Return the results that a run wrote next to its records."""
    return [json.loads(file.read_text()) for file in allure_folder(run).glob("*-result.json")]


def allure_folder(run: SuiteRun) -> Path:
    """Return the folder of a run's Allure results."""
    return run.folder.parent.parent / "allure"


def labels_of(result: dict[str, Any], name: str) -> set[str]:
    """Return the values of one kind of label."""
    return {label["value"] for label in result["labels"] if label["name"] == name}


def test_each_clause_is_one_result(healthy_run: SuiteRun) -> None:
    """Each judged clause has results named after clause and target, with its level as tag and severity."""
    judged = (result for result in results_of(healthy_run) if result["status"] != "skipped")
    results = {result["name"]: result for result in judged}
    clauses = {
        clause["id"]: clause
        for clause in healthy_run.header["clauses"]
        # The reference broker is no proxy and no cluster, and follows no proposal.
        if not clause["id"].startswith(("PROXY.", "KIP-1313.", OF_CLUSTERS))
    }
    assert set(results) == {f"{id_} on reference" for id_ in clauses}
    severities = {"MUST": "critical", "SHOULD": "normal", "MAY": "minor", "PIN": "minor"}
    for id_, clause in clauses.items():
        result = results[f"{id_} on reference"]
        assert result["status"] == "passed"
        assert {id_, clause["level"]} <= labels_of(result, "tag")
        assert labels_of(result, "severity") == {severities[clause["level"]]}
        assert clause["statement"] in result["description"]


@pytest.mark.parametrize("name", ["exchange.txt", "reproducer.py", "example.txt"])
def test_violation_carries_its_evidence(name: str, defects_run: SuiteRun) -> None:
    """The result of the one property that fails has the same files as the failure's folder."""
    clause, target = "PROTOCOL.correlation-id-echoed", "negative-correlation-ids-lose-their-sign"
    (result,) = (
        result
        for result in results_of(defects_run)
        if result["name"] == f"{clause} on reference+{target}" and result["status"] == "failed"
    )
    (source,) = (file["source"] for file in result["attachments"] if file["name"] == name)
    attached = (allure_folder(defects_run) / source).read_text()
    kept = (defects_run.failures()[f"reference+{target}", clause] / name).read_text()
    assert attached.strip() == kept.strip()


@pytest.mark.slow
def test_every_pinned_example_is_run_without_any_time_left(tmp_path: Path) -> None:
    """A run passes the number of a property's pinned examples on, and only drawn ones are dropped."""
    run = run_suite(
        *("--broker", "reference", "--listener", "sasl_plaintext"),
        *("-k", "test_illegal_name_is_refused", "-p", "tests.conformance.no_time"),
        runs=tmp_path,
        suite=["conformance/brokers/test_client_software.py"],
    )
    assert run.status == 0, run.output
    (pinned,) = run.header["pinned_examples"].values()
    assert pinned > 1
    assert len(run.rows()) == pinned
    (cell,) = run.header["planned_cells"]
    assert cell["reason"].startswith("0 of 5 drawn examples were run ")


@pytest.mark.slow
def test_role_of_an_address_is_named(tmp_path: Path) -> None:
    """A controller has the clause about controllers, and a sentence in the terminal."""
    reference = next(each for each in reference_targets() if each.id == "reference")
    with launch_built_in(reference) as running:
        address = str(running.addresses["controller"])
        run = run_suite(
            *("--bootstrap-server", address, "--tier", "smoke", "-k", "table"),
            runs=tmp_path,
            every_listener=True,
        )
    assert run.status == 0, run.output
    assert "is a KRaft controller: " in run.output
    assert "KIP-35.controller-listener-table" in {clause for _, clause in run.verdicts()}
    assert run.header["whole"] is False, "it leaves properties out"
