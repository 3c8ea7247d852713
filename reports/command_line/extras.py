"""The extras of the distribution, and the error for a missing one.

Which packages an extra consists of says the metadata of the distribution, and so `pyproject.toml` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires

import click
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from clauses.exit_statuses import USAGE_ERROR
from reports.command_line.distribution import DISTRIBUTION

GRID = "grid"
LEARNING = "learning"
RELEASES = "releases"
REPORTS = "reports"


class MissingExtra(click.ClickException):
    """Packages of an extra are not installed; the message says what needs them, and how to install them."""

    exit_code = USAGE_ERROR


def check_extra(extra: str, needed_by: str) -> None:
    """Check that every package of an extra is installed.

    Args:
        extra: its name in `pyproject.toml`.
        needed_by: what needs it, as the subject of a sentence: "judge apache-kafka-4.4.0".

    Raises:
        MissingExtra: one is not.
    """
    if not all(map(_is_installed, packages_of(extra))):
        wanted = f"{DISTRIBUTION}[{extra}]"
        raise MissingExtra(f"{needed_by} needs {wanted}: {sys.executable} -m pip install '{wanted}'")


def packages_of(extra: str) -> Iterator[str]:
    """Yield the packages that an extra adds on this machine; none if the suite runs without being installed."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or marker.evaluate({"extra": ""}) or not marker.evaluate({"extra": extra}):
            continue
        if canonicalize_name(requirement.name) == DISTRIBUTION:
            for other in requirement.extras:
                yield from packages_of(other)
        else:
            yield requirement.name


def _is_installed(package: str) -> bool:
    try:
        return bool(distribution(package))
    except PackageNotFoundError:
        return False
