"""A frozen set of clauses asks for what it did, or says what was withdrawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from clauses.catalogue import CatalogueError, Level, catalogue
from clauses.clause_sets import EVERYTHING, ClauseSet, clause_set, clause_sets, newest_set, says_not_asked, version_of
from clauses.operations import OPERATIONS
from conformance.mutation.properties import properties_in
from conformance.roles.role_registry import EVERY_ROLE
from strategies.hypothesis_adapter import examples_since
from workflows.clause_set import clauses_for_sets, set_text

PROPERTIES = {each.name: each for role in EVERY_ROLE for each in properties_in(role.folder)}
SILENT = "a set never changes in silence: give what is new an id of its own, or withdraw the clause ([[withdrawn]])"
KEPT, GONE = "KIP-35.keys-unique", "KIP-35.served-is-listed"

each_set = pytest.mark.parametrize("asked", clause_sets().values(), ids=lambda asked: asked.name)


@each_set
def test_no_clause_of_a_set_has_changed_in_silence(asked: ClauseSet) -> None:
    for id_, entry in asked.clauses.items():
        if id_ in asked.withdrawn:
            continue
        assert id_ in catalogue(), f"{id_} of set {asked.name} is gone: {SILENT}"
        now = catalogue()[id_]
        words = (now.roles, str(now.applies_to), now.statement)
        assert words == (entry.roles, entry.applies_to, entry.statement), f"{id_}, set {asked.name}: {SILENT}"
        if now.level is not entry.level:
            assert now.level_since, f"{id_} has another level than in set {asked.name}: say `level_since`"
            assert asked.is_newer(now.level_since)


@each_set
def test_a_set_withdraws_only_what_it_had(asked: ClauseSet) -> None:
    assert asked.withdrawn.keys() <= asked.clauses.keys()
    assert set(asked.operations) <= OPERATIONS.keys()


@each_set
def test_no_property_of_a_set_is_gone_or_has_further_pinned_examples(asked: ClauseSet) -> None:
    for name, count in asked.properties.items():
        assert name in PROPERTIES, f"{name} of set {asked.name} is gone: keep its name"
        counting = [since for since, _ in examples_since(PROPERTIES[name].function) if not asked.is_newer(since)]
        unlabelled = len(PROPERTIES[name].pinned) - len(examples_since(PROPERTIES[name].function))
        assert unlabelled + len(counting) == count, f"{name}: pin new examples with @example_since, and keep the others"


def test_proposals_are_in_no_set() -> None:
    assert {clause.source for clause in clauses_for_sets()}.isdisjoint({"KIP-1313"})
    assert newest_set().why_not_asked("KIP-1313.header-v3-layout") == "newer than set 0.1"


def small_set(tmp_path: Path, *, withdrawn: str = "") -> ClauseSet:
    """Return set 0.1 with two clauses, as `workflows.clause_set` writes it."""
    text = set_text("0.1", [catalogue()[KEPT], catalogue()[GONE]], {"test_a": 2})
    (tmp_path / "0.1.toml").write_text(text + withdrawn, "utf-8")
    return clause_sets(tmp_path)["0.1"]


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = small_set(tmp_path)
    assert [*asked.clauses] == [KEPT, GONE]
    assert asked.clauses[KEPT].statement == catalogue()[KEPT].statement
    assert asked.properties == {"test_a": 2}
    assert asked.operations == tuple(OPERATIONS)


def test_a_set_asks_for_its_clauses_operations_and_properties_alone(tmp_path: Path) -> None:
    asked = small_set(tmp_path)
    assert asked.why_not_asked(KEPT) == ""
    assert asked.why_not_asked("KIP-511.null-name-refused") == "newer than set 0.1"
    assert asked.why_not_asked("some-client-1.0.produce") == ""
    assert asked.why_note(KEPT, "test_a") == ""
    assert asked.why_note(KEPT, "test_b") == "test_b is newer than set 0.1"
    assert asked.why_note("KIP-511.null-name-refused", "test_a") == "newer than set 0.1"
    assert all(map(says_not_asked, ("newer than set 0.1", "test_b is newer than set 0.1")))
    assert not says_not_asked("the run sends nothing malformed")


def test_a_withdrawn_clause_says_when_and_why(tmp_path: Path) -> None:
    entry = f'\n[[withdrawn]]\nclause = "{GONE}"\ndate = 2026-12-01\nreason = "No source says it."\n'
    asked = small_set(tmp_path, withdrawn=entry)
    assert asked.why_not_asked(GONE) == "withdrawn from set 0.1 on 2026-12-01: No source says it."
    assert says_not_asked(asked.why_not_asked(GONE))
    assert asked.why_not_asked(KEPT) == ""


def test_a_clause_has_the_level_that_the_set_gave_it(tmp_path: Path) -> None:
    asked = small_set(tmp_path)
    (tmp_path / "0.2.toml").write_text(
        (tmp_path / "0.1.toml").read_text("utf-8").replace('"MUST"', '"SHOULD"'), "utf-8"
    )
    clause_sets.cache_clear()
    later = clause_sets(tmp_path)["0.2"]
    assert (asked.as_asked(catalogue()[KEPT]).level, later.as_asked(catalogue()[KEPT]).level) == (
        Level.MUST,
        Level.SHOULD,
    )
    unknown = catalogue()["KIP-511.null-name-refused"]
    assert later.as_asked(unknown) is unknown


def test_without_a_set_everything_counts() -> None:
    assert clause_set("next") is EVERYTHING
    assert EVERYTHING.why_note("KIP-1313.header-v3-layout", "test_b") == ""
    assert not EVERYTHING.is_newer("9.9")
    assert newest_set().is_newer("9.9")
    assert not newest_set().is_newer("0.0")


def test_versions_are_compared_as_numbers() -> None:
    assert version_of("0.10") > version_of("0.9")
    with pytest.raises(CatalogueError, match="'v1' is no version of a set of clauses: it has two numbers"):
        version_of("v1")


def test_an_unknown_set_names_those_that_there_are() -> None:
    with pytest.raises(CatalogueError, match=r"no set of clauses is named '0\.7'; there are 0\.1, next"):
        clause_set("0.7")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("operations = [", r"sets/0\.3\.toml: Invalid"),
        ("operations = []", "has the keys"),
        ("operations = []\n[properties]\n[[clause]]\nid = 'A.b'\n", "wrong or missing key: 'roles'"),
        ("operations = []\nclause = []\n[properties]\n[[withdrawn]]\nclause = 'A.b'\n", "wrong or missing key: 'date'"),
    ],
    ids=["half-written", "without-keys", "clause", "withdrawn"],
)
def test_a_file_of_another_form_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "0.3.toml").write_text(text, "utf-8")
    with pytest.raises(CatalogueError, match=sentence):
        clause_sets(tmp_path)
