"""Pytest plugin that sets the exit status of a run that ends early.

The status is never 1, because 1 means a violation.
"""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

from fixtures.cleanup.ending_signals import INTERRUPTS
from reports.command_line.suite_command import discard_output, show_error
from reports.run.exit_status import ExitStatus


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have what ends the run during collection reach `pytest_cmdline_main`; pytest would print the exception's name."""
    try:
        return (yield)
    except pytest.exit.Exception as end:
        raise pytest.UsageError(end.msg) from end


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Generator[None, object, object]:
    """Say in a sentence why the run does not begin, or what ended it, and return its exit status."""
    try:
        return (yield)
    except BrokenPipeError:
        discard_output()
    except KeyboardInterrupt:
        pass
    except pytest.UsageError as error:
        sys.stdout.flush()
        sys.stderr.write(f"Error: {error}\n")
        end = error.__cause__
        return getattr(end, "returncode", None) or pytest.ExitCode.USAGE_ERROR
    except Exception as error:  # noqa: BLE001 - the status matters
        show_error(error)
    return pytest.ExitCode.INTERRUPTED if INTERRUPTS.came else ExitStatus.HARNESS_ERROR
