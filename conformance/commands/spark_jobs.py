"""The programs that run Spark, for the commands that start them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click

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
