"""Pytest plugin for runs of the suite: declares violations of reference targets, as a registry file would.

`KAFKA_CONFORMANCE_DECLARED` holds a JSON list of objects with target, clause, match and expires.
"""

from __future__ import annotations

import dataclasses
import json
import os
from datetime import date
from typing import Any

import pytest

from fixtures.launchers import kafka_home
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import KnownViolation, Target

VARIABLE = "KAFKA_CONFORMANCE_DECLARED"
NAME = __name__


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Add the declarations before the targets are selected."""
    named: Any = kafka_home
    named.reference_targets = with_declarations


def with_declarations() -> tuple[Target, ...]:
    """Return the reference targets with the violations that the environment declares."""
    declared = json.loads(os.environ[VARIABLE])
    return tuple(
        dataclasses.replace(
            target,
            known_violations=tuple(
                KnownViolation(
                    clause=entry["clause"],
                    match=entry["match"],
                    reason="declared by a test",
                    link="https://example.org/1",
                    added=date(2026, 1, 1),
                    expires=date.fromisoformat(entry["expires"]),
                )
                for entry in declared
                if entry["target"] == target.id
            ),
        )
        for target in reference_targets()
    )
