"""The recorder with which most tests of what a run leaves begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.run.recorder import RunRecorder
from tests.reports.recorders import key_of, recorder_for


@pytest.fixture
def recorder(tmp_path: Path) -> RunRecorder:
    """A recorder with one planned cell, which is about a MUST."""
    return recorder_for(tmp_path, {key_of(): "MUST"})
