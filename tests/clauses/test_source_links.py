"""Where the sources of clauses stand on the web."""

from __future__ import annotations

import pytest

from clauses.catalogue import Clause, catalogue
from clauses.source_links import REFERENCE, source_url


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("KAFKA-17011", "https://issues.apache.org/jira/browse/KAFKA-17011"),
        ("Protocol guide", "https://kafka.apache.org/protocol"),
        (
            "KIP-35",
            "https://cwiki.apache.org/confluence/display/KAFKA/KIP-35+-+Retrieving+protocol+version",
        ),
        (
            "KIP-9999",
            "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals",
        ),
    ],
)
def test_each_kind_of_source_has_its_page(reference: str, url: str) -> None:
    """A proposal whose page is not known leads to the list of proposals."""
    assert source_url(reference) == url


@pytest.mark.parametrize("clause", tuple(catalogue()), ids=lambda clause: clause.id)
def test_every_proposal_that_a_clause_names_has_a_page_of_its_own(clause: Clause) -> None:
    """The list of all proposals helps no reader who wants to check one sentence."""
    urls = map(source_url, REFERENCE.findall(clause.location))
    assert source_url("KIP-9999") not in urls


@pytest.mark.parametrize("clause", tuple(catalogue()), ids=lambda clause: clause.id)
def test_every_clause_names_its_source(clause: Clause) -> None:
    """A reader can check each clause; those of the model come from this project itself."""
    assert REFERENCE.search(clause.location) or clause.source == "MODEL"
