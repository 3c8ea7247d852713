"""What ends a roll-up before it has tables: each error with the status that its command ends with."""

from __future__ import annotations

from typing import ClassVar


class RollUpError(Exception):
    """A roll-up cannot be done; the message says what to do.

    Attributes:
        exit_status: what the command ends with.
    """

    exit_status: ClassVar[int] = 2


class PathNotFound(RollUpError):
    """A path that was given does not exist."""


class UnreadableReport(RollUpError):
    """There is no such file, or it is not what the command writes that it is said to be from."""


class SparkUnavailable(RollUpError):
    """Spark's Java virtual machine does not start here."""

    exit_status = 3


class ForeignHistory(RollUpError):
    """A history was written in another layout than this suite's."""


class HistoryMoved(RollUpError):
    """Another roll-up added to the history meanwhile."""

    exit_status = 4
