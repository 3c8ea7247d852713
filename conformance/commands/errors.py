"""What a command says of bad input."""

from __future__ import annotations

import click


class UnknownName(click.ClickException):
    """A target, clause or defect that does not exist; the message gives the nearest names.

    The exit status is that of pytest for a command line that names nothing.
    """

    exit_code = 4
