"""`grid` does the roll-up in a separate process and exits with its status."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.__main__ import main


@pytest.mark.timeout(300)
def test_wrong_usage_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The roll-up's message and status 2 are passed on, and nothing is written."""
    out = tmp_path / "grid"
    ended = CliRunner().invoke(main, ["grid", "runs", "--rebuild", "--out", str(out)])
    assert ended.exit_code == 2
    assert "--rebuild needs --history" in capfd.readouterr().err
    assert not out.exists()
