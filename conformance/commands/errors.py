"""What a command says of bad input, and of what it could not find out."""

from __future__ import annotations

import click

from reports.exit_status import ExitStatus

USAGE_ERROR = 4
"""Pytest's exit status for a command line that it cannot follow."""


class UnknownName(click.ClickException):
    """A target, clause or defect that does not exist; the message gives the nearest names."""

    exit_code = USAGE_ERROR


class InvalidFile(click.ClickException):
    """A file of the registry or of the corpus that does not follow its format."""

    exit_code = USAGE_ERROR


class CouldNotTell(click.ClickException):
    """A target did not start or went away, so that the question has no answer; 1 would be one."""

    exit_code = int(ExitStatus.HARNESS_ERROR)
