"""Reports exist for people, for tickets and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import html5lib
import pytest
from rich.console import Console

from reference_model.profiles.known_apis import Range
from reports.document.markdown_form import markdown
from reports.document.terminal_form import ANY_WIDTH, show_document
from tests.upgrade.prediction.test_prediction import OF_3_9
from upgrade.prediction import observed_requests
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, Violation
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.releases import release_named
from upgrade.prediction.report import WatchReport, report_of
from upgrade.prediction.report_document import sentences, sentences_about_releases, watch_document
from upgrade.prediction.report_files import ReportFolder, as_json

OLD = ClientIdentity("old\x1b[31m<b>", "10.0.0.1", software_name="sarama", software_version="1.2")


@pytest.fixture(scope="module")
def report() -> WatchReport:
    """Return what becomes of one old client."""
    seen = ObservedRequests()
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
    """Each client has one sentence for each release that it does not simply work with; the table has the others."""
    breaks, served = sentences(report)
    assert served.endswith(
        " is served by apache-kafka-3.9.2: every request that was seen is served, but the needs of sarama 1.2 were not "
        "measured: rehearse it, because it may read minimums (kafka-conformance watch --bootstrap-server HOST:PORT "
        "--for apache-kafka-3.9.2 --rehearse apache-kafka-3.9.2)."
    )
    assert "breaks with apache-kafka-4.4.0: Produce v2 is refused since 4.0" in breaks
    nothing = markdown(watch_document(report_of(ObservedRequests(), {}, [])))
    assert nothing.endswith("\n\nNo client sent a request, so nothing can be said.\n")


def test_reasons_beyond_the_third_are_counted() -> None:
    seen = ObservedRequests()
    for api_key in range(5):
        seen.add(OLD, api_key, 0)
    report = report_of(seen, {}, [release_named("apache-kafka-4.4.0")])
    reasons = [each.sentence for each in report.rows[0].predictions[0].decisions]
    assert len(reasons) == 4
    (breaks,) = sentences(report)
    assert breaks.endswith(f": {'; '.join(reasons[:3])}; and 1 more.")


def test_markdown_and_terminal_show_no_markup_of_a_client(report: WatchReport) -> None:
    """A client cannot put colours or tags into what is shown."""
    console = Console(width=200, record=True, force_terminal=False)
    show_document(console, watch_document(report))
    for text in (markdown(watch_document(report)), console.export_text()):
        assert "\x1b" not in text
        assert "KIP-35" in text
        assert "something was not read" in text
        assert "a broker cannot be reached" in text.replace("\\", "")
    assert "<b>" not in markdown(watch_document(report))


SIX = [f"apache-kafka-{each}" for each in ("3.7.2", "3.9.2", "4.0.2", "4.2.1", "4.3.1", "4.4.0")]
KNOWN = ClientIdentity("known", "10.0.0.2", software_name="apache-kafka-java")


def shown(report: WatchReport, width: int) -> list[str]:
    """Return the lines that a terminal, or a pipe, of a width shows."""
    console = Console(width=width, record=True, force_terminal=False)
    show_document(console, watch_document(report))
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [40, 80, ANY_WIDTH, 300])
def test_releases_stay_whole_at_any_width(width: int) -> None:
    """Six releases in a pipe, or in a narrow terminal, have a line each; nothing of a name is folded."""
    seen = ObservedRequests()
    for client in (OLD, KNOWN):
        seen.add(client, 3, 12)
    lines = shown(report_of(seen, OF_3_9, [release_named(each) for each in SIX]), width)
    text = "\n".join(lines)
    assert all(each in text for each in SIX)
    assert max(map(len, lines)) <= width
    if width < 200:
        words = [line.split() for line in lines]
        assert all(words.count([each, "is", "served"]) == 2 for each in SIX)


def test_what_is_known_of_each_release_is_said(report: WatchReport) -> None:
    seen = ObservedRequests()
    for request in ((18, 3), (3, 12), (68, 0)):
        seen.add(KNOWN, *request)
    releases = [release_named("apache-kafka-3.9.2"), release_named("apache-kafka-4.4.0")]
    found = report_of(seen, {**OF_3_9, 68: Range(0, 0)}, releases)
    said = [
        "nothing can be said about 1 of 1 client with apache-kafka-3.9.2.",
        "every request that was seen is served by apache-kafka-4.4.0; 1 of 1 client may need more.",
    ]
    assert found.outcome is PredictedOutcome.CANNOT_SAY
    assert sentences_about_releases(found) == said
    assert as_json(found)["outcomes"] == {
        "apache-kafka-3.9.2": "cannot say",
        "apache-kafka-4.4.0": "is served",
    }
    assert all(each in shown(found, 160) for each in said)
    assert all(each in markdown(watch_document(found)).replace("\\", "") for each in said)
    assert sentences_about_releases(report)[1] == "1 of 1 client breaks with apache-kafka-4.4.0."
    alone = report_of(seen, OF_3_9, releases[:1])
    assert sentences_about_releases(alone) == []
    failed = report_of(seen, OF_3_9, releases, command_status=1)
    assert failed.words_about("apache-kafka-4.4.0") == (
        "every client that came works with apache-kafka-4.4.0, as far as was seen, which is not all"
    )


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
    seen = ObservedRequests()
    seen.add(OLD, 3, 1)
    release = release_named("apache-kafka-4.4.0")
    assert report_of(seen, {}, [release]).outcome is PredictedOutcome.SERVED
    for status, words in ((3, "with exit status 3:"), (-9, "by SIGKILL:"), (-40, "by signal 40:")):
        failed = report_of(seen, {}, [release], command_status=status)
        assert failed.outcome is PredictedOutcome.CANNOT_SAY
        assert f"the command ended {words}" in failed.all_remarks[0]
    seen.add(OLD, 0, 0)
    assert report_of(seen, {}, [release], command_status=3).outcome is PredictedOutcome.BREAKS


def test_clients_that_were_left_out_are_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there were more clients than are kept, nothing can be said of all of them."""
    monkeypatch.setattr(observed_requests, "MAX_CLIENTS", 1)
    seen = ObservedRequests()
    release = release_named("apache-kafka-4.4.0")
    for name in ("one", "two"):
        seen.add(ClientIdentity(name, "h"), 3, 1)
    report = report_of(seen, {}, [release])
    assert [each.outcome for row in report.rows for each in row.predictions] == [PredictedOutcome.SERVED]
    assert report.outcome is PredictedOutcome.CANNOT_SAY


def test_a_rehearsal_says_how_to_read_it() -> None:
    """A client that gives up by itself sends nothing that is refused."""
    report = report_of(ObservedRequests(), {}, [], rehearsed="apache-kafka-4.4.0")
    assert "sends nothing" in report.all_remarks[-1]
