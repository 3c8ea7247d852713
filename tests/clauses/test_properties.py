"""The properties of conformance/: each names its clause, and states a fact."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_properties_are_found() -> None:
    """Properties are found, in more than one file."""
    assert len(PROPERTIES) >= 30
    assert len({each.file for each in PROPERTIES}) >= 5


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


def test_reading_finds_what_a_source_says(tmp_path: Path) -> None:
    """Marks are read from functions of any kind; computed arguments become None, others are left out."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "test_some.py").write_text(
        '@pytest.mark.clause("A.b")\n'
        "@pytest.mark.malformed\n"
        "def test_one():\n"
        '    """One."""\n'
        "class TestSome:\n"
        "    @pytest.mark.clause(NAME)\n"
        "    async def test_two(self): ...\n"
        "    def other(self): ...\n"
    )
    (tmp_path / "judging.py").write_text("def test_three(): ...\n")
    assert list(properties_in(tmp_path)) == [
        PropertySource(
            file="inner/test_some.py", name="test_one", docstring="One.", clauses=("A.b",)
        ),
        PropertySource(file="inner/test_some.py", name="test_two", docstring="", clauses=(None,)),
    ]
