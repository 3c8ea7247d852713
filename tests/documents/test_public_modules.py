"""Packages and a document name the modules for other projects."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any

import pytest

from fixtures.launchers.built_in import launch_built_in
from fixtures.registry.reference import reference_target
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import REFERENCE
from tests.conformance.suite_runs import REPOSITORY

PAGE = (REPOSITORY / "docs" / "use-as-a-library.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PUBLIC = {package: re.findall(r"`(\w+)`", modules) for package, modules in ROW.findall(PAGE)}


@pytest.mark.parametrize("package", PUBLIC)
def test_packages_name_the_modules_of_the_document(package: str) -> None:
    assert import_module(package).__all__ == PUBLIC[package]
    for module in PUBLIC[package]:
        assert import_module(f"{package}.{module}").__doc__


def test_names_of_the_table_exist() -> None:
    dotted = re.findall(rf"`((?:{'|'.join(PUBLIC)})\.\w+)\.(\w+)[`(]", PAGE)
    assert len(dotted) >= len(PUBLIC)
    assert [(module, name) for module, name in dotted if not hasattr(import_module(module), name)] == []


def test_other_packages_have_no_public_modules() -> None:
    named = {path.parent.name for path in REPOSITORY.glob("*/__init__.py") if "__all__" in path.read_text("utf-8")}
    assert named == PUBLIC.keys()


@pytest.mark.parametrize("defect", ["", "negative-correlation-ids-lose-their-sign"])
def test_example_of_the_document_judges_a_server(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = EXAMPLE.findall(PAGE)
    monkeypatch.setattr("sys.path", [*sys.path])
    names: dict[str, Any] = {"__name__": "test_my_server"}
    exec(compile(example, "test_my_server.py", "exec"), names)
    with launch_built_in(reference_target(f"{REFERENCE}+{defect}" if defect else REFERENCE)) as broker:
        names["ADDRESS"] = broker.addresses[PLAINTEXT]
        if not defect:
            names["test_any_id_gets_the_table"]()
            return
        with pytest.raises(AssertionError):
            names["test_any_id_gets_the_table"]()
