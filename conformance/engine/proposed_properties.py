"""Collects the properties of proposals along with those of the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.runs.run_identity import SUITE
from fixtures.choosing.clients import CLIENTS as CHOSEN_CLIENTS
from fixtures.choosing.trials import tries_operations
from proposals import BROKERS, CLIENTS, proposals


def proposed_folders(config: pytest.Config) -> list[Path]:
    """Return the folders of the properties that proposals have for what a run judges."""
    if tries_operations(config):
        return []
    role = CLIENTS if config.stash[CHOSEN_CLIENTS] else BROKERS
    return [folder for each in proposals() if (folder := each.properties(role)).is_dir()]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Add the folders to a command line that asks for all properties of the suite."""
    config = session.config
    here = config.invocation_params.dir
    asked = {(here / argument).resolve() for argument in config.args}
    wanted = proposed_folders(config)
    if any(SUITE / name in asked for name in ("", *(folder.name for folder in wanted))):
        config.args += map(str, wanted)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect only the properties for what the run judges."""
    is_proposed = any(
        collection_path == each.properties(role)
        for each in proposals()
        for role in (BROKERS, CLIENTS)
    )
    return True if is_proposed and collection_path not in proposed_folders(config) else None
