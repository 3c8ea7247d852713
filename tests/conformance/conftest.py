"""Runs that several tests share."""

from __future__ import annotations

import pytest

from tests.conformance.suite_runs import SuiteRun, judge_defects, run_suite

FEW_DEFECTS = (
    "negative-correlation-ids-lose-their-sign",
    "tags-descend",
    "names-are-not-checked",
)


@pytest.fixture(scope="session")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """The smoke tier on the healthy reference broker, with Allure's results in `allure` next to `runs`."""
    folder = tmp_path_factory.mktemp("healthy")
    return run_suite(
        *("--broker", "reference", "--tier", "smoke", "--alluredir", str(folder / "allure")),
        runs=folder / "runs",
    )


@pytest.fixture(scope="session")
def defects_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run of a few planted defects, with Allure's results in `allure` next to `runs`."""
    return judge_defects(FEW_DEFECTS, tmp_path_factory.mktemp("defects"))
