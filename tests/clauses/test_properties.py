"""The properties of conformance/: each names its clause, and states a fact."""

from __future__ import annotations

import re

import pytest

from clauses.catalogue import catalogue
from tests.clauses.properties import PropertySource, properties_in

PROPERTIES = properties_in()
NO_FACT = re.compile(
    r"\b(should|shall|ought|must|tests?|checks?|verif(?:y|ies)|ensures?|asserts?|try|tries)\b",
    re.IGNORECASE,
)
"""Words of a wish, or words that describe a test instead of the target."""

each_property = pytest.mark.parametrize("conformance_property", PROPERTIES, ids=str)


@each_property
def test_property_names_clauses_of_the_catalogue(conformance_property: PropertySource) -> None:
    """Every property has a clause mark with a literal id that is in the catalogue; the plugin gives operations theirs."""
    assert conformance_property.clauses or conformance_property.file.startswith("operations/")
    for clause in conformance_property.clauses:
        assert clause is not None
        assert clause in catalogue()


@each_property
def test_property_states_a_fact(conformance_property: PropertySource) -> None:
    """Name and docstring state a fact in one complete sentence, not a wish or what the test does."""
    words = conformance_property.name.removeprefix("test_").replace("_", " ")
    assert not NO_FACT.search(words)
    assert len(words.split()) >= 3
    docstring = conformance_property.docstring
    assert not NO_FACT.search(docstring)
    assert re.fullmatch(r"(?:[A-Z]|v\d).*\w\.", docstring.partition("\n\n")[0], re.DOTALL)


def test_property_names_are_unique() -> None:
    """No two properties share a name, because records name a property without its file."""
    names = [each.name for each in PROPERTIES]
    assert sorted(set(names)) == sorted(names)
