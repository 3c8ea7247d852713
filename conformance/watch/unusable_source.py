"""The error for a file that a source cannot read at all."""

from __future__ import annotations

import click


class UnusableSource(click.ClickException):
    """A capture or a log that was named does not exist, cannot be opened, or is something else. It is wrong usage."""

    exit_code = click.UsageError.exit_code
