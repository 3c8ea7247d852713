"""Base class of every command, and its exit statuses.

Exit status 1 means a result such as a violation. A full disk or a bug of the suite ends with 10.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TextIO

import click

from clauses.exit_statuses import INTERRUPTED, NOT_JUDGED
from reports.command_line.job_log import commands_stopped

DISK_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""Numbers of errors of a disk or folder that a command was given, or of the temporary files: they say nothing about
the content of the file that was read or written."""
_NO_BUGS = DISK_FAULTS | {
    *(errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.ENOTCONN),
}
"""Numbers of errors of the system that say nothing about the suite: a folder is a file, or there are too many open
files."""


class CannotWork(click.ClickException):
    """The machine, or something that a command needs, does not let it do its work; the message says what."""

    exit_code = NOT_JUDGED


NO_WORKING_FOLDER = CannotWork("the working folder does not exist any more; change to another")


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
        _make_standard_streams_usable()
        with commands_stopped(), _written_to_the_end():
            try:
                return super().main(*args, **extra)
            except Exception as error:
                if _is_of_an_interrupt(error):
                    raise SystemExit(INTERRUPTED) from None
                show_error(error)
                raise SystemExit(CannotWork.exit_code) from error

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments, and print the help if they ask for it."""
        with _no_result_is_1():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command's function."""
        with _no_result_is_1():
            return super().invoke(ctx)


def _make_standard_streams_usable() -> None:
    """Open the standard streams that the caller has closed, and let any text be encoded.

    Otherwise a file or socket could take the place of a closed stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The lowest free number, which this one is, as those below it are open.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _written_to_the_end() -> Iterator[None]:
    """Flush standard output and error at the end, and exit with 10 if that fails.

    Python would exit with 120. A command that already has a fault keeps its exit status.
    """
    try:
        yield
    except SystemExit as ended:
        is_lost = False
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                is_lost = True
                discard(stream)
        if is_lost and not ended.code:
            raise SystemExit(CannotWork.exit_code) from None
        raise


@contextmanager
def _no_result_is_1() -> Iterator[None]:
    """Handle what Click, and Rich by a SystemExit, would end with 1, which is a result."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OSError):
            click.echo("interrupted", err=True)
        raise SystemExit(INTERRUPTED) from None
    except EOFError as error:
        show_error(error)
        raise SystemExit(CannotWork.exit_code) from None
    except (BrokenPipeError, SystemExit) as error:
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        discard_output()
        raise SystemExit(CannotWork.exit_code) from None


def _is_of_an_interrupt(error: BaseException | None) -> bool:
    """Return whether an error came of an interrupt: Python makes others of it, such as while it creates a class."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def discard_output() -> None:
    """Discard buffered output for a pipe that has no reader.

    Otherwise Python flushes it at the end, and complains.
    """
    discard(sys.stdout)


def discard(stream: TextIO) -> None:
    """Discard what is still to be written to a stream that takes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show_error(error: Exception) -> None:
    """Show an error that no command expects, if there is room for it."""
    with suppress(OSError):
        if isinstance(error, FileNotFoundError) and not _has_working_folder():
            NO_WORKING_FOLDER.show()
        elif isinstance(error, OSError) and error.errno in _NO_BUGS:
            prefix = "" if error.filename else "a file could not be read or written: "
            CannotWork(f"{prefix}{sentence_of(error)}").show()
        else:
            traceback.print_exception(error, file=sys.stderr)


def check_working_folder() -> None:
    """Check that the working folder exists: relative paths have no meaning without it, and Java does not start.

    Raises:
        CannotWork: it does not exist.
    """
    if not _has_working_folder():
        raise NO_WORKING_FOLDER


def _has_working_folder() -> bool:
    try:
        return bool(Path.cwd())
    except FileNotFoundError:
        return False


def sentence_of(error: OSError) -> str:
    """Return which file or folder an error of `DISK_FAULTS` names, if any, and the system's words for it."""
    assert error.errno is not None
    prefix = f"{error.filename}: " if error.filename else ""
    return f"{prefix}{os.strerror(error.errno)}"


def check_writable(folder: Path) -> None:
    """Write a file where a folder is or will be.

    Raises:
        OSError: nothing can be written there; it names the folder nearest to it that exists.
    """
    existing = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())
    try:
        with TemporaryFile(dir=existing):
            pass
    except OSError as error:
        # The system's error names the temporary file, and not the folder that was given.
        raise OSError(error.errno, error.strerror, str(existing)) from error
