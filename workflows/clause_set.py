"""Makes a frozen set of clauses: what the suite asks today, named by a version.

    python -m workflows.clause_set 0.2

It writes `clauses/sets/0.2.toml` and refuses a set that is there already. The action's default in `action.yml` follows
by hand: with it the newer clauses begin to count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from clauses.catalogue import CatalogueError, Clause, catalogue
from clauses.clause_sets import SETS_FOLDER, clause_sets, version_of
from clauses.operations import OPERATIONS
from conformance.mutation.properties import properties_in
from conformance.roles.role_registry import EVERY_ROLE
from proposals import proposals
from reports.command_line.suite_command import CannotWork, SuiteCommand


def clauses_for_sets() -> list[Clause]:
    """Return the clauses that a set has: all but those of proposals, which change while they are discussed."""
    proposed = {each.source for each in proposals()}
    return [clause for clause in catalogue() if clause.source not in proposed]


def pinned_examples_of_properties() -> dict[str, int]:
    """Return how many pinned examples each property has, by its name; those of proposals are left out."""
    folders = dict.fromkeys(role.folder for role in EVERY_ROLE)
    return {each.name: len(each.pinned) for folder in folders for each in properties_in(folder)}


def set_text(name: str, clauses: Iterable[Clause], properties: Mapping[str, int]) -> str:
    """Return the file of a set.

    Args:
        name: its version, such as "0.2".
        clauses: what it asks for.
        properties: the number of pinned examples of each property, by its name.
    """
    return "\n".join(_lines(name, clauses, properties))


def _lines(name: str, clauses: Iterable[Clause], properties: Mapping[str, int]) -> Iterator[str]:
    yield f"# What `--clauses {name}` asks for. `python -m workflows.clause_set` wrote it, and it never changes, but for"
    yield "# clauses that are withdrawn: [[withdrawn]] with clause, date and reason. See CONTRIBUTING.md."
    yield ""
    yield "operations = ["
    yield from (f"    {_toml(each)}," for each in OPERATIONS)
    yield "]"
    yield ""
    yield "[properties]"
    yield from (f"{each} = {count}" for each, count in sorted(properties.items()))
    for clause in clauses:
        yield ""
        yield "[[clause]]"
        yield f"id = {_toml(clause.id)}"
        yield f"level = {_toml(clause.level.value)}"
        yield f"roles = {_toml([role.value for role in clause.roles])}"
        yield f"applies_to = {_toml(str(clause.applies_to))}"
        yield f"statement = {_toml(clause.statement)}"
    yield ""


def _toml(value: str | list[str]) -> str:
    """Return a text or a list of texts in TOML, which is their JSON."""
    return json.dumps(value, ensure_ascii=False)


@click.command(cls=SuiteCommand, name="workflows.clause_set")
@click.argument("name", metavar="VERSION")
def main(name: str) -> None:
    """Freeze what the suite asks today as the set VERSION, such as 0.2."""
    try:
        is_newest = all(version_of(name) > version_of(other) for other in clause_sets())
    except CatalogueError as error:
        raise CannotWork(str(error)) from error
    if not is_newest:
        raise CannotWork(f"a set is newer than all before it, and there are {', '.join(clause_sets())}")
    path = Path(str(SETS_FOLDER)) / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    text = set_text(name, clauses_for_sets(), pinned_examples_of_properties())
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}; name it as the default of the input `clauses` in action.yml")


if __name__ == "__main__":
    main()
