"""The console script knows its commands without importing them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from conformance.__main__ import COMMANDS, main
from tests.conformance.suite_runs import REPOSITORY

HEAVY = ("pytest", "hypothesis", "pyarrow", "pyspark", "requests")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_command_is_found_under_its_name(name: str) -> None:
    """Each listed command exists, has that name and has a help text."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str()


def test_unknown_command_is_none() -> None:
    """A mistyped name is not a command."""
    assert main.get_command(click.Context(main), "gird") is None


def test_command_costs_its_own_imports_alone() -> None:
    """Before the roll-up starts, `grid` imports no library that takes a tenth of a second."""
    script = (
        "import sys, conformance.__main__, conformance.commands.grid;"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert printed.stdout.strip() == "[]"
