"""Class names are unique, and docstrings list attributes that exist.

The scripts in docs/findings stand alone, and may use any name.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest

from tests.documents.parsed_modules import modules

_LIST = re.compile(r"^Attributes:\n((?: .*\n?|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+(?:, \w+)*):", re.MULTILINE)

Classes = Mapping[str, list[tuple[str, ast.ClassDef]]]


def listed(text: str) -> list[str]:
    """Return the names in the list of attributes of a docstring."""
    found = _LIST.search(text)
    return [name for entry in _ENTRY.findall(found[1]) for name in entry.split(", ")] if found else []


def own(class_: ast.ClassDef) -> Iterator[str]:
    """Yield the names that a class sets or defines."""
    for node in ast.walk(class_):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def all_of(class_: ast.ClassDef, classes: Classes) -> set[str]:
    """Return the names of a class and of those that it inherits from."""
    names = set(own(class_))
    for base in class_.bases:
        last = re.split(r"[.\[]", ast.unparse(base))[-1]
        for _, each in classes[last]:
            if each is not class_:
                names |= all_of(each, classes)
    return names


def classes_of(trees: Mapping[str, ast.Module]) -> Classes:
    """Return the classes of some modules with their file, by name."""
    classes = defaultdict(list)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append((file, node))
    return classes


def repeated(classes: Classes) -> list[str]:
    """Return a line for each name that more than one class has, also inside functions."""
    return [
        f"{name}: {', '.join(f'{file}:{class_.lineno}' for file, class_ in each)}"
        for name, each in classes.items()
        if len(each) > 1
    ]


def unknown(classes: Classes) -> list[str]:
    """Return a line for each attribute that a docstring lists and its class does not have."""
    return [
        f"{file}: {class_.name}.{name}"
        for each in list(classes.values())
        for file, class_ in each
        for name in listed(ast.get_docstring(class_) or "")
        if name not in all_of(class_, classes)
    ]


@pytest.fixture(scope="module")
def classes() -> Classes:
    """Return every class of the repository."""
    return classes_of(modules())


def test_no_class_name_occurs_twice(classes: Classes) -> None:
    """Whoever searches for a name finds what it is; what replaces a class in a test has a name of its own."""
    assert repeated(classes) == []


def test_repeated_name_is_found() -> None:
    """In two files, and in two functions of one."""
    nested = "def one():\n    class Inner: ...\ndef two():\n    class Inner: ...\n"
    sources = {
        "a.py": ast.parse("class Broker: ...\nclass Client: ...\n"),
        "b.py": ast.parse(f"class Broker: ...\n{nested}"),
    }
    assert repeated(classes_of(sources)) == ["Broker: a.py:1, b.py:1", "Inner: b.py:3, b.py:5"]


def test_docstrings_list_attributes_that_exist(classes: Classes) -> None:
    """A field that was renamed is renamed in the docstring too."""
    assert unknown(classes) == []


def test_attribute_that_does_not_exist_is_found() -> None:
    """Fields, properties, and what a base has are found; a name that is none of them is reported."""
    source = '''
class Base:
    kept: int

class Some(Base):
    """Some.

    Attributes:
        kept, own: two of
            two lines: a colon.
        gone: not there any more.
    """

    def __init__(self) -> None:
        self.own = 2
'''
    assert unknown(classes_of({"some.py": ast.parse(source)})) == ["some.py: Some.gone"]
