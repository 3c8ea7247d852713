"""Every assertion that judges a target has a message.

Without a message, a failure shows pytest's expression and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from proposals import proposals

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "conformance/brokers",
    "conformance/clients",
    "conformance/assertions",
    "conformance/operations",
    *(
        str(folder.relative_to(ROOT))
        for proposal in proposals()
        for role in ("brokers", "clients")
        for folder in [proposal.properties(role)]
    ),
)


def unexplained(source: str) -> Iterator[int]:
    """Yield the lines of assertions without a message, except those that only tell mypy that a value is there, or
    its class."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and node.msg is None and not _is_narrowing(node.test):
            yield node.lineno


def _is_narrowing(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case _:
            return False


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_assertion_has_a_message(folder: str) -> None:
    """The first line of a failure is a sentence of ours."""
    modules = sorted((ROOT / folder).glob("*.py"))
    found = [f"{module.name}:{line}" for module in modules for line in unexplained(module.read_text("utf-8"))]
    assert modules
    assert found == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("assert code == 0", [1]),
        ("assert code == 0, 'the code is wrong'", []),
        ("assert body is not None", []),
        ("assert isinstance(play, Play)", []),
        ("assert answer", [1]),
        ("if body:\n    assert body is None", [2]),
    ],
)
def test_assertions_without_a_message_are_found(source: str, lines: list[int]) -> None:
    """A value that has to be there is no statement about the target."""
    assert list(unexplained(source)) == lines
