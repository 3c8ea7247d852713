"""The name, version and commit of the installed suite."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "kafka-conformance"
COMMIT_VARIABLE = "KAFKA_CONFORMANCE_COMMIT"
"""Set by the action, whose files are no checkout. `GITHUB_SHA` would be the commit of the project that uses it."""


def suite_version() -> str:
    """Return the version of this distribution, or "unknown" if it is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def suite_commit() -> str | None:
    """Return the commit that `COMMIT_VARIABLE` names, else that of the checkout that holds this file."""
    return os.environ.get(COMMIT_VARIABLE) or commit_of_checkout(Path(__file__).parents[2])


@cache
def commit_of_checkout(root: Path) -> str | None:
    """Return the commit checked out in a folder; None if it is not the root of a checkout or Git is missing."""
    try:
        output = subprocess.run(
            ["git", "-C", root, "rev-parse", "--show-toplevel", "HEAD"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    # A virtual environment in another project's folder is inside that project's checkout.
    top, commit = output
    return commit if Path(top) == root.resolve() else None
