"""Header fields that decide whether two runs are equivalent.

They cover the target's file, and whether the run was complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from fixtures.artefacts.kafka_home import HOME
from fixtures.client.own_connection import StartOfBroker
from fixtures.registry.clients import CLIENT_FILE, CLIENTS_FOLDER
from fixtures.registry.targets import BROKERS_FOLDER, Target
from reports.run.run_writer import TargetFacts

SUITE = Path(__file__).resolve().parents[1]
PARTIAL_OPTIONS = ("listener", "ignore", "ignore_glob", "lf")
"""Options that exclude tests before collection."""


def file_sha256(target_id: str) -> str | None:
    """Return the SHA-256 of the file of a target or client; None if it has no file in the registry."""
    files = (BROKERS_FOLDER / f"{target_id}.toml", CLIENTS_FOLDER / target_id / CLIENT_FILE)
    path = next((path for path in files if path.is_file()), None)
    return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()


def target_facts(
    target: Target, *, launcher: str, artefacts: Mapping[str, str], start: StartOfBroker | None = None
) -> TargetFacts:
    """Return a target's entry in a run's header; `start` is what was seen of its start, if it is known."""
    home = target.launchers.get(HOME, {})
    return TargetFacts(
        id=target.id,
        implementation=target.implementation,
        release=target.release,
        launcher=launcher,
        artefacts=dict(artefacts),
        file_sha256=file_sha256(target.id),
        language=target.language or None,
        like=target.like.id if target.like else None,
        folder=home.get("folder"),
        commit=home.get("commit"),
        ready_ms=None if start is None else start.ready_ms,
        until_ready=None if start is None else start.until_ready,
    )


def asks_for_everything(config: pytest.Config, folders: Iterable[Path]) -> bool:
    """Return whether a command line collects every property on every listener.

    Properties that are deselected after collection are not considered.
    """
    if any(config.getoption(option, None) for option in PARTIAL_OPTIONS):
        return False
    here = config.invocation_params.dir
    whole = {SUITE.parent, SUITE, *folders}
    return any((here / argument).resolve() in whole for argument in config.args)
