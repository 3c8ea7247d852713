"""Commands that wait for Spark or a target show it on a terminal, and print nothing otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.__main__ import main
from conformance.failures.stored_failures import StoredFailure
from fixtures.errors import HarnessError


def on_terminal_and_piped(arguments: Sequence[str]) -> tuple[Result, Result]:
    """Run a command as if on a terminal, and as if in a pipe."""
    terminal, pipe = {"FORCE_COLOR": "1", "TERM": "xterm"}, {"FORCE_COLOR": None}
    on_terminal = CliRunner(env=terminal).invoke(main, arguments)
    return on_terminal, CliRunner(env=pipe).invoke(main, arguments)


@pytest.mark.parametrize(
    ("command", "waits_for", "words"),
    [
        pytest.param("replay .", "roles.broker.launch", "judging the failure again", id="replay"),
        pytest.param(
            "pin-artefacts apache-kafka-4.4.0",
            "commands.pinning.pin",
            "resolving the artefacts of apache-kafka-4.4.0",
            id="pin-artefacts",
        ),
        pytest.param(
            "record-tables apache-kafka-4.4.0",
            "commands.pinning.record",
            "recording the version table and default responses of apache-kafka-4.4.0",
            id="record-tables",
        ),
    ],
)
def test_waiting_for_a_target_is_shown_on_a_terminal(
    command: str, waits_for: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that start a target or download for it also show a line; here nothing starts."""

    def in_vain(*_arguments: object) -> None:
        raise HarnessError("nothing starts here")

    texts: dict[str, Any] = dict.fromkeys(
        ("signature", "clause", "property_name", "listener", "message"), ""
    )
    failure = StoredFailure(
        **texts, target="reference", example="", sent={}, needs_earlier_requests=False
    )
    monkeypatch.setattr("conformance.commands.replay.read_failure", lambda _path: failure)
    monkeypatch.setattr(f"conformance.{waits_for}", in_vain)
    on_terminal, piped = on_terminal_and_piped(command.split())
    assert on_terminal.exit_code == piped.exit_code == 10, on_terminal.output
    assert words in on_terminal.stderr
    assert words not in piped.output
