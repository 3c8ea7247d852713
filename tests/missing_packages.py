"""What packages need, and environments in which some seem to be missing."""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports.command_line import extras


def without_packages(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Have packages not be found by what checks the extras."""

    def found(name: str) -> Distribution:
        if name in missing:
            raise PackageNotFoundError(name)
        return distribution(name)

    monkeypatch.setattr(extras, "distribution", found)


def packages_needed(*names: str) -> set[str]:
    """Return packages with all that they need on this machine, without extras."""
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found.add(name)
            needed = map(Requirement, requires(name) or ())
            waiting += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found
