"""The project's own clauses: each is judged by a property and broken by a planted defect."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import pytest

from clauses.catalogue import FOLDER, Clause, Role, catalogue
from conformance.mutation.score import defects_asked_of
from proposals import proposals, provided
from reference_model.faults.broker import DEFECTS, Defect
from reference_model.faults.clients import FAULTS
from reference_model.faults.proxies import FAULTS as PROXY_FAULTS
from tests.clauses.properties import properties_in
from tests.conformance.api_versions.wrong_tools import WRONG_TOOLS
from wire.api_versions import NEWEST_VERSION

FOLDERS_OF: Mapping[Role, tuple[str, ...]] = {
    Role.BROKER: ("brokers",),
    Role.CLIENT: ("clients", "operations"),
}
"""The folders whose properties judge a role."""
BROKEN_BY: Mapping[Role, frozenset[str]] = {
    Role.BROKER: frozenset(
        clause
        for faults in (DEFECTS, PROXY_FAULTS, *provided("faults"))
        for fault in faults.values()
        for clause in fault.breaks
    ),
    Role.CLIENT: frozenset(clause for fault in FAULTS.values() for clause in fault.breaks),
    Role.TOOL: frozenset(each.breaks for each in WRONG_TOOLS),
}
"""The clauses that something planted for a role breaks."""
JUDGED = {clause for each in properties_in() for clause in each.clauses}

UNDER_DISCUSSION = {each.source for each in proposals()}
JUDGED_BY_NOTHING = {
    clause.id for clause in catalogue() if clause.not_tested and clause.source in UNDER_DISCUSSION
}
"""Clauses that no property judges, for the reason that they give; those about schemas have tests in the folder of their proposal."""

each_clause = pytest.mark.parametrize("clause", tuple(catalogue()), ids=lambda clause: clause.id)
each_role = pytest.mark.parametrize(
    ("clause", "role"),
    [
        pytest.param(clause, role, id=f"{clause.id}-{role}")
        for clause in catalogue()
        for role in clause.roles
    ],
)
each_defect = pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: defect.name)


@each_clause
def test_clause_is_judged_or_says_why_not(clause: Clause) -> None:
    """A clause has a property in conformance/ or a reason why it has none, never both."""
    assert (clause.id in JUDGED) != bool(clause.not_tested)


@each_clause
def test_clause_is_broken_by_enough_planted_defects(clause: Clause) -> None:
    """Every clause is broken by three planted defects if it is a MUST, else by one.

    Those of clauses about clients are faults of the model client, those about proxies of the model proxy, and
    those about tools of `api-versions`.
    """
    if clause.id in JUDGED_BY_NOTHING:
        assert clause.not_tested
        return
    planted = [defect for defect in DEFECTS.values() if clause.id in defect.breaks]
    faults = [
        fault
        for fault in (
            *FAULTS.values(),
            *PROXY_FAULTS.values(),
            *chain.from_iterable(each.values() for each in provided("faults")),
        )
        if clause.id in fault.breaks
    ]
    wrong = [each.breaks for each in WRONG_TOOLS]
    assert len(planted) + len(faults) + wrong.count(clause.id) >= defects_asked_of(clause.level)


@each_role
def test_each_role_has_a_property(clause: Clause, role: Role) -> None:
    """A clause about brokers and clients is judged of both, not only of one; about tools and schemas, their tests judge."""
    if role in FOLDERS_OF and not clause.not_tested:
        assert any(
            clause.id in each.clauses
            for each in properties_in()
            if Path(each.file).parent.name in FOLDERS_OF[role]
        )


@each_role
def test_each_role_has_a_planted_defect(clause: Clause, role: Role) -> None:
    """One that only the properties or tests of this role can notice."""
    assert (
        clause.id in BROKEN_BY.get(role, ())
        or clause.id in JUDGED_BY_NOTHING
        or role is Role.SCHEMA
    )


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
    *(Path(str(each.folder / each.clauses)) for each in proposals() if each.clauses),
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
