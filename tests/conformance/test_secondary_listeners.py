"""How much of a property is run on a listener that is not a target's first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.suite_runs import run_suite

PROPERTY = "test_illegal_name_is_refused"


@pytest.mark.slow
def test_every_pinned_example_is_run_without_any_time_left(tmp_path: Path) -> None:
    """A run passes the number of a property's pinned examples on, and only drawn ones are dropped."""
    run = run_suite(
        *("--broker", "reference", "--listener", "sasl_plaintext", "-k", PROPERTY),
        *("-p", "tests.conformance.no_time"),
        runs=tmp_path,
        suite=["conformance/brokers/test_client_software.py"],
    )
    assert run.status == 0, run.output
    pinned = run.header["pinned_examples"][PROPERTY]
    assert pinned > 1
    assert len(run.rows()) == pinned
    (cell,) = run.header["planned_cells"]
    assert cell["reason"].startswith("0 of 5 drawn examples were run ")
