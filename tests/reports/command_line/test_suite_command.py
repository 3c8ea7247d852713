"""No fault ends a command with 1, which is a result."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Sequence
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

from reports.command_line.suite_command import SuiteCommand

PROGRAM = """
import click, rich
from reports.command_line.suite_command import SuiteCommand
@click.command(cls=SuiteCommand)
def main(): {call}('text')
main()
"""


@pytest.mark.parametrize(
    ("call", "arguments"),
    [("click.echo", []), ("rich.get_console().print", []), ("click.echo", ["--help"])],
)
def test_closed_pipe_is_no_result(call: str, arguments: Sequence[str]) -> None:
    """Click and Rich would both end the command with 1; it ends with 10 and no message."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(call=call), *arguments],
            check=False,
            stdout=writer,
            stderr=subprocess.PIPE,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (10, b"")


@pytest.mark.parametrize(
    ("call", "redirection", "status", "output"),
    [
        ("click.echo", ">&-", 0, ""),
        ("click.echo", "<&- 2>&- | cat", 0, "text\n"),
        (
            "print(open(1, 'wb', closefd=False).name, flush=True); click.echo",
            "<&- | cat",
            0,
            "1\ntext\n",
        ),
        ("raise click.ClickException", "2>/dev/full", 10, ""),
        ("raise ValueError", "2>/dev/full", 10, ""),
        ("raise KeyboardInterrupt #", "2>/dev/full", 2, ""),
        ("raise click.UsageError", ">/dev/full 2>&1", 10, ""),
        ("rich.print('\\u00fc') #", "| cat", 0, "\\xfc\n"),
        ("print('text') #", ">/dev/full", 10, ""),
    ],
)
def test_standard_streams_are_no_result(call: str, redirection: str, status: int, output: str) -> None:
    """Closed, full, or of an encoding that has not every character."""
    ended = subprocess.run(
        [
            *("bash", "-o", "pipefail", "-c", f'"$0" -c "$1" {redirection}'),
            *(sys.executable, PROGRAM.format(call=call)),
        ],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUNBUFFERED": ""},
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, output, "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EMFILE, ""), "a file could not be read or written: Too many open files"),
        (NotADirectoryError(errno.ENOTDIR, "", "/a/b"), "/a/b: Not a directory"),
    ],
)
def test_fault_of_the_machine_is_a_sentence(error: OSError, words: str) -> None:
    command = click.command(cls=SuiteCommand)(Mock(side_effect=error, __name__="command"))
    ended = CliRunner().invoke(command)
    assert (ended.exit_code, ended.output) == (10, f"Error: {words}\n")


@pytest.mark.parametrize(
    ("error", "cause", "status"),
    [
        (KeyboardInterrupt, None, 2),
        (RuntimeError, KeyboardInterrupt(), 2),
        (RuntimeError, ValueError(), 10),
        (EOFError, None, 10),
    ],
)
@pytest.mark.parametrize("when", ["arguments", "function"])
def test_what_click_calls_aborted_is_no_result(
    when: str, error: type[BaseException], cause: BaseException | None, status: int
) -> None:
    """An interrupt, and a stream that ends too early, also while the arguments are read."""

    def fail(*_: object) -> None:
        raise error from cause

    @click.command(cls=SuiteCommand)
    @click.option("--option", callback=fail if when == "arguments" else None)
    def command(option: str) -> None:
        fail()

    assert CliRunner().invoke(command).exit_code == status
