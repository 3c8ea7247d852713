"""The rows of the grid of operations."""

from __future__ import annotations

import pytest

from clauses.catalogue import CatalogueError, Level, catalogue
from clauses.operations import (
    NEWEST_CLAUSE,
    NEWEST_VERSIONS,
    OPERATIONS,
    clause_or_row,
    row_of,
    title_of,
)
from fixtures.registry.targets import load_targets
from reference_model.profiles.profile import (
    APACHE_KAFKA,
    profile_of,
    release_order,
)


def test_row_names_client_and_operation() -> None:
    row = row_of("kafka-python-3.0.12", "delete-records")
    assert row.id == "kafka-python-3.0.12.delete-records"
    assert row.source == "kafka-python-3.0.12"
    assert row.level is Level.MUST
    assert "kafka-python-3.0.12 deletes the records" in row.statement


def test_rerouted_operation_is_about_the_ids_of_clusters() -> None:
    row = row_of("franz-go-1.22.3", "rerouted-writes")
    assert row.location.startswith("KIP-1242")
    assert "another cluster replaces them" in row.statement
    assert "too old" not in row.statement


def test_row_about_all_operations_has_the_level_of_its_clause() -> None:
    """To use the newest version is recommended, and to do what is asked is required."""
    row, clause = row_of("franz-go-1.22.3", NEWEST_VERSIONS), catalogue()[NEWEST_CLAUSE]
    assert row.level is clause.level is Level.SHOULD
    assert (row.location, row.meaning) == (clause.location, clause.meaning)
    assert "franz-go-1.22.3 uses in every request the newest version" in row.statement


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


RELEASE_NOTES = {
    "create-topic": "0.10.1",
    "idempotent-produce": "0.11",
    "transactional-produce": "0.11",
    "describe-configs": "0.11",
    "delete-records": "0.11",
    "incremental-alter-configs": "2.3",
    "consumer-group-protocol": "4.0",
    "share-group": "4.2",
}
"""The first release of an operation, as Kafka's release notes have it: KIP-4, 98, 133, 107, 339, 848 and 932."""


LISTED_EARLY = {"consumer-group-protocol": "3.7", "share-group": "4.1"}
"""The first release that lists the API of an operation as a preview, which is switched off by default."""


def test_apis_of_operations_are_as_old_as_the_release_notes_say() -> None:
    """The recorded tables of KRaft or ZooKeeper brokers list an operation's API from that release on, as "since"
    does."""
    releases = sorted(
        {each.release for each in load_targets() if each.implementation == APACHE_KAFKA and each.handshake},
        key=release_order,
    )
    for operation, since in RELEASE_NOTES.items():
        key = OPERATIONS[operation].api_key
        first = next(
            release for release in releases if any(each.api_key == key for each in profile_of(release).api_keys)
        )
        listed_since = LISTED_EARLY.get(operation, since)
        assert release_order(first)[:2] == release_order(listed_since)[:2], operation


def test_titles_are_those_of_the_clause_or_of_the_operation() -> None:
    """An id of another suite, which has neither, is its own title."""
    assert title_of("KIP-35.error-code-first") == "Error code first, whatever the version"
    assert title_of("franz-go-1.22.3.delete-records") == "Delete records"
    assert title_of("KIP-9.gone") == "KIP-9.gone"
