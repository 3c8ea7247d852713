"""Under what name, in what version and from which commit this suite is installed."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "kafka-conformance"


def suite_version() -> str:
    """Return the version of this distribution, or "unknown" where it is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def suite_commit() -> str | None:
    """Return the suite's commit: what GitHub says it is, else that of the checkout that this file belongs to."""
    return os.environ.get("GITHUB_SHA") or commit_of_checkout(Path(__file__).parents[1])


@cache
def commit_of_checkout(root: Path) -> str | None:
    """Return the commit that a folder has checked out; None where it is not a checkout itself, or Git is not there."""
    try:
        said = subprocess.run(
            ["git", "-C", root, "rev-parse", "--show-toplevel", "HEAD"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    # An environment in the folder of a project is part of that project's checkout.
    top, commit = said
    return commit if Path(top) == root.resolve() else None
