"""Errors that end a roll-up before it has tables, with their exit statuses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from reports.command_line.suite_command import DISK_FAULTS, CannotWork, sentence_of
from reports.run_folders.record_paths import fault_of_absolute_path

_IN_WORDS = (
    *map(os.strerror, sorted(DISK_FAULTS)),
    # Hadoop's own words, which hide the system's.
    "Mkdirs failed to create",
    "mkdir of",
    "(Not a directory)",
)
_LINE = re.compile(f".*({'|'.join(map(re.escape, _IN_WORDS))}).*")
_CLASS_NAMES = re.compile(r"^\s*(Caused by: |: )?([\w.$]+(Exception|Error): )+")


class RollUpError(click.ClickException):
    """A roll-up cannot be done; the message says what to do."""

    exit_code = 2


class PathNotFound(RollUpError):
    """A path that was given does not exist."""


class UnusablePath(RollUpError):
    """A path that was given is not UTF-8, so Spark cannot be given it."""


class UnreadableReport(RollUpError):
    """A report does not exist, or is not what the command that it should come from writes."""


class SparkUnavailable(RollUpError):
    """Spark's Java virtual machine does not start here."""

    exit_code = 3


class ForeignHistory(RollUpError):
    """A history was written in a different layout from this suite's."""


class HistoryMoved(RollUpError):
    """Another roll-up added to the history in the meantime."""

    exit_code = 4


class CannotWrite(RollUpError):
    """A disk is full, or a folder cannot be written to: nothing can be said of the runs."""

    exit_code = CannotWork.exit_code


def check_path(path: str | None) -> None:
    """Check that Spark can be given a path or URI, if there is one.

    Raises:
        UnusablePath: it is not UTF-8.
    """
    if path is not None and (fault := fault_of_absolute_path(path)):
        raise UnusablePath(fault)


@contextmanager
def disk_faults_explained(what: str) -> Iterator[None]:
    """Turn an error in the block that is about a disk or folder into one of the command's.

    Args:
        what: the beginning of the sentence, such as "the roll-up could not be written".

    Raises:
        CannotWrite: there was such an error.
    """
    try:
        yield
    except RollUpError:
        raise
    except Exception as error:
        fault = fault_of_disk(error)
        if fault is None:
            raise
        raise CannotWrite(f"{what}: {fault}") from error


def fault_of_disk(error: BaseException) -> str | None:
    """Return the sentence about a disk or folder for which an error says that it cannot be written to; None for others.

    Args:
        error: Python's own, or one that Java raised, whose text has the lines of all its causes.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return sentence_of(error) if error.errno in DISK_FAULTS else None
    # The last one is the cause of the others.
    lines = [match[0] for match in _LINE.finditer(str(error))]
    return _CLASS_NAMES.sub("", lines[-1]).strip() if lines else None
