"""Syntax trees of the project's modules, and what these define."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import PACKAGES, name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A statement at the top level of a module that gives a name.

    Attributes:
        name: the name.
        used: the names in the statement.
        lines: how many lines it has.
        is_value: whether it is neither a function nor a class.
    """

    name: str
    used: frozenset[str]
    lines: int
    is_value: bool


def definitions(tree: ast.Module) -> Iterator[Definition]:
    """Yield what a module defines, in its order, without what it imports."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names = [node.name]
            case ast.Assign():
                targets = (each for target in node.targets for each in ast.walk(target))
                names = [each.id for each in targets if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                continue
        is_value = isinstance(node, ast.Assign | ast.AnnAssign)
        for name in names:
            yield Definition(
                name=name,
                used=frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name)),
                lines=(node.end_lineno or node.lineno) - node.lineno + 1,
                is_value=is_value,
            )


@functools.cache
def modules() -> Mapping[str, ast.Module]:
    """Return the syntax tree of each module of the project, by its path."""
    paths = (path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py"))
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)}
