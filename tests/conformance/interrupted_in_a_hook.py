"""A pytest plugin that raises Ctrl-C in a hook wrapper.

It does so as the first property ends. The wrapper is old-style, like the wrapper that Hypothesis has.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call() -> Generator[None, object, None]:
    """Raise what the handler of Ctrl-C raises."""
    yield
    raise KeyboardInterrupt
