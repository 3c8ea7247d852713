"""What a roll-up says is shown if it fails, and no figure is made of it."""

from __future__ import annotations

import sys

import pytest

from benchmarks.hostile_folders import run_quietly
from reports.suite_command import CannotWork


@pytest.mark.parametrize(("status", "shown"), [(0, ""), (3, "why\n")])
def test_reason_is_shown_if_the_program_fails(
    status: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it, a reader does not know what to do."""
    program = f"import sys; print('why', file=sys.stderr); sys.exit({status})"
    said = ""
    try:
        run_quietly([sys.executable, "-c", program])
    except CannotWork as ended:
        said = str(ended)
    assert capsys.readouterr().err == shown
    assert said.endswith(f"ended with {status}") == bool(status)
