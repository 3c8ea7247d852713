"""Commands that wait for Spark say so on a terminal, and nothing where output is none."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from conformance.__main__ import main


@pytest.fixture
def spark_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process that would start Spark end with 3."""
    ended = SimpleNamespace(returncode=3)
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: ended)


@pytest.mark.usefixtures("spark_does_not_start")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param("verify SITE SITE", "rolling up with Spark", id="verify"),
        pytest.param("rejudge SITE --out SITE/differences.jsonl", "judging again", id="rejudge"),
    ],
)
def test_waiting_is_shown_on_a_terminal(command: str, words: str, tmp_path: Path) -> None:
    """The line stands on standard error, and only where that is a terminal."""
    tables = tmp_path / "tables"
    tables.mkdir()
    inputs = pa.table({"run_id": ["r1"], "run_json_sha256": ["0" * 64]})
    for name in ("cells", "inputs"):
        pq.write_table(inputs, tables / f"{name}.parquet")
    arguments = [word.replace("SITE", str(tmp_path)) for word in command.split()]
    on_terminal = CliRunner(env={"FORCE_COLOR": "1", "TERM": "xterm"}).invoke(main, arguments)
    assert on_terminal.exit_code == 3, on_terminal.output
    assert words in on_terminal.stderr
    piped = CliRunner(env={"FORCE_COLOR": None}).invoke(main, arguments)
    assert piped.exit_code == 3
    assert words not in piped.output
