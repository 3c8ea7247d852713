"""Errors that end a roll-up before it has tables, each with the exit status of the command."""

from __future__ import annotations

from typing import ClassVar


class RollUpError(Exception):
    """A roll-up cannot be done; the message says what to do.

    Attributes:
        exit_status: exit status of the command.
    """

    exit_status: ClassVar[int] = 2


class PathNotFound(RollUpError):
    """A path that was given does not exist."""


class UnreadableReport(RollUpError):
    """A report does not exist, or is not what the command that it should come from writes."""


class SparkUnavailable(RollUpError):
    """Spark's Java virtual machine does not start here."""

    exit_status = 3


class ForeignHistory(RollUpError):
    """A history was written in a different layout from this suite's."""


class HistoryMoved(RollUpError):
    """Another roll-up added to the history in the meantime."""

    exit_status = 4
