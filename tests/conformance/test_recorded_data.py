"""Tests of the data recorded for the reference model.

The data are tables of running brokers, and responses to other APIs.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path

from conformance.releases.advertised_tables import record_default_answers, record_tables
from fixtures.launchers.built_in import reference_targets
from reference_model.profiles.profile import FOLDER

REFERENCE = reference_targets()[0]
OTHER_ROW = "0.0.1,zookeeper,plaintext,0,0,1\n"
ROW_OF_A_PATCH = "4.0.0,kraft,plaintext,0,0,12\n"
"""Of a release that the registry has next to another one of its line."""
ROW_OF_ITS_LINE = f"{REFERENCE.release}.9,kraft,plaintext,0,0,1\n"


def rows(file: Traversable) -> list[dict[str, str]]:
    """Return the rows of a recorded file about the reference broker's release and quorum, at its own levels."""
    with file.open() as lines:
        return [
            row
            for row in csv.DictReader(lines)
            if row["release"] == REFERENCE.release
            and row.get("quorum") in (None, REFERENCE.quorum)
            and not row.get("level")
        ]


def test_tables_are_recorded_from_both_kinds_of_listener(tmp_path: Path) -> None:
    """Recording the reference broker reproduces its own table, replaces its line, and leaves other releases
    unchanged."""
    header = "release,quorum,listener,api_key,min_version,max_version\n"
    (tmp_path / "advertised.csv").write_text(header + OTHER_ROW + ROW_OF_ITS_LINE)
    for _ in range(2):
        record_tables(REFERENCE, "auto", tmp_path)
    for name in ("advertised.csv", "features.csv", "readable.csv"):
        assert rows(tmp_path / name) == rows(FOLDER / name)
    recorded = (tmp_path / "advertised.csv").read_text()
    assert recorded.startswith(header + OTHER_ROW)
    assert ROW_OF_ITS_LINE not in recorded


def test_default_answers_are_those_of_the_schemas(tmp_path: Path) -> None:
    """The answers to other APIs follow from the schemas and the table of the newest release."""
    record_default_answers(tmp_path)
    recorded = (tmp_path / "default_answers.csv").read_text()
    assert recorded == (FOLDER / "default_answers.csv").read_text()


def test_a_patch_release_of_the_registry_keeps_its_rows(tmp_path: Path) -> None:
    """4.0.0 and 4.0.2 are both recorded, because their tables differ; 4.0.9, which has no file, is replaced."""
    header = "release,quorum,listener,api_key,min_version,max_version\n"
    (tmp_path / "advertised.csv").write_text(header + ROW_OF_A_PATCH + ROW_OF_A_PATCH.replace("4.0.0", "4.0.9"))
    record_tables(replace(REFERENCE, release="4.0.2"), "auto", tmp_path)
    recorded = (tmp_path / "advertised.csv").read_text()
    assert recorded.startswith(header + ROW_OF_A_PATCH)
    assert "4.0.9" not in recorded
