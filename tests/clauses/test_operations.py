"""The rows of the grid of operations."""

from __future__ import annotations

import pytest

from clauses.catalogue import CatalogueError, Level, catalogue
from clauses.operations import OPERATIONS, clause_or_row, row_of


def test_row_names_client_and_operation() -> None:
    """Its source is the client, so the grid groups the rows by client."""
    row = row_of("kafka-python-3.0.12", "delete-records")
    assert row.id == "kafka-python-3.0.12.delete-records"
    assert row.source == "kafka-python-3.0.12"
    assert row.level is Level.MUST
    assert "kafka-python-3.0.12 deletes the records" in row.statement


def test_rerouted_operation_is_about_the_ids_of_clusters() -> None:
    """Its source is KIP-1242, and no broker is too old for it."""
    row = row_of("franz-go-1.22.3", "rerouted-writes")
    assert row.location.startswith("KIP-1242")
    assert "another cluster replaces them" in row.statement
    assert "too old" not in row.statement


@pytest.mark.parametrize("operation", OPERATIONS)
def test_id_leads_back_to_the_row(operation: str) -> None:
    """A test names its row by the id alone."""
    assert clause_or_row(f"franz-go-1.22.3.{operation}") == row_of("franz-go-1.22.3", operation)


def test_other_ids_are_clauses() -> None:
    """An id of the catalogue stays one."""
    clause = next(iter(catalogue()))
    assert clause_or_row(clause.id) is clause


@pytest.mark.parametrize("id_", ["produce", "franz-go-1.22.3.juggle", "KIP-35.nothing"])
def test_unknown_id_is_an_error(id_: str) -> None:
    """A typo ends a run before its first test."""
    with pytest.raises(CatalogueError):
        clause_or_row(id_)
