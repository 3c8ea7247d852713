"""Under what name and in what version this suite is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "kafka-conformance"


def suite_version() -> str:
    """Return the version of this distribution, or "unknown" where it is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
