"""`watch` reads files instead of watching, and says which options go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands import watch as watch_command
from conformance.commands.watch import watch
from fixtures.launchers import launch
from fixtures.launchers.built_in import reference_targets
from tests.wire.logged_requests import ENTRIES
from upgrade.traffic_files.request_logs import LIMITS
from wire.request_log_counts import LogCounts

LINES = [line for line, _ in ENTRIES.values()]
FOR = ["--for", "apache-kafka-4.4.0"]
BROKER = ["--bootstrap-server", "127.0.0.1:1"]
"""An address at which nothing listens."""


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


def test_metrics_are_read(tmp_path: Path) -> None:
    """A page of metrics has a row for each software that it names, and its worst row decides."""
    page = tmp_path / "page"
    page.write_text(
        'deprecated_requests{request="Fetch",version="3",clientSoftwareName="old",clientSoftwareVersion="1"} 2\n'
    )
    ran = CliRunner().invoke(watch, ["--metrics", str(page), *FOR])
    assert "programs with old 1 break with apache-kafka-4.4.0: Fetch v3 is refused since 4.0" in " ".join(
        ran.stdout.split()
    )
    assert ran.exit_code == 1


def test_a_patch_release_is_answered_by_the_table_of_its_line(tmp_path: Path) -> None:
    """A sentence says whose table it is, and a release that is asked about in two ways is shown once."""
    log = written(tmp_path / "kafka-request.log")
    asked = ["--for", "apache-kafka-4.0.1", "--for", "apache-kafka-4.0.2"]
    ran = CliRunner().invoke(watch, ["--request-log", str(log), *asked, "--json"])
    assert "4.0.1 was not recorded; its message schemas list the same versions as those of 4.0.2." in ran.stderr
    assert json.loads(ran.stdout)["releases"] == ["apache-kafka-4.0.2"]


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        ([], 2, "give --bootstrap-server"),
        (["--follow"], 2, "give --bootstrap-server"),
        (["--request-log", "LOG", "--rehearse", "apache-kafka-4.4.0"], 2, "--rehearse cannot be"),
        (["--request-log", "LOG", *BROKER], 2, "--bootstrap-server cannot be"),
        (["--pcap", "LOG", "--follow"], 2, "give --request-log"),
        (["--request-log", "LOG", "--spark", "--follow"], 2, "leave out --follow"),
        (["--request-log", "LOG", "--spark", "--metrics", "LOG"], 2, "leave out --follow, --pcap and --metrics"),
        (["--metrics", "LOG", "--listen", "127.0.0.1:1"], 2, "--listen cannot be"),
        (["--metrics", "LOG"], 4, "is no page of metrics"),
        (["--request-log", "LOG", "--time", "3"], 2, "--time is about watching"),
        (["--request-log", "no-such-file"], 4, "cannot read the request log no-such-file"),
        (["--pcap", "LOG"], 4, "is no packet capture"),
        ([*BROKER, "--time", "nan"], 2, "nan is no number of seconds"),
        ([*BROKER, "--time", "inf"], 2, "inf is no number of seconds"),
        ([*BROKER, "--listen", "nowhere"], 2, "--listen 'nowhere' is not HOST:PORT"),
        ([*BROKER, "--for", "apache-kafka-9"], 4, "'apache-kafka-9' is no release whose table"),
        ([*BROKER, "--for", "JoinGroup 50+"], 4, "JoinGroup 50+ leaves nothing of JoinGroup 0-9"),
        ([*BROKER, "--for", "LOG"], 4, "it is no output of `kafka-conformance api-versions --json`"),
        ([*BROKER, "--rehearse", "JoinGroup 5+"], 10, "127.0.0.1:1"),
        ([*BROKER, "--", "no-such-program"], 2, "'no-such-program' is no command"),
        ([*BROKER, "--listen", "127.0.0.1:0"], 10, "127.0.0.1:1"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, options: list[str], status: int, sentence: str) -> None:
    """With the exit status of its kind, before anything is watched."""
    log = written(tmp_path / "LOG")
    given = [str(log) if each == "LOG" else each for each in options]
    ran = CliRunner().invoke(watch, [*FOR, *given])
    assert (ran.exit_code, sentence in ran.stderr) == (status, True), ran.output


def test_table_is_rehearsed_where_only_the_application_has_credentials() -> None:
    (reference,) = [each for each in reference_targets() if each.id == "reference"]
    with launch(reference, "auto") as running:
        broker = ["--bootstrap-server", str(running.addresses["sasl_plaintext"])]
        further = ["--rehearse", "Fetch 4-9", "--listen", "127.0.0.1:0", "--time", "0.1"]
        ran = CliRunner().invoke(watch, [*broker, *FOR, *further])
    assert (ran.exit_code, "No client sent a request" in ran.stdout) == (10, True), ran.output
