"""The console script `kafka-conformance`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import click

from fixtures.cleanup.ending_signals import INTERRUPTED, interrupt_when_ended
from reports.distribution import suite_version
from reports.job_log import ForeignWords

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("targets", "clients", "clauses", "explain"), "catalogue"),
        **{
            name: name
            for name in ("judge", "matrix", "grid", "site", "verify", "changes", "mutation")
        },
        **{name: name for name in ("diff", "summary", "start", "watch", "learn", "upgrade")},
        **{name: name for name in ("replay", "rejudge", "corpus", "expectations")},
        **{"api-versions": "api_versions", "schemas": "schemas", "discovery": "discovery"},
        **{"reference-broker": "reference_broker", "roll-up": "roll_up", "py-files": "roll_up"},
        **{"pin-artefacts": "pinning", "record-tables": "pinning"},
    }
)
"""The module of `conformance.commands` that defines each command under its own name."""


FAULTS_OF_DISKS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
"""Numbers of errors of a disk or folder that a command was given, or of the temporary files."""


class CannotWork(click.ClickException):
    """The machine does not let the command do its work; the status is that of a fault of the suite."""

    exit_code = 10


class Commands(ForeignWords, click.Group):
    """Imports a command only when it is needed; importing all of them takes a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"conformance.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; any signal that ends it does what Ctrl-C does, and the exit status is 2.

        A full disk, or a folder that cannot be written to or does not exist any more, ends it with 10 and a sentence.
        """
        interrupt_when_ended()
        try:
            _check_working_folder()
            return super().invoke(ctx)
        except OSError as error:
            if error.errno not in FAULTS_OF_DISKS:
                raise
            place = error.filename or "a file could not be read or written"
            raise CannotWork(f"{place}: {os.strerror(error.errno)}") from error
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None


def _check_working_folder() -> None:
    """Check that the working folder exists: relative paths have no meaning without it, and Java does not start."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise CannotWork("the working folder does not exist any more; change to another") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(suite_version())
def main() -> None:
    """Judge how well Kafka brokers conform to the ApiVersions handshake.

    Brokers are judged by `judge`, which runs `pytest conformance/`; `kafka-conformance judge -- --help` lists its
    options under "Kafka conformance".
    """


if __name__ == "__main__":
    main()
