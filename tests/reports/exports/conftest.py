"""Exported grid folders, written once for the tests that only read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reports.exports.grids import export, hostile_tables, small_tables


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported small grid."""
    return export(small_tables(tmp_path_factory.mktemp("exports") / "small"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported hostile grid."""
    return export(hostile_tables(tmp_path_factory.mktemp("exports") / "hostile"))
