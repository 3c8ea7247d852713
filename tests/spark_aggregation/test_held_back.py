"""What Spark's processes write to the terminal is shown, unless a sentence says it already."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spark_aggregation.job import stderr_held_back

_CHILD = [sys.executable, "-c", "import sys; sys.stderr.write('of a child\\n')"]


def _fail(error: Exception) -> None:
    with stderr_held_back(lambda raised: isinstance(raised, KeyError)):
        subprocess.run(_CHILD, check=True)
        raise error


def test_words_are_shown_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost if the block succeeds."""
    with stderr_held_back(lambda raised: True):
        subprocess.run(_CHILD, check=True)
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "of a child\n"


def test_words_are_dropped_if_the_error_says_it(capfd: pytest.CaptureFixture[str]) -> None:
    """They are shown with every other error."""
    with pytest.raises(KeyError):
        _fail(KeyError())
    assert capfd.readouterr().err == ""
    with pytest.raises(ValueError, match="unknown"):
        _fail(ValueError("unknown"))
    assert capfd.readouterr().err == "of a child\n"
