"""Reports say of each client what becomes of it: for people, for tickets and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import html5lib
import pytest
from rich.console import Console

from conformance.watch import sightings
from conformance.watch.prediction import PredictedOutcome, release_named
from conformance.watch.report import (
    ReportFolder,
    WatchReport,
    as_json,
    as_markdown,
    report_of,
    sentences,
    show_result,
)
from conformance.watch.sightings import ClientIdentity, Sightings
from conformance.watch.watcher import Violation
from reference_model.profiles.known_apis import Range

OLD = ClientIdentity("old\x1b[31m<b>", "10.0.0.1", software_name="sarama", software_version="1.2")


@pytest.fixture(scope="module")
def report() -> WatchReport:
    """Return what becomes of one old client."""
    seen = Sightings()
    for request in ((18, 0), (3, 1), (0, 2)):
        seen.add(OLD, *request, 3, connection=1)
    seen.note(OLD, "something was not read")
    violation = Violation(clause="KIP-35.client-uses-overlap", sentence="Produce v2", data=b"\0\1")
    return report_of(
        seen,
        {0: Range(0, 11), 3: Range(0, 12), 18: Range(0, 4)},
        [release_named("apache-kafka-3.9.2"), release_named("apache-kafka-4.4.0")],
        violations={(OLD.client_id, OLD.address): (violation,)},
        remarks=["a broker cannot be reached"],
    )


def test_sentences_can_be_pasted(report: WatchReport) -> None:
    """Each client has one sentence for each release."""
    works, breaks = sentences(report)
    assert works.endswith("works with apache-kafka-3.9.2: every request that was seen is served.")
    assert "breaks with apache-kafka-4.4.0: Produce v2 is refused since 4.0" in breaks
    assert sentences(report_of(Sightings(), {}, [])) == [
        "no client sent a request, so nothing can be said."
    ]


def test_markdown_and_terminal_show_no_markup_of_a_client(report: WatchReport) -> None:
    """A client cannot put colours or tags into what is shown."""
    console = Console(width=200, record=True, force_terminal=False)
    show_result(console, report)
    for text in (as_markdown(report), console.export_text()):
        assert "\x1b" not in text
        assert "KIP-35" in text
        assert "something was not read" in text
        assert "a broker cannot be reached" in text.replace("\\", "")
    assert "<b>" not in as_markdown(report)


def test_machines_get_everything(report: WatchReport) -> None:
    """JSON has the requests, the decisions and the bytes of violations."""
    found = json.loads(json.dumps(as_json(report)))
    (client,) = found["clients"]
    assert found["outcome"] == "breaks"
    assert client["requests"][0] == {"api_key": 0, "api": "Produce", "api_version": 2, "times": 3}
    assert client["predictions"][1]["decisions"][0]["refused_since"] == "4.0"
    assert client["violations"][0]["bytes"] == "0001"


def test_the_page_is_valid(report: WatchReport, tmp_path: Path) -> None:
    """The page is valid HTML, and shows the outcomes; the folder has the other forms as well."""
    ReportFolder(tmp_path / "new" / "folder").write(report)
    text = (tmp_path / "new" / "folder" / "index.html").read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    assert '<span class="verdict violates">breaks</span>' in text
    assert {each.name for each in (tmp_path / "new" / "folder").iterdir()} == {
        "icon.svg",
        "index.html",
        "report.json",
        "report.md",
        "site.css",
        "site.js",
    }


def test_a_full_disk_ends_the_report_alone(
    report: WatchReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be written is said, once, and raises nothing."""
    folder = ReportFolder(tmp_path)

    def full(*args: object, **options: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    folder.write(report)
    folder.write(report)
    assert folder.problem.endswith("No space left on device")


def test_a_command_that_failed_shows_no_success() -> None:
    """What a failed command would have sent is not known; a client that breaks breaks all the same."""
    seen = Sightings()
    seen.add(OLD, 3, 1)
    release = release_named("apache-kafka-4.4.0")
    assert report_of(seen, {}, [release]).outcome is PredictedOutcome.WORKS
    for status, words in ((3, "with exit status 3:"), (-9, "by SIGKILL:"), (-40, "by signal 40:")):
        failed = report_of(seen, {}, [release], command_status=status)
        assert failed.outcome is PredictedOutcome.CANNOT_SAY
        assert f"the command ended {words}" in failed.all_remarks[0]
    seen.add(OLD, 0, 0)
    assert report_of(seen, {}, [release], command_status=3).outcome is PredictedOutcome.BREAKS


def test_clients_that_were_left_out_are_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there were more clients than are kept, nothing can be said of all of them."""
    monkeypatch.setattr(sightings, "MOST_CLIENTS", 1)
    seen = Sightings()
    release = release_named("apache-kafka-4.4.0")
    for name in ("one", "two"):
        seen.add(ClientIdentity(name, "h"), 3, 1)
    report = report_of(seen, {}, [release])
    assert [each.outcome for row in report.rows for each in row.predictions] == [
        PredictedOutcome.WORKS
    ]
    assert report.outcome is PredictedOutcome.CANNOT_SAY


def test_a_rehearsal_says_how_to_read_it() -> None:
    """A client that gives up by itself sends nothing that is refused."""
    report = report_of(Sightings(), {}, [], rehearsed="apache-kafka-4.4.0")
    assert "sends nothing" in report.all_remarks[-1]
