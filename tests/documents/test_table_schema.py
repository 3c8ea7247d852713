"""The columns of recorded tables in reports/exports/table_schema.json."""

from __future__ import annotations

import csv

import pytest

from reference_model.profiles.profile import FOLDER
from reports.site.advertised import RECORDED_COLUMNS


@pytest.mark.parametrize("table", RECORDED_COLUMNS)
def test_recorded_tables_have_the_columns_of_their_files(table: str) -> None:
    """The CSV file of the profiles and the declared columns name the same columns in the same order."""
    with (FOLDER / f"{table}.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(RECORDED_COLUMNS[table])
