"""How the suite responds to a command line that it cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.suite_runs import REPOSITORY, run_suite

USAGE_ERROR = 4
NO_TESTS_COLLECTED = 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            ["--broker", "apache-kafka-4.4.1"],
            "no target is named 'apache-kafka-4.4.1'; nearest: apache-kafka-4.4.0, ",
            id="unknown-broker",
        ),
        pytest.param(
            ["--broker", "apache-kafka-9.*"],
            "no target is named 'apache-kafka-9.*'; nearest: apache-kafka-",
            marks=pytest.mark.slow,
            id="glob-without-match",
        ),
        pytest.param(
            ["--bootstrap-server", "localhost"],
            "--bootstrap-server 'localhost' is not HOST:PORT",
            marks=pytest.mark.slow,
            id="address-without-port",
        ),
        pytest.param(
            ["--bootstrap-server", "localhost:9092", "--broker", "reference"],
            "give either a target (--broker, --kafka-home) or --bootstrap-server, not both",
            id="both",
        ),
    ],
)
def test_command_line_that_names_nothing_ends_with_4(
    options: list[str], message: str, tmp_path: Path
) -> None:
    """An unknown target ends the run with status 4, suggests the nearest names, and leaves no records."""
    run = run_suite(*options, runs=tmp_path / "runs")
    assert run.status == USAGE_ERROR
    assert message in run.output
    assert "Traceback" not in run.output
    assert not (tmp_path / "runs").exists()


def test_mark_with_an_unknown_clause_ends_with_4(tmp_path: Path) -> None:
    """A property with an unknown clause ends the run, and the error suggests the nearest ids."""
    module = tmp_path / "test_misnamed.py"
    module.write_text(
        "import pytest\n"
        "from hypothesis import given, strategies as st\n\n"
        '@pytest.mark.clause("KIP-35.key-unique")\n'
        "@given(number=st.integers())\n"
        "def test_something(broker, number):\n"
        "    pass\n"
    )
    plugins = (
        "fixtures.plugin",
        "reports.plugin",
        "conformance.roles.plugin",
    )
    run = run_suite(
        *("-c", str(REPOSITORY / "pyproject.toml"), "--broker", "reference"),
        *(part for plugin in plugins for part in ("-p", plugin)),
        suite=[str(module)],
        runs=tmp_path / "runs",
    )
    assert run.status == USAGE_ERROR
    assert "no clause 'KIP-35.key-unique' in the catalogue" in run.output
    assert "the nearest are KIP-35.keys-unique" in run.output
    assert not (tmp_path / "runs").exists()


def test_nothing_chosen_is_never_green(tmp_path: Path) -> None:
    """A run without any selected property ends with pytest's status for it, and keeps no records."""
    run = run_suite("--broker", "reference", "-k", "no_such_property", runs=tmp_path / "runs")
    assert run.status == NO_TESTS_COLLECTED
    assert " deselected" in run.output
    assert not (tmp_path / "runs").exists()
