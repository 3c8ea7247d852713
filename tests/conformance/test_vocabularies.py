"""Properties are written in the words of their folder's vocabulary."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import PACKAGES
from tests.documents.parsed_modules import definitions

VOCABULARIES = [
    pytest.param(path, id=path.parent.relative_to(REPOSITORY).as_posix())
    for folder in ("conformance", "proposals")
    for path in sorted((REPOSITORY / folder).rglob("vocabulary.py"))
]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name that a module imports from a package of the project, after the module that it comes from."""
    for node in parsed(path).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in PACKAGES:
            yield from ((str(node.module), alias.name) for alias in node.names)


def used_names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_word_is_used_and_has_one_meaning(vocabulary: Path) -> None:
    words = {name for _, name in imported_names(vocabulary)}
    properties = {path.name: parsed(path) for path in vocabulary.parent.glob("test_*.py")}
    assert words == words & set().union(*map(used_names, properties.values()))
    defined_again = {
        name: again for name, tree in properties.items() if (again := words & {each.name for each in definitions(tree)})
    }
    assert defined_again == {}


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_properties_import_nothing_else_of_the_suite(vocabulary: Path) -> None:
    own = ".".join(vocabulary.relative_to(REPOSITORY).with_suffix("").parts)
    for path in vocabulary.parent.glob("test_*.py"):
        assert set(imported_names(path)) == {(own, "*")}, path.name
