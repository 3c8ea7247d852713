"""The pytest plugin for runs that end before their first property: they say why in one sentence, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have what ends the run during collection reach `pytest_cmdline_main`; pytest would print the exception's name."""
    try:
        return (yield)
    except pytest.exit.Exception as end:
        raise pytest.UsageError(end.msg) from end


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Generator[None, object, object]:
    """Print why the run does not begin, and return its exit status."""
    try:
        return (yield)
    except pytest.UsageError as error:
        sys.stdout.flush()
        sys.stderr.write(f"Error: {error}\n")
        end = error.__cause__
        return getattr(end, "returncode", None) or pytest.ExitCode.USAGE_ERROR
