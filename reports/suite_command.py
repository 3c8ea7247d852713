"""How every command of the suite ends: 1 is a result, such as a violation, and no fault ends a command with it."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

from reports.disk_faults import DISK_FAULTS, sentence_of
from reports.job_log import commands_stopped

INTERRUPTED = 2
"""Exit status of a command that was interrupted."""


class CannotWork(click.ClickException):
    """The machine, or something that a command needs, does not let it do its work; the message says what."""

    exit_code = 10


class SuiteCommand(click.Command):
    """A command of the suite.

    - Ctrl-C ends it with 2.
    - A full disk, and a folder that cannot be read or written to, end it with 10 and a sentence.
    - A pipe whose reader has ended, as in `... | head`, ends it with 10 and no output.
    - Any other error that it does not expect ends it with 10 and a traceback.
    - The log of a CI job carries out nothing that it writes, because that may have words of others in it.
    """

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command, and end the process."""
        with commands_stopped():
            try:
                return super().main(*args, **extra)
            except Exception as error:
                _show(error)
                raise SystemExit(CannotWork.exit_code) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command's function."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None
        except (BrokenPipeError, SystemExit) as error:
            # Click, and Rich by a SystemExit, would end with 1, which is a result.
            if not isinstance(error, BrokenPipeError) and not isinstance(
                error.__context__, BrokenPipeError
            ):
                raise
            # Python flushes again when it ends, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(CannotWork.exit_code) from None


def _show(error: Exception) -> None:
    """Show an error that no command expects."""
    if isinstance(error, OSError) and error.errno in DISK_FAULTS:
        place = "" if error.filename else "a file could not be read or written: "
        CannotWork(f"{place}{sentence_of(error)}").show()
    else:
        traceback.print_exception(error, file=sys.stderr)
