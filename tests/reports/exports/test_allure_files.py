"""Allure gets one result per clause and target, labelled as the suite labels its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from reports.exports.links import ALLURE_RESULTS
from reports.run.failures import READS_FACTS
from tests.reports.exports.grids import CLAUSE, HOSTILE, NEW, OLD, OTHER, export, hostile_tables


def _results(folder: Path) -> dict[str, dict[str, Any]]:
    with ZipFile(folder / ALLURE_RESULTS) as archive:
        names = [name for name in archive.namelist() if name.endswith("-result.json")]
        assert all(name.startswith("allure-results/") for name in archive.namelist())
        found = [json.loads(archive.read(name)) for name in names]
    return {result["name"]: result for result in found}


def test_each_clause_and_target_is_one_result(small: Path) -> None:
    """The worst listener decides the result, and every listener is a parameter."""
    results = _results(small)
    assert set(results) == {
        f"{clause} on {target}" for clause in (CLAUSE, OTHER) for target in (NEW, OLD)
    }
    violated = results[f"{CLAUSE} on {OLD}"]
    assert violated["status"] == "failed"
    assert violated["parameters"] == [
        {"name": "plaintext", "value": "conforms"},
        {"name": "ssl", "value": "violates"},
    ]
    known = results[f"{CLAUSE} on {NEW}"]
    assert (known["status"], known["statusDetails"]["known"]) == ("skipped", True)
    labels = {(label["name"], label["value"]) for label in violated["labels"]}
    assert {("tag", CLAUSE), ("tag", "MUST"), ("severity", "critical")} <= labels


def test_violation_carries_its_evidence(small: Path) -> None:
    """The archive contains the attached files, with the bytes and the script."""
    attached = _results(small)[f"{CLAUSE} on {OLD}"]["attachments"]
    with ZipFile(small / ALLURE_RESULTS) as archive:
        texts = {
            each["name"]: archive.read(f"allure-results/{each['source']}").decode()
            for each in attached
        }
    assert set(texts) == {"exchange.txt", "reproducer.py", "example.txt"}
    assert texts["reproducer.py"] == "print('again')\n"


def test_script_is_attached_with_the_bytes_that_it_reads(tmp_path: Path) -> None:
    """A script that reads `failure.json` does not run without it."""
    hostile_tables(tmp_path, reproducer=f"json = Path(__file__){READS_FACTS}", facts="{}")
    (result,) = _results(export(tmp_path)).values()
    assert "failure.json" in {each["name"] for each in result["attachments"]}


def test_hostile_names_stay_in_their_texts(hostile: Path) -> None:
    """File names contain no text of a target, and no text acts on a terminal."""
    (result,) = _results(hostile).values()
    assert result["name"].startswith(f"{CLAUSE} on =cmd")
    assert result["name"].isprintable()
    with ZipFile(hostile / ALLURE_RESULTS) as archive:
        assert not any(HOSTILE[:4] in name for name in archive.namelist())
