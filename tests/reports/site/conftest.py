"""Sites and the browser, each made once for all tests that do not change them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.programs import require_program
from tests.reports.site.sites import (
    write_large_site,
    write_site_with_clients,
    write_site_with_operations,
    write_small_site,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that lets `test_every_page.py` check another site than the small one."""
    parser.addoption("--site", type=Path, help="folder of the site whose pages are checked")


@pytest.fixture(scope="session")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the small site; tests must not change it."""
    return write_small_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def site_with_clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the small site with two clients on it; tests must not change it."""
    return write_site_with_clients(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="session")
def site_with_operations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the small site with client operations tried on two of its releases; tests must not change it."""
    return write_site_with_operations(tmp_path_factory.mktemp("operations"))


@pytest.fixture(scope="session")
def large_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the site with 120 clauses and 40 targets; tests must not change it."""
    return write_large_site(tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Path:
    """Folder of the site that `--site` names, otherwise of the small site."""
    # Pytest knows the option only if this folder, or a file in it, is named on the command line.
    given: Path | None = request.config.getoption("site", default=None)
    return given.resolve() if given else request.getfixturevalue("small_site")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, started once for this folder: while it runs, no other test can have a loop of asyncio."""
    path = os.environ.get("CHROMIUM") or require_program("chromium", "google-chrome")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()
