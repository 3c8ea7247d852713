"""The command that judges a failure again, as the end of a run prints it."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import pytest

from reports.records import Verdict
from reports.run.judged_examples import CellKey
from reports.run.replay_command import MAX_ADDRESSES, replay_command
from reports.run.terminal_failures import failure_lines
from tests.reports.recorders import SIGNATURE, example_of, facts_of, key_of, recorder_for


def options_printed(
    runs: Path,
    key: CellKey,
    *,
    launcher: str = "address",
    given: tuple[str, ...] = (),
    **facts: Any,
) -> list[str]:
    """Return the options of the command that is printed for a failure with these facts."""
    recorder = recorder_for(runs, {key: "MUST"})
    recorder.options_of_replay = given
    recorder.target_started(dataclasses.replace(facts_of(key.target), launcher=launcher))
    recorder.judged(example_of(Verdict.VIOLATES, key, message="seen", **facts))
    *_, again = (line.text for line in failure_lines(recorder))
    program, command, folder, *options = shlex.split(again.removeprefix("  again: "))
    assert (program, command) == ("kafka-conformance", "replay")
    assert folder.endswith(f"/failures/{SIGNATURE}")
    return options


def test_target_at_an_address_is_judged_again_there(tmp_path: Path) -> None:
    """The command for a broker that the suite did not start contains its address."""
    address = "127.0.0.1:9092"
    options = options_printed(tmp_path, key_of(target=address))
    assert options == ["--bootstrap-server", address]


def test_command_has_all_that_the_run_was_given(tmp_path: Path) -> None:
    """Every listener, because properties compare them, the upstream of a proxy, and how the target is reached."""
    addresses = ("SASL_SSL://localhost:9094", "PLAINTEXT://localhost:9092")
    given = ("--command-config", "my client.properties")
    options = options_printed(
        tmp_path,
        key_of(target="c/1")._replace(listener="sasl_ssl"),
        given=given,
        origin={"addresses": " ".join(addresses), "upstream": "localhost:9192"},
    )
    assert options == [
        *(word for address in addresses for word in ("--bootstrap-server", address)),
        *("--upstream", "localhost:9192", *given),
    ]


@pytest.mark.parametrize("unconfined", [False, True])
def test_client_that_is_a_command_is_judged_again_without_it(tmp_path: Path, *, unconfined: bool) -> None:
    """A failure stores the client's command; only that it may do more has to be said again."""
    options = options_printed(
        tmp_path,
        key_of(target="my-client"),
        launcher="driver",
        role="client",
        client_command={"text": "my-client", "unconfined": unconfined},
    )
    assert options == ["--client-unconfined"] * unconfined


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ({}, ""),
        ({"origin": {"addresses": "SSL://a:1 b:2"}}, " --bootstrap-server SSL://a:1 --bootstrap-server b:2"),
        (
            {"origin": {"addresses": "a:1", "upstream": "b:2"}},
            " --bootstrap-server a:1 --upstream b:2",
        ),
        ({"client_command": {"text": "my-client", "unconfined": True}}, " --client-unconfined"),
        ({"origin": {"addresses": "$(rm):1\x1b"}}, " --bootstrap-server '$(rm):1\\x1b'"),
        ({"origin": ["a:1"], "client_command": "x"}, ""),
    ],
    ids=["started by the suite", "at addresses", "proxy", "unconfined", "foreign", "no objects"],
)
def test_command_follows_from_the_stored_facts(facts: dict[str, Any], options: str) -> None:
    assert replay_command("runs/r/failures/s", facts) == f"kafka-conformance replay runs/r/failures/s{options}"


def test_a_foreign_list_of_addresses_is_cut() -> None:
    command = replay_command("f", {"origin": {"addresses": "a:1 " * 99}})
    assert command.count("--bootstrap-server") == MAX_ADDRESSES
