"""`needs` refuses what it cannot measure, and prints what it measured."""

from __future__ import annotations

import json
import sys
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.commands.needs import needs
from fixtures.errors import HarnessError
from fixtures.registry.targets import Target
from fixtures.scripted_broker.playing import Play
from reports.client_needs.needs_json import as_json
from tests.conformance.client_plays import WELL
from tests.reference_model.clients.recordings import recorded
from tests.reports.client_needs.measured import MODEST


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a client that `kafka-conformance clients` lists, or give --client-cmd"),
        (["confluent-kafka-9"], "no client is named 'confluent-kafka-9'"),
        (["confluent-kafka==latest"], "'confluent-kafka==latest' names no version; write it like confluent-kafka=="),
        (
            ["kafka-python-3.0.12", "--operation", "juggle"],
            "kafka-python-3.0.12 has no operation 'juggle' that can be measured; it has metadata",
        ),
        (
            ["kafka-python-3.0.12", "--scripted", "--operation", "produce"],
            "has no operation 'produce' that can be measured; it has metadata",
        ),
        (
            ["kafka-clients-4.4.0-consumer", "--operation", "rerouted-consumer"],
            "has no operation 'rerouted-consumer' that can be measured; it has metadata",
        ),
        (["--client-cmd", "prog"], "the client command 'prog' has no {bootstrap}"),
        (["kafka-python-3.0.12", "--broker", "apache-kafka-9"], "'apache-kafka-9' is no release whose table is known"),
        (["kafka-python-3.0.12", "--out", "/dev/null/x"], "--out /dev/null/x cannot be created"),
    ],
)
def test_bad_input_is_one_sentence_with_status_4_or_2(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(needs, arguments)
    assert result.exit_code in (2, 4)
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no output of `kafka-conformance needs --format json`"),
        (
            json.dumps(as_json([MODEST])),
            "nothing was measured of kafka-python-3.0.12; leave --earlier out, or name the file of such a measurement",
        ),
    ],
)
def test_earlier_measurement_of_something_else_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "needs.json"
    file.write_text(content)
    result = CliRunner().invoke(needs, ["kafka-python-3.0.12", "--scripted", "--earlier", str(file)])
    assert result.exit_code == 4
    assert message in result.stderr
    assert str(file) in result.stderr


def test_release_at_an_older_level_is_started_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(target: Target, launcher: str) -> None:
        raise HarnessError(f"{target.id} is not started in a test")

    monkeypatch.setattr("conformance.commands.needs.launch", refuse)
    monkeypatch.setattr("conformance.commands.needs.installed", lambda client: None)
    result = CliRunner().invoke(needs, ["kafka-python-3.0.12", "--broker", "apache-kafka-4.4.0-at-3.9"])
    assert (result.exit_code, result.stderr) == (
        10,
        "Error: apache-kafka-4.4.0-at-3.9 is not started in a test\n",
    )


class LackingPool:
    """Takes the place of processes: every command has no such operation."""

    def __init__(self, _: int) -> None: ...

    def submit(self, *_: Any) -> Future[Play]:
        """Return what became of it."""
        done: Future[Play] = Future()
        done.set_result(Play(recording=recorded(), result=replace(WELL, outcome=None, exit_status=89)))
        return done

    def close(self) -> None:
        """Do nothing."""


def test_command_without_the_operation_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.commands.needs.PlayPool", LackingPool)
    result = CliRunner().invoke(needs, ["--client-cmd", "prog {operation} {bootstrap}", "--scripted"])
    assert (result.exit_code, result.stdout) == (10, "")
    assert "prog: metadata: the command says that it has no such operation, with exit status 89" in result.stderr
    assert result.stderr.endswith("Error: no operation was tried\n")


@pytest.mark.slow
def test_model_client_needs_only_what_it_sends(tmp_path: Path) -> None:
    """A command that is no driver of the suite fetches metadata from a scripted broker."""
    command = (
        f"{sys.executable} -m fixtures.model_processes.client_process --bootstrap {{bootstrap}} --timeout {{timeout}}"
    )
    arguments = ["--client-cmd", command, "--out", str(tmp_path), "--format", "json"]
    result = CliRunner().invoke(needs, arguments)
    assert result.exit_code == 0, result.output
    (client,) = json.loads(result.stdout)["clients"]
    assert (client["release"], client["hidden_needs"]) == ("scripted broker", [])
    apis = {each["api"]: each for each in client["operations"][0]["apis"]}
    assert apis["Metadata"]["uses"] == [13]
    assert {each.name for each in tmp_path.iterdir()} >= {"needs.json", "needs.md", "index.html"}
    again = CliRunner().invoke(needs, [*arguments, "--earlier", str(tmp_path / "needs.json")])
    assert "1 of 1 rows are as in the earlier measurement" in again.stderr
    assert json.loads(again.stdout)["clients"][0]["measurements"] == 2
