"""`needs` refuses what it cannot measure, and prints what it measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.needs import needs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a client that `kafka-conformance clients` lists, or give --client-cmd"),
        (["confluent-kafka-9"], "no client is named 'confluent-kafka-9'"),
        (
            ["kafka-python-3.0.12", "--operation", "juggle"],
            "kafka-python-3.0.12 has no operation 'juggle'; it has metadata",
        ),
        (
            ["kafka-python-3.0.12", "--scripted", "--operation", "produce"],
            "has no operation 'produce'; it has metadata",
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
