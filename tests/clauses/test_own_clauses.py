"""Each own clause has a property, a planted defect, and a source with a page.

The property judges the clause, and the defect breaks it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from clauses.catalogue import FOLDER, REFERENCE, Clause, Role, catalogue, source_url
from conformance.mutation.score import defects_asked_of
from proposals import proposals, provided
from reference_model.faults.broker import DEFECTS, Defect
from reference_model.faults.clients import FAULTS
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS
from tests.clauses.properties import PropertySource, properties_in
from tests.conformance.limits.limited_broker import WRONG_BROKERS
from tests.upgrade.api_versions.test_wrong_tools import WRONG_TOOLS
from wire.api_versions import NEWEST_VERSION

FOLDERS_OF: Mapping[Role, tuple[str, ...]] = {
    Role.BROKER: ("brokers",),
    Role.CLIENT: ("clients", "operations"),
}
"""The folders whose properties judge a role."""
PLANTED: Mapping[Role, Counter[str]] = {
    Role.BROKER: Counter(
        clause
        for faults in (DEFECTS, PROXY_FAULTS, *provided("faults"))
        for fault in faults.values()
        for clause in set(fault.breaks)
    )
    + Counter(each.breaks for each in WRONG_BROKERS),
    Role.CLIENT: Counter(clause for fault in FAULTS.values() for clause in set(fault.breaks)),
    Role.TOOL: Counter(each.breaks for each in WRONG_TOOLS),
    Role.SCHEMA: Counter(),
}
"""How many of the things that are planted for a role break each clause: defects, faults of clients, brokers with wrong
limits, and wrong tools."""
JUDGED = {clause for each in properties_in() for clause in each.clauses}

UNDER_DISCUSSION = {each.source for each in proposals()}
JUDGED_BY_NOTHING = {clause.id for clause in catalogue() if clause.not_tested and clause.source in UNDER_DISCUSSION}
"""Clauses that no property judges, for the reason that they give; those about schemas have tests in the folder of
their proposal."""

each_clause = pytest.mark.parametrize("clause", tuple(catalogue()), ids=lambda clause: clause.id)
each_role = pytest.mark.parametrize(
    ("clause", "role"),
    [pytest.param(clause, role, id=f"{clause.id}-{role}") for clause in catalogue() for role in clause.roles],
)
each_defect = pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: defect.name)


@each_clause
def test_clause_is_judged_or_says_why_not(clause: Clause) -> None:
    """A clause has a property in conformance/ or a reason why it has none, never both."""
    assert (clause.id in JUDGED) != bool(clause.not_tested)


@each_clause
def test_clause_is_broken_by_enough_planted_defects(clause: Clause) -> None:
    """Every clause is broken by three planted defects if it is a MUST, else by one.

    Those of clauses about clients are faults of the model client, those about proxies of the model proxy, those about
    tools of `api-versions`, and those about limits of a model with limits.
    """
    if clause.id in JUDGED_BY_NOTHING:
        assert clause.not_tested
        return
    planted = sum(of_role[clause.id] for of_role in PLANTED.values())
    assert planted >= defects_asked_of(clause.level)


@each_role
def test_each_role_has_a_property(clause: Clause, role: Role) -> None:
    """A clause about brokers and clients is judged of both, not only of one; about tools and schemas, their tests
    judge."""
    if role in FOLDERS_OF and not clause.not_tested:
        assert any(
            clause.id in each.clauses for each in properties_in() if Path(each.file).parent.name in FOLDERS_OF[role]
        )


@each_role
def test_each_role_has_a_planted_defect(clause: Clause, role: Role) -> None:
    is_judged = clause.id not in JUDGED_BY_NOTHING and role is not Role.SCHEMA
    assert PLANTED[role][clause.id] or not is_judged


@each_clause
def test_clause_is_one_sentence_in_place(clause: Clause) -> None:
    """Statement and meaning are complete sentences, and the clause applies to an existing version."""
    for text in (clause.statement, clause.meaning):
        assert re.fullmatch(r"(?:[A-Z]|v\d).*[^.]\.", text)
    assert clause.statement.count(". ") == 0
    assert clause.location == clause.location.strip()
    assert clause.applies_to.first <= NEWEST_VERSION
    assert len(set(clause.roles)) == len(clause.roles)


@each_defect
def test_defect_breaks_clauses_that_exist(defect: Defect) -> None:
    """Every clause that a defect names is in the catalogue, and is named once."""
    assert defect.breaks
    assert len(set(defect.breaks)) == len(defect.breaks)
    for clause in defect.breaks:
        assert clause in catalogue()


FILES = (
    *sorted(Path(str(FOLDER)).glob("*.toml")),
    *(Path(str(each.clauses)) for each in proposals() if each.clauses),
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_file_holds_the_clauses_of_one_source(path: Path) -> None:
    """All clauses of a file come from one source, and the file is named after it."""
    entries = tomllib.loads(path.read_text("utf-8"))["clause"]
    sources = {entry["id"].partition(".")[0] for entry in entries}
    assert len(sources) == 1
    name, _, number = sources.pop().lower().partition("-")
    assert path.stem == (f"{name}_{int(number):03}" if number else name)


def test_titles_are_distinct_phrases() -> None:
    """A reader can find a clause by its title alone; a title is no sentence with a full stop."""
    titles = [clause.title for clause in catalogue()]
    assert len(set(titles)) == len(titles)
    assert [title for title in titles if title.endswith(".")] == []


PROPERTIES = properties_in()
NO_FACT = re.compile(
    r"\b(should|shall|ought|must|tests?|checks?|verif(?:y|ies)|ensures?|asserts?|try|tries)\b",
    re.IGNORECASE,
)
"""Words of a wish, or words that describe a test instead of the target."""

each_property = pytest.mark.parametrize("conformance_property", PROPERTIES, ids=str)


@each_property
def test_property_names_clauses_of_the_catalogue(conformance_property: PropertySource) -> None:
    """Every property has a clause mark with a literal id that is in the catalogue; the plugin gives operations
    theirs."""
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


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("KAFKA-17011", "https://issues.apache.org/jira/browse/KAFKA-17011"),
        ("Protocol guide", "https://kafka.apache.org/protocol"),
        ("Transaction Protocol", "https://kafka.apache.org/42/operations/transaction-protocol"),
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
