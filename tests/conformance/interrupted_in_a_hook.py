"""A plugin for pytest: Ctrl-C comes while an old-style hook wrapper, as Hypothesis has one, ends the first property."""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call() -> Generator[None, object, None]:
    """Raise what the handler of Ctrl-C raises."""
    yield
    raise KeyboardInterrupt
