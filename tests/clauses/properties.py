"""Reader of properties from source: their names, docstrings and clauses.

The properties are in conformance/ and in proposals.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import conformance
from proposals import proposals

CONFORMANCE = Path(conformance.__file__).parent
FOLDERS = (CONFORMANCE, *(each.properties_folder for each in proposals()))
_MARK = "pytest.mark.clause"


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySource:
    """One property.

    Attributes:
        file: its file, relative to the folder of all properties.
        name: the function's name.
        docstring: its docstring, empty if it has none.
        clauses: the arguments of its clause marks; None for each one that is not a string literal.
    """

    file: str
    name: str
    docstring: str
    clauses: tuple[str | None, ...]

    def __str__(self) -> str:
        return f"{self.file}::{self.name}"


@cache
def properties_in() -> tuple[PropertySource, ...]:
    """Return every property of the suite and of proposals, by file."""
    return tuple(each for folder in FOLDERS for each in _properties_in(folder))


def _properties_in(folder: Path) -> Iterator[PropertySource]:
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield PropertySource(
                    file=str(path.relative_to(folder)),
                    name=node.name,
                    docstring=ast.get_docstring(node) or "",
                    clauses=tuple(_marked_clauses(node.decorator_list)),
                )


def _marked_clauses(decorators: list[ast.expr]) -> Iterator[str | None]:
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == _MARK:
            for argument in decorator.args:
                value = argument.value if isinstance(argument, ast.Constant) else None
                yield value if isinstance(value, str) else None
