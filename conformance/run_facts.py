"""What a run's header says so that another run can be told equal: the target's file, and whether the run was whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from fixtures.targets import BROKERS_FOLDER, Target
from reports.recorder import TargetFacts

SUITE = Path(__file__).parent
WHOLE_FOLDERS = (SUITE.parent, SUITE, SUITE / "brokers")
"""Who names one of them names every property."""
PARTIAL_OPTIONS = ("listener", "ignore", "ignore_glob", "lf")
"""Options that leave something out before it is collected."""


def file_sha256(target_id: str, folder: Path = BROKERS_FOLDER) -> str | None:
    """Return the SHA-256 of a target's file; None where it has none in the registry."""
    path = folder / f"{target_id}.toml"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def target_facts(target: Target, *, launcher: str, artefacts: Mapping[str, str]) -> TargetFacts:
    """Return what a run's header says of a target."""
    return TargetFacts(
        id=target.id,
        implementation=target.implementation,
        release=target.release,
        launcher=launcher,
        artefacts=dict(artefacts),
        file_sha256=file_sha256(target.id),
    )


def asks_for_everything(config: pytest.Config) -> bool:
    """Tell whether a command line collects every property on every listener; what is deselected then is not seen."""
    if any(config.getoption(option, None) for option in PARTIAL_OPTIONS):
        return False
    here = config.invocation_params.dir
    return any((here / argument).resolve() in WHOLE_FOLDERS for argument in config.args)
