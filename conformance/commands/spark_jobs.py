"""The programs that run Spark, for the commands that start them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import click

from conformance.commands.progress import status_line
from wire.request_log_counts import LogCounts

REQUIRED = ("numpy", "pandas", "pyspark")


class NotInstalled(click.ClickException):
    """Packages are missing that only the extra `grid` installs."""

    exit_code = click.UsageError.exit_code


def spark_job(name: str, *arguments: str) -> list[str]:
    """Return the command line of a program of `spark_aggregation`.

    It is a separate process because it starts a JVM; on a cluster it is submitted instead.

    Raises:
        NotInstalled: the packages that it needs are not installed.
    """
    missing = [package for package in REQUIRED if find_spec(package) is None]
    if missing:
        raise NotInstalled(
            f"this command needs {', '.join(missing)}, which judging does not; to install what is missing: "
            f"{sys.executable} -m pip install 'kafka-conformance[grid]'"
        )
    return [sys.executable, "-m", f"spark_aggregation.{name}", *arguments]


def count_with_spark(uris: Sequence[str]) -> LogCounts:
    """Count the requests in request logs of brokers at any URI that Hadoop knows.

    Raises:
        NotInstalled: packages are missing.
        SystemExit: the program failed, and has said why.
    """
    with status_line("reading with Spark"):
        finished = subprocess.run(
            spark_job("request_logs_job", *uris),
            check=False,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
    if finished.returncode:
        raise SystemExit(finished.returncode)
    return LogCounts.from_json(finished.stdout.splitlines()[-1])
