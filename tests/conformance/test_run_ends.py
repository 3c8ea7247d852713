"""A run that does not come to its end never ends with 1."""

from __future__ import annotations

import signal
import warnings
from unittest.mock import Mock

import pytest

from conformance.engine import run_ends
from conformance.runs.suite_processes import SuiteProcesses


@pytest.mark.parametrize(
    ("error", "came", "status"),
    [
        pytest.param(pytest.UsageError("no such target"), False, 4, id="usage"),
        pytest.param(BrokenPipeError(), False, 10, id="pipe"),
        pytest.param(OSError(28, "full"), False, 10, id="disk"),
        pytest.param(ValueError(), False, 10, id="bug"),
        pytest.param(ValueError(), True, 2, id="after-an-interrupt"),
        pytest.param(KeyboardInterrupt(), True, 2, id="interrupt"),
    ],
)
def test_what_leaves_pytest_is_no_violation(
    error: BaseException, came: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever pytest raises instead of ending the run itself."""
    monkeypatch.setattr(run_ends, "discard_output", Mock())
    monkeypatch.setattr(run_ends, "INTERRUPTS", Mock(came=came))
    run = run_ends.pytest_cmdline_main()
    next(run)
    with pytest.raises(StopIteration) as ended:
        run.throw(error)
    assert ended.value.value == status


def test_cache_that_cannot_be_written_is_no_fault() -> None:
    """In a read-only folder, or on a full disk."""
    warnings.warn(pytest.PytestCacheWarning("could not create"), stacklevel=1)


def test_interrupt_while_a_run_is_started_ends_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes once the run is known, and can be ended."""
    started = Mock()

    def start(_self: object, _options: object) -> Mock:
        signal.raise_signal(signal.SIGINT)
        return started

    monkeypatch.setattr(SuiteProcesses, "_start", start)
    with pytest.raises(KeyboardInterrupt):
        SuiteProcesses[str](jobs=1).run({"one": []}, Mock())
    started.process.send_signal.assert_called_once_with(signal.SIGTERM)
