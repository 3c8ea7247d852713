"""What several tests of workflows use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows.finding_grids import write_grid


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a grid with findings."""
    return write_grid(tmp_path_factory.mktemp("findings") / "grid")
