"""The small site, written once for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reports.site.sites import write_small_site


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark of tests that need a real browser."""
    config.addinivalue_line("markers", "browser: needs Chromium, or a text browser")


@pytest.fixture(scope="session")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the small site; not to be changed."""
    return write_small_site(tmp_path_factory.mktemp("site"))
