"""Frozen sets of clauses: what a release of this suite asked.

A job that judges by one does not fail because of something newer.

A set is a file in `sets/`, named by its version. It is written once, by `python -m workflows.clause_set`, and lists the
clauses with their levels and words, the operations, and the properties with the number of their pinned examples. What
it does not list is newer: a run by the set judges that as well, and it fails nothing. A proposal changes while it is
discussed, so no set has its clauses.

A clause that was wrong is withdrawn from a set, with a date and the reason; it stays listed. A set is never changed in
any other way: `tests/clauses/test_clause_sets.py` compares each one with the catalogue and the properties.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources.abc import Traversable
from typing import Any

from clauses.catalogue import FOLDER, CatalogueError, Clause, Level, Role
from clauses.operations import OPERATIONS

SETS_FOLDER = FOLDER.joinpath("sets")
NEXT = "next"
"""The name of what is asked today: every clause, also those that are in no set yet."""
_NOT_ASKED = re.compile(r"(?:newer than|withdrawn from) set [0-9]")
_VERSION = re.compile(r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)")
_KEYS = {"operations", "properties", "clause"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedClause:
    """A clause as a set asks for it.

    Attributes:
        level: how binding it is in this set.
        roles: who has to satisfy it.
        applies_to: versions of ApiVersions, such as "3+".
        statement: what must hold.
    """

    level: Level
    roles: tuple[Role, ...]
    applies_to: str
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseSet:
    """What runs judge by.

    Attributes:
        name: its version, such as "0.1"; `NEXT` for everything.
        clauses: its clauses by id, also those that were withdrawn.
        operations: the operations of clients that it asks for, by name.
        properties: its properties by name, each with the number of its pinned examples.
        withdrawn: why clauses are not asked for any more, by id, with the date.
    """

    name: str
    clauses: Mapping[str, AskedClause]
    operations: Collection[str]
    properties: Mapping[str, int]
    withdrawn: Mapping[str, str]

    @property
    def is_next(self) -> bool:
        """Whether it asks for everything."""
        return self.name == NEXT

    def why_not_asked(self, clause: str) -> str:
        """Return why a clause, or a row of the grid of operations, fails no run; empty if it does."""
        if self.is_next:
            return ""
        if clause in self.withdrawn:
            return f"withdrawn from set {self.name} {self.withdrawn[clause]}"
        client, _, operation = clause.rpartition(".")
        is_asked = operation in self.operations if client and operation in OPERATIONS else clause in self.clauses
        return "" if is_asked else f"newer than set {self.name}"

    def why_note(self, clause: str, property_name: str) -> str:
        """Return why what a property shows about a clause fails no run; empty if it does."""
        why = self.why_not_asked(clause)
        if why or self.is_next or property_name in self.properties:
            return why
        return f"{property_name} is newer than set {self.name}"

    def is_newer(self, since: str) -> bool:
        """Return whether something that counts from a set on, such as "0.2", is newer than this one.

        Raises:
            CatalogueError: `since` is no version of a set.
        """
        return not self.is_next and version_of(since) > version_of(self.name)

    def as_asked(self, clause: Clause) -> Clause:
        """Return a clause with the level that it has in this set; one that is not in it stays as it is."""
        asked = self.clauses.get(clause.id)
        return clause if asked is None else replace(clause, level=asked.level)


EVERYTHING = ClauseSet(name=NEXT, clauses={}, operations=(), properties={}, withdrawn={})
"""What a run judges by if no set is named."""


def says_not_asked(reason: str) -> bool:
    """Return whether the reason of a cell says, in the words of `ClauseSet`, that it fails no run by the run's set."""
    return _NOT_ASKED.search(reason) is not None


def version_of(name: str) -> tuple[int, ...]:
    """Return the version of a set as numbers, to be compared: (0, 1) for "0.1".

    Raises:
        CatalogueError: it is no version of a set.
    """
    if not _VERSION.fullmatch(name):
        raise CatalogueError(f"{name!r} is no version of a set of clauses: it has two numbers, such as 0.1")
    return tuple(map(int, name.split(".")))


@functools.cache
def clause_sets(folder: Traversable = SETS_FOLDER) -> Mapping[str, ClauseSet]:
    """Return the frozen sets by name, the oldest first.

    Raises:
        CatalogueError: a file does not follow the form.
    """
    names = [path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml")]
    return {name: _read(folder.joinpath(f"{name}.toml"), name) for name in sorted(names, key=version_of)}


def clause_set(name: str) -> ClauseSet:
    """Return a set by its name.

    Raises:
        CatalogueError: there is none; the message lists those that there are.
    """
    sets = {**clause_sets(), NEXT: EVERYTHING}
    if name not in sets:
        raise CatalogueError(f"no set of clauses is named {name!r}; there are {', '.join(sets)}")
    return sets[name]


def newest_set() -> ClauseSet:
    """Return the frozen set that was made last."""
    return list(clause_sets().values())[-1]


def _read(path: Traversable, name: str) -> ClauseSet:
    where = f"sets/{name}.toml"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise CatalogueError(f"{where}: {error}") from error
    withdrawn = table.pop("withdrawn", [])
    if set(table) != _KEYS:
        raise CatalogueError(f"{where}: has the keys {sorted(table)}, and needs {sorted(_KEYS)}")
    try:
        return ClauseSet(
            name=name,
            clauses={entry.pop("id"): _asked(entry) for entry in table["clause"]},
            operations=tuple(table["operations"]),
            properties=table["properties"],
            withdrawn=dict(_withdrawn(withdrawn)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CatalogueError(f"{where}: an entry has a wrong or missing key: {error}") from error


def _asked(entry: Mapping[str, Any]) -> AskedClause:
    roles = tuple(Role(role) for role in entry["roles"])
    return AskedClause(**{**entry, "level": Level(entry["level"]), "roles": roles})


def _withdrawn(entries: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    for entry in entries:
        day: date = entry["date"]
        yield entry["clause"], f"on {day.isoformat()}: {entry['reason']}"
