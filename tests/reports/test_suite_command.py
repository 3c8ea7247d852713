"""A command whose output is not read ends with 10 and no message, never with 1."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import click, rich
from reports.suite_command import SuiteCommand
@click.command(cls=SuiteCommand)
def main(): {call}('text')
main()
"""


@pytest.mark.parametrize("call", ["click.echo", "rich.get_console().print"])
def test_closed_pipe_is_no_result(call: str) -> None:
    """Click and Rich would both end the command with 1."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(call=call)],
            check=False,
            stdout=writer,
            stderr=subprocess.PIPE,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (10, b"")
