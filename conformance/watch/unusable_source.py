"""The error for a file that cannot be used as a source."""

from __future__ import annotations

import click


class UnusableSource(click.ClickException):
    """A capture or a log that was named does not exist, cannot be opened, or is something else."""

    exit_code = 4
