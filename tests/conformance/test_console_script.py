"""The console script knows its commands without importing them."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

import kafka_conformance
from clauses.exit_statuses import INTERRUPTED
from conformance.__main__ import COMMANDS, GROUPS, main
from fixtures.cleanup.ending_signals import ENDING_SIGNALS, INTERRUPTS
from tests.conformance.suite_runs import REPOSITORY

LONGEST_SENTENCE = 60
"""Characters of a command's first sentence that fit into one line of the help, next to its name."""
HEAVY = ("pytest", "hypothesis", "pyarrow", "pyspark", "requests")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_command_is_found_under_its_name(name: str) -> None:
    """Each listed command exists, has that name and has a help text."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert 0 < len(command.get_short_help_str(limit=1000)) <= LONGEST_SENTENCE


def test_help_lists_every_command_in_a_group() -> None:
    """The help has the groups, and a command's first sentence on one line, which is not cut."""
    printed = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    assert [f"{group}:" for group in GROUPS] == [
        line for line in printed.splitlines() if line.endswith(":") and line != "Options:"
    ]
    assert printed.count("\n  judge ") == 1
    assert "..." not in printed.partition("Options:")[2]
    assert max(map(len, printed.splitlines())) <= 80


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


@pytest.mark.parametrize("error", [RuntimeError(), SystemExit(1)], ids=["python", "click"])
def test_interrupt_while_the_commands_are_imported_ends_with_2(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every ending signal is handled before that, and none of them changes the exit status afterwards."""
    handlers: dict[int, object] = dict.fromkeys(ENDING_SIGNALS, signal.SIG_DFL)

    def interrupt(name: str) -> object:
        if name == "conformance.__main__":
            assert signal.SIG_DFL not in handlers.values()
            monkeypatch.setattr(INTERRUPTS, "came", True)
            raise error from KeyboardInterrupt()
        return importlib.import_module(name)

    monkeypatch.setattr(kafka_conformance, "import_module", interrupt)
    monkeypatch.setattr(signal, "getsignal", handlers.get)
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(sys, "path", Mock())
    with pytest.raises(SystemExit) as ended:
        kafka_conformance.main()
    assert ended.value.code == INTERRUPTED
    assert set(handlers.values()) == {signal.SIG_IGN}
