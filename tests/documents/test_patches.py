"""Tests patch no private name: what a test changes is a parameter, or public."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.conformance.suite_runs import REPOSITORY

PATCHING = {"setattr", "delattr", "setitem", "delitem", "patch", "object"}
"""The functions of pytest's `monkeypatch` and of `unittest.mock` that replace something, and `setattr` itself."""


def private_patches(source: str) -> Iterator[str]:
    """Yield what a module patches by a private name, with the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in PATCHING:
            for argument in node.args[:2]:
                name = ast.unparse(argument).strip("'\"")
                last = name.rpartition(".")[2]
                if last.startswith("_") and last.isidentifier() and not last.endswith("__"):
                    yield f"{name}, line {node.lineno}"


def test_no_test_patches_a_private_name() -> None:
    tests = [*REPOSITORY.glob("tests/**/*.py"), *REPOSITORY.glob("proposals/*/tests/**/*.py")]
    assert len(tests) > 300
    assert [
        f"{path.relative_to(REPOSITORY)}: {patch}"
        for path in tests
        for patch in private_patches(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(module, "_name", 1)',
        'monkeypatch.setattr(Class._inner, "name", 1)',
        'monkeypatch.setattr("package.module._name", 1)',
        'monkeypatch.setitem(module._TABLE, "key", 1)',
        'mock.patch.object(module, "_name")',
        'patch("package._name")',
        'setattr(thing, "_name", 1)',
    ],
)
def test_private_names_are_found(line: str) -> None:
    assert list(private_patches(line))


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(module, "name", lambda _: 1)',
        'monkeypatch.setattr(Class, "__init__", 1)',
        'monkeypatch.setattr(module, "OTHER", module.OTHER._replace(items=1))',
    ],
)
def test_others_are_not(line: str) -> None:
    assert not list(private_patches(line))
