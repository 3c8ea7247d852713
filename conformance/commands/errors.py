"""Errors of the commands: bad input, and targets that could not be judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from clauses.exit_statuses import NOT_JUDGED, USAGE_ERROR
from reports.wording.escaping import printable


class UnknownName(click.ClickException):
    """A target, clause or defect that does not exist; the message names the closest matches."""

    exit_code = USAGE_ERROR


class InvalidFile(click.ClickException):
    """A registry or corpus file that does not follow its format."""

    exit_code = USAGE_ERROR


class CouldNotTell(click.ClickException):
    """A target did not start or ended, so there is no result. Exit status 1 would mean that there is one."""

    exit_code = NOT_JUDGED


@contextmanager
def reported_as(kind: type[click.ClickException], *causes: type[Exception]) -> Iterator[None]:
    """Raise an error of a command in place of any of these causes in the block.

    The error has the sentence of the cause, which may quote a target.
    """
    try:
        yield
    except causes as error:
        raise kind(printable(str(error))) from error
