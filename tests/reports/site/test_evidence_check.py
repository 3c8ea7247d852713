"""Tests of the check that exceptions to range statements have evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reports.site.build import read_tables
from reports.site.evidence_check import StatementWithoutEvidence, check_statements
from tests.reports.site.sites import (
    KNOWN_SIGNATURE,
    NAMES,
    NEW,
    OLD,
    ORDER,
    cells_with,
    site_tables,
    write_small_site,
    write_small_tables,
)


@pytest.mark.parametrize(
    ("clause", "target", "changes"),
    [
        pytest.param(NAMES, NEW, {"known_violation": ""}, id="known violation"),
        pytest.param(NAMES, OLD, {"reason": ""}, id="not applicable"),
        pytest.param(ORDER, NEW, {"reason": ""}, id="inconclusive"),
        pytest.param(ORDER, NEW, {"reason": "", "known_violation": "open"}, id="declared too"),
    ],
)
def test_missing_note_is_refused(clause: str, target: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """The cell is named."""
    folder = write_small_tables(tmp_path, cells=cells_with(clause, target, **changes))
    with pytest.raises(StatementWithoutEvidence, match=f"{clause} on {target}.*a note is missing"):
        check_statements(*read_tables(folder))


@pytest.mark.parametrize("kept", ["no row", "no bytes", "recurred in no repeat"])
def test_missing_evidence_is_refused(kept: str, tmp_path: Path) -> None:
    """A failure without any stored evidence does not count as evidence, and no page is written."""
    failures = site_tables()["failures"]
    if kept == "no row":
        failures = [row for row in failures if row["signature"] != KNOWN_SIGNATURE]
    elif kept == "no bytes":
        failures = [row | {"hex_dump": None} for row in failures]
    else:
        facts = json.dumps({"repeats": {"class": "flaky", "rate": {"failed": 0}}})
        failures = [row | {"facts": facts} for row in failures]
    with pytest.raises(StatementWithoutEvidence, match="evidence is missing"):
        write_small_site(tmp_path, failures=failures)
    assert not (tmp_path / "index.html").exists()
