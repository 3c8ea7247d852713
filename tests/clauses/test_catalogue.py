"""Tests of loading the catalogue: valid files, and every way a file can be wrong."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from clauses.catalogue import (
    FOLDER,
    Catalogue,
    CatalogueError,
    Clause,
    Level,
    Role,
    catalogue,
    load_catalogue,
    parse_clause,
)
from proposals import proposals
from wire.fields import versions

CLAUSE_TABLE = """
[[clause]]
id = "KIP-35.first"
title = "The first"
roles = ["broker", "client"]
level = "SHOULD"
applies_to = "3+"
statement = "It holds."
location = "KIP-35, somewhere"
meaning = "Something breaks."
"""
CLAUSE = Clause(
    id="KIP-35.first",
    title="The first",
    roles=(Role.BROKER, Role.CLIENT),
    level=Level.SHOULD,
    applies_to=versions("3+"),
    statement="It holds.",
    location="KIP-35, somewhere",
    meaning="Something breaks.",
)
ENTRY: dict[str, Any] = tomllib.loads(CLAUSE_TABLE)["clause"][0]


def _folder(path: Path, **files: str) -> Path:
    for stem, content in files.items():
        (path / f"{stem}.toml").write_text(content)
    return path


def test_clause_is_loaded_with_every_field(tmp_path: Path) -> None:
    """A table in a file becomes a clause, and its source is the part of the id before the dot."""
    loaded = load_catalogue(_folder(tmp_path, one=CLAUSE_TABLE))
    assert loaded["KIP-35.first"] == CLAUSE
    assert CLAUSE.source == "KIP-35"
    assert CLAUSE.not_tested == ""


def test_reason_for_no_test_is_kept() -> None:
    """The one optional key is the reason why a clause is not judged."""
    clause = parse_clause({**ENTRY, "not_tested": "It is invisible."}, where="x.toml")
    assert clause.not_tested == "It is invisible."


def test_clauses_stand_in_the_order_of_their_files(tmp_path: Path) -> None:
    """Files are read in order of name, tables from top to bottom, and other files are ignored."""
    third = CLAUSE_TABLE.replace("first", "third")
    second = CLAUSE_TABLE.replace("first", "second")
    folder = _folder(tmp_path, b=third, a=CLAUSE_TABLE + second)
    (folder / "notes.md").write_text("no TOML")
    loaded = load_catalogue(folder)
    assert [clause.id for clause in loaded] == ["KIP-35.first", "KIP-35.second", "KIP-35.third"]
    assert len(loaded) == 3


def test_hash_is_that_of_the_files(tmp_path: Path) -> None:
    """The catalogue's hash is the SHA-256 of its concatenated files and changes with every byte."""
    second = CLAUSE_TABLE.replace("first", "second")
    loaded = load_catalogue(_folder(tmp_path, a=CLAUSE_TABLE, b=second))
    assert loaded.sha256 == hashlib.sha256((CLAUSE_TABLE + second).encode()).hexdigest()
    changed = load_catalogue(_folder(tmp_path, b=second + "\n"))
    assert changed.sha256 != loaded.sha256


def test_own_catalogue_is_loaded_once() -> None:
    """The project's catalogue has the clauses of the package's folder and those of proposals, and is the same object
    every time."""
    assert catalogue() is catalogue()
    of_proposals = {each.source for each in proposals()}
    rest = [clause for clause in catalogue() if clause.source not in of_proposals]
    assert rest == list(load_catalogue(FOLDER))
    assert {clause.source for clause in catalogue()} >= of_proposals


def test_further_files_are_loaded_in_the_order_of_their_names(tmp_path: Path) -> None:
    further = FOLDER / "kip_097.toml"
    for name in ("kip_035.toml", "kip_482.toml"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    found = dict.fromkeys(each.source for each in load_catalogue(tmp_path, further=[further]))
    assert list(found) == ["KIP-35", "KIP-97", "KIP-482"]


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        pytest.param("KIP-35.key-unique", "KIP-35.keys-unique", id="letter-missing"),
        pytest.param("KIP-511.names-acepted", "KIP-511.names-accepted", id="typing-error"),
        pytest.param("PROTOCOL.answers-inorder", "PROTOCOL.answers-in-order", id="hyphen-missing"),
    ],
)
def test_unknown_id_gets_the_nearest_names(asked: str, nearest: str) -> None:
    """An unknown id is refused with up to three similar ids, the nearest first."""
    assert asked not in catalogue()
    with pytest.raises(CatalogueError) as caught:
        catalogue()[asked]
    problem, _, hint = str(caught.value).partition("; the nearest are ")
    assert problem == f"no clause {asked!r} in the catalogue"
    assert hint.split(", ")[0] == nearest
    assert len(hint.split(", ")) <= 3


@pytest.mark.parametrize(
    ("applies_to", "max_version", "applies"),
    [
        pytest.param("0+", 0, True, id="everywhere"),
        pytest.param("3+", 2, False, id="before-its-first"),
        pytest.param("3+", 3, True, id="at-its-first"),
        pytest.param("3+", 5, True, id="after-its-first"),
        pytest.param("0-2", 5, True, id="old-versions-of-a-new-target"),
        pytest.param("4", 3, False, id="one-version-not-served"),
        pytest.param("4", 4, True, id="one-version-served"),
    ],
)
def test_clause_applies_from_its_first_version(applies_to: str, max_version: int, applies: bool) -> None:
    """A clause applies to a target that supports the first version that the clause is about."""
    clause = parse_clause({**ENTRY, "applies_to": applies_to}, where="x.toml")
    assert clause.applies_at(max_version) is applies


def test_empty_catalogue_suggests_nothing() -> None:
    with pytest.raises(CatalogueError, match=r"^no clause 'KIP-35\.first' in the catalogue$"):
        Catalogue([])["KIP-35.first"]


def test_double_id_is_refused_across_files(tmp_path: Path) -> None:
    """An id occurs only once in all files together."""
    with pytest.raises(CatalogueError, match=r"^clause KIP-35\.first is declared twice$"):
        load_catalogue(_folder(tmp_path, a=CLAUSE_TABLE, b=CLAUSE_TABLE))


@pytest.mark.parametrize("key", ENTRY)
def test_missing_key_is_refused(key: str) -> None:
    """Every key but `not_tested` is required."""
    entry = {name: value for name, value in ENTRY.items() if name != key}
    with pytest.raises(CatalogueError) as caught:
        parse_clause(entry, where="x.toml")
    name = "'KIP-35.first'" if key != "id" else "'(no id)'"
    assert str(caught.value) == (f"x.toml: clause {name}: unknown keys [], missing or empty keys [{key!r}]")


@pytest.mark.parametrize("empty", ["", " \n", 5, False, []], ids=repr)
@pytest.mark.parametrize("key", [*ENTRY, "not_tested"])
def test_key_that_holds_no_text_is_refused(key: str, empty: object) -> None:
    """No key may be empty or of another type, not even the optional one."""
    with pytest.raises(CatalogueError, match=rf"unknown keys \[\], missing or empty keys \['{key}'\]"):
        parse_clause({**ENTRY, key: empty}, where="x.toml")


@pytest.mark.parametrize(
    "roles",
    [["broker", ""], ["broker", 5], "broker"],
    ids=["empty-element", "number", "text-instead-of-a-list"],
)
def test_roles_that_are_no_list_of_texts_are_refused(roles: object) -> None:
    """The roles are a list of strings."""
    with pytest.raises(CatalogueError, match=r"missing or empty keys \['roles'\]"):
        parse_clause({**ENTRY, "roles": roles}, where="x.toml")


def test_unknown_keys_are_refused_by_name() -> None:
    """The error about a misspelt key names it, and the key that is missing because of it."""
    entry = {**ENTRY, "meening": "x", "applies": "3+"}
    del entry["meaning"]
    with pytest.raises(
        CatalogueError,
        match=r"unknown keys \['applies', 'meening'\], missing or empty keys \['meaning'\]$",
    ):
        parse_clause(entry, where="x.toml")


@pytest.mark.parametrize(
    "wrong_id",
    [
        "KIP-35",
        "KIP-35.",
        ".first",
        "kip-35.first",
        "KIP-35.First",
        "KIP-35.first_one",
        "KIP-35.first--one",
        "KIP-35.-first",
        "KIP-35.first-",
        "KIP-35.first.second",
        "KIP-35.first\n",
        "KIP-X.first",
        "KIP 35.first",
        "35.first",
    ],
)
def test_id_in_another_form_is_refused(wrong_id: str) -> None:
    """An id is a source in capitals, a dot, and lower-case words joined by single hyphens."""
    with pytest.raises(CatalogueError, match=r"an id is SOURCE\.words-with-hyphens$"):
        parse_clause({**ENTRY, "id": wrong_id}, where="x.toml")


def test_title_has_at_most_60_characters() -> None:
    """A row of a grid has no room for more."""
    assert parse_clause({**ENTRY, "title": "x" * 60}, where="x.toml").title == "x" * 60
    with pytest.raises(CatalogueError, match=r"its title has more than 60 characters$"):
        parse_clause({**ENTRY, "title": "x" * 61}, where="x.toml")


@pytest.mark.parametrize("right_id", ["PROTOCOL.one", "KIP-35.a-2-c", "KIP-1313.v3", "K8S.x"])
def test_id_in_the_right_form_is_taken(right_id: str) -> None:
    """A source may end with a hyphen and a number, and words may contain digits."""
    assert parse_clause({**ENTRY, "id": right_id}, where="x.toml").id == right_id


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        pytest.param("level", "must", "'must' is not a valid Level", id="level"),
        pytest.param("roles", ["proxy"], "'proxy' is not a valid Role", id="role"),
        pytest.param("applies_to", "v3", "'v3' is not a range of versions", id="no-range"),
        pytest.param("applies_to", "5-3", "'5-3' ends before it begins", id="reversed-range"),
        pytest.param("applies_to", "none", "a clause applies to at least one version", id="no-version"),
    ],
)
def test_value_that_a_key_cannot_have_is_refused(key: str, value: object, problem: str) -> None:
    """Level, roles and versions accept fixed values only; the message names file, clause and value."""
    with pytest.raises(CatalogueError) as caught:
        parse_clause({**ENTRY, key: value}, where="x.toml")
    assert str(caught.value) == f"x.toml: clause 'KIP-35.first': {problem}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(f"title = 'x'\n{CLAUSE_TABLE}", r"holds \['clause', 'title'\]", id="key"),
        pytest.param(f"{CLAUSE_TABLE}\n[other]\n", r"holds \['clause', 'other'\]", id="table"),
        pytest.param("", r"holds \[\]", id="empty-file"),
        pytest.param(CLAUSE_TABLE.replace("[[clause]]", "[clause]"), "not only", id="one-table"),
        pytest.param("clause = 'KIP-35.first'", "not only", id="text"),
        pytest.param("clause = ['KIP-35.first']", "not only", id="list-of-texts"),
        pytest.param("[[clause]\n", "Expected ']]'", id="broken-toml"),
        pytest.param(CLAUSE_TABLE + 'id = "x"', "overwrite", id="key-twice"),
    ],
)
def test_file_with_anything_but_clause_tables_is_refused(content: str, problem: str, tmp_path: Path) -> None:
    """A file holds `[[clause]]` tables and nothing else; the message names the file."""
    with pytest.raises(CatalogueError, match=rf"^wrong\.toml: .*{problem}"):
        load_catalogue(_folder(tmp_path, wrong=content))


def test_file_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are a catalogue error too."""
    (tmp_path / "wrong.toml").write_bytes(b'clause = "\xff"')
    with pytest.raises(CatalogueError, match=r"^wrong\.toml: .*utf-8"):
        load_catalogue(tmp_path)
