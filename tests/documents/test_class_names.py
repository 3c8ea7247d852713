"""A class name stands for one class, so that whoever searches for it finds what it is.

The scripts in docs/findings stand alone, and may use any name.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from tests.conformance.suite_runs import REPOSITORY
from tests.documents.documents import PACKAGES


def repeated(sources: Mapping[str, str]) -> list[str]:
    """Return a line for each class name that occurs more than once in some sources, also inside functions."""
    found = defaultdict(list)
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{file}:{node.lineno}")
    return [f"{name}: {', '.join(where)}" for name, where in found.items() if len(where) > 1]


def test_no_class_name_occurs_twice() -> None:
    """What replaces a class in a test has a name of its own."""
    files = [path for package in PACKAGES for path in sorted((REPOSITORY / package).rglob("*.py"))]
    assert (
        repeated({str(file.relative_to(REPOSITORY)): file.read_text("utf-8") for file in files})
        == []
    )


def test_repeated_name_is_found() -> None:
    """In two files, and in two functions of one."""
    nested = "def one():\n    class Inner: ...\ndef two():\n    class Inner: ...\n"
    sources = {
        "a.py": "class Broker: ...\nclass Client: ...\n",
        "b.py": f"class Broker: ...\n{nested}",
    }
    assert repeated(sources) == ["Broker: a.py:1, b.py:1", "Inner: b.py:3, b.py:5"]
