"""The results for Allure: one per clause and target, with the evidence of a violation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.suite_runs import SuiteRun


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
        # The reference broker is no proxy, and follows no proposal.
        if not clause["id"].startswith(("PROXY.", "KIP-1313."))
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
    """The result of a violation is failed and has the same files as the failure's folder."""
    clause, target = "PROTOCOL.correlation-id-echoed", "negative-correlation-ids-lose-their-sign"
    (result,) = (
        result
        for result in results_of(defects_run)
        if result["name"] == f"{clause} on reference+{target}"
    )
    assert result["status"] == "failed"
    (source,) = (file["source"] for file in result["attachments"] if file["name"] == name)
    attached = (allure_folder(defects_run) / source).read_text()
    kept = (defects_run.failures()[f"reference+{target}", clause] / name).read_text()
    assert attached.strip() == kept.strip()
