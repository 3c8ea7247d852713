"""Runs that several tests share.

With several workers, the first worker that needs a run makes it for all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from filelock import FileLock

from tests.conformance.suite_runs import SuiteRun, judge_defects, run_suite

FEW_DEFECTS = (
    "negative-correlation-ids-lose-their-sign",
    "tags-descend",
    "names-are-not-checked",
)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], SuiteRun]) -> SuiteRun:
    """Return a run that no other worker of this session makes again; `make` gets the folder for it."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    kept = root / f"{name}.json"
    with FileLock(root / f"{name}.lock"):
        if not kept.exists():
            kept.write_text(json.dumps(asdict(make(root / name))))
    return SuiteRun(**json.loads(kept.read_text()))


@pytest.fixture(scope="session")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """The smoke tier on the healthy reference broker, with Allure's results in `allure` next to `runs`."""

    def judged(folder: Path) -> SuiteRun:
        allure = ("--alluredir", str(folder / "allure"))
        return run_suite(*("--broker", "reference", "--tier", "smoke", *allure), runs=folder / "runs")

    return made_once(tmp_path_factory, "healthy", judged)


@pytest.fixture(scope="session")
def defects_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """The smoke tier on a few planted defects, with Allure's results in `allure` next to `runs`."""

    def judged(folder: Path) -> SuiteRun:
        return judge_defects(FEW_DEFECTS, folder, "--tier", "smoke")

    return made_once(tmp_path_factory, "defects", judged)
