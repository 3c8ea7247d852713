"""`watch` reads files in place of watching, and says which options belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands import watch as watch_command
from conformance.commands.watch import watch
from conformance.watch.request_logs import LIMITS
from tests.wire.logged_requests import ENTRIES
from wire.request_log_counts import LogCounts

LINES = [line for line, _ in ENTRIES.values()]
FOR = ["--for", "apache-kafka-4.4.0"]


def written(path: Path) -> Path:
    """Write a request log with entries of all releases."""
    path.write_bytes(b"".join(line + b"\n" for line in LINES))
    return path


def test_request_logs_are_read(tmp_path: Path) -> None:
    """A request log gives rows, remarks and a report in a folder, and the exit status is that of its worst row."""
    log, out = written(tmp_path / "kafka-request.log"), tmp_path / "report"
    ran = CliRunner().invoke(watch, ["--request-log", str(log), *FOR, "--json", "--out", str(out)])
    report = json.loads(ran.stdout)
    assert {each["client_id"] for each in report["clients"]} >= {"named"}
    assert set(LIMITS) <= set(report["remarks"])
    assert ran.exit_code == {"works": 0, "breaks": 1, "cannot say": 10}[report["outcome"]]
    assert json.loads((out / "report.json").read_text()) == report


def test_what_spark_counted_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--spark` the counts come from another program; the report is that of the same lines."""

    def counted(uris: object) -> LogCounts:
        assert uris == ("s3a://logs/*",)
        counts = LogCounts()
        counts.count(LINES)
        return counts

    monkeypatch.setattr(watch_command, "count_with_spark", counted)
    log = written(tmp_path / "kafka-request.log")
    alone = CliRunner().invoke(watch, ["--request-log", str(log), *FOR, "--json"])
    ran = CliRunner().invoke(watch, ["--request-log", "s3a://logs/*", "--spark", *FOR, "--json"])
    assert json.loads(ran.stdout) == json.loads(alone.stdout)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "give --bootstrap-server"),
        (["--follow"], "give --bootstrap-server"),
        (["--request-log", "LOG", "--rehearse", "apache-kafka-4.4.0"], "--rehearse cannot be"),
        (["--request-log", "LOG", "--bootstrap-server", "a:1"], "--bootstrap-server cannot be"),
        (["--pcap", "LOG", "--follow"], "give --request-log"),
        (["--request-log", "LOG", "--spark", "--follow"], "leave out --follow"),
        (["--request-log", "LOG", "--time", "3"], "--time is about watching"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path: Path, options: list[str], sentence: str) -> None:
    """Options that do not belong together end with 2 and a sentence."""
    log = written(tmp_path / "LOG")
    given = [str(log) if each == "LOG" else each for each in options]
    ran = CliRunner().invoke(watch, [*given, *FOR])
    assert (ran.exit_code, sentence in ran.stderr) == (2, True), ran.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--request-log", "no-such-file"], "cannot read the request log no-such-file"),
        (["--pcap", __file__], "is no packet capture"),
    ],
)
def test_unusable_files_end_with_4(options: list[str], sentence: str) -> None:
    """Files that cannot be read, or are something else, end with 4 and a sentence."""
    ran = CliRunner().invoke(watch, [*options, *FOR])
    assert (ran.exit_code, sentence in ran.stderr) == (4, True), ran.output
