"""A fault around a command ends it with one sentence and no traceback.

The exit status is no verdict.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        pytest.param("api-versions --compare {broken} apache-kafka-4.4.0", 4, "{broken} is no output of"),
        pytest.param(
            "api-versions --bootstrap-server {taken} --command-config {broken}",
            4,
            "security.protocol=WHAT: expected one of",
        ),
        pytest.param("learn {unused}", 10, "no Kafka broker answers at {unused}"),
        pytest.param(
            "watch --bootstrap-server {taken} --listen {taken} --for apache-kafka-4.4.0",
            10,
            "cannot listen on {taken}",
        ),
        pytest.param("start scripted+healthy --port {port}", 10, "port {port} cannot be used"),
    ],
)
def test_fault_of_the_surroundings_is_one_sentence(arguments: str, status: int, sentence: str, tmp_path: Path) -> None:
    """A broken file, a port that another program has, an address where nothing listens."""
    broken = tmp_path / "broken"
    broken.write_text("security.protocol=WHAT\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        values = {
            "broken": broken,
            "port": port,
            "taken": f"127.0.0.1:{port}",
            "unused": f"127.0.0.1:{unused.getsockname()[1]}",
        }
        ended = CliRunner().invoke(main, arguments.format(**values).split())
    assert (ended.exit_code, isinstance(ended.exception, SystemExit)) == (status, True)
    assert ended.output.startswith(f"Error: {sentence.format(**values)}")
