"""The documents that follow from code agree with it."""

from __future__ import annotations

import csv

import pytest

from reference_model.profiles.profile import FOLDER
from reports.site.advertised import RECORDED_COLUMNS
from tests.conformance.suite_runs import REPOSITORY
from workflows.documents.__main__ import DOCUMENTS, document
from workflows.documents.reference_lists import VARIABLES


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_is_current(name: str) -> None:
    """Writing it again with `python -m workflows.documents` changes nothing; the diff shows a lost clause, for example."""
    assert (REPOSITORY / name).read_text(encoding="utf-8") == document(name)


@pytest.mark.parametrize("table", RECORDED_COLUMNS)
def test_recorded_tables_have_the_columns_of_their_files(table: str) -> None:
    """The CSV file of the profiles and the declared columns name the same columns in the same order."""
    with (FOLDER / f"{table}.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == list(RECORDED_COLUMNS[table])


@pytest.mark.parametrize("name", [name for name in VARIABLES if name.startswith("KAFKA_")])
def test_variable_is_read_by_the_suite(name: str) -> None:
    """A variable that docs/commands.md names is one that the code knows."""
    folders = ("conformance", "fixtures", "reports")
    files = (path for folder in folders for path in (REPOSITORY / folder).rglob("*.*"))
    texts = (path.read_text("utf-8") for path in files if path.suffix in (".py", ".j2", ".sh"))
    assert any(name in text for text in texts)
