"""Protection against text that a CI job would carry out as a command.

Such text comes from brokers, clients and run folders.

GitHub's runner, and those of Gitea and Forgejo, carry out what a job's log has after `::` or `##[`. They stop until a
token comes that no one else can know.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPED = "KAFKA_CONFORMANCE_LOG_COMMANDS"
"""Set to `stopped` in the environment of what such a program starts, because its output comes out in between."""


@contextmanager
def commands_stopped(write: Callable[[str], None] | None = None) -> Iterator[None]:
    """Have the log of a CI job carry out no command that is written in the block; do nothing outside of such a job.

    Args:
        write: writes to the log; None for standard output.
    """
    write = write or _write
    if os.environ.get("GITHUB_ACTIONS") != "true" or STOPPED in os.environ:
        yield
        return
    token, process = secrets.token_hex(16), os.getpid()
    os.environ[STOPPED] = "stopped"
    # Each on a line of its own, whatever was written before.
    write(f"\n::stop-commands::{token}\n")
    try:
        yield
    finally:
        # What was forked in the block writes to the same log.
        if os.getpid() == process:
            write(f"\n::{token}::\n")
            del os.environ[STOPPED]


def _write(text: str) -> None:
    # The job's log has both streams in the order in which they are written.
    sys.stderr.flush()
    sys.stdout.write(text)
    sys.stdout.flush()
