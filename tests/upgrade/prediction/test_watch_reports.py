"""Tests of predictions and of the reports about them.

Predictions follow from what a client sent and what a release serves. Reports exist for people, for tickets and for
machines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import html5lib
import pytest
from rich.console import Console

from conformance.commands.watch import WIDTH_WHEN_PIPED
from reference_model.profiles.known_apis import Range
from upgrade.prediction import observed_requests
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, Violation
from upgrade.prediction.prediction import PredictedOutcome, Prediction, predict, worst
from upgrade.prediction.releases import NoSuchRelease, release_named
from upgrade.prediction.report import WatchReport, report_of, sentences, sentences_about_releases
from upgrade.prediction.report_files import ReportFolder, as_json, as_markdown
from upgrade.prediction.terminal import show_result

CLIENT = ClientIdentity("app", "127.0.0.1")
OF_3_9 = {0: Range(0, 11), 1: Range(0, 17), 3: Range(0, 12), 18: Range(0, 4), 19: Range(0, 7)}
"""What a broker of release 3.9 lists of some APIs."""
ASKS, PRODUCE, FETCH, METADATA = (18, 3), 0, 1, 3


def predicted(
    *requests: tuple[int, int],
    release: str = "apache-kafka-4.4.0",
    watched: Mapping[int, Range] = OF_3_9,
    missed: bool = False,
) -> Prediction:
    """Return the prediction for a client that sent these requests, each as API key and version."""
    seen = ObservedRequests()
    for key, version in requests:
        seen.add(CLIENT, key, version)
    if missed:
        seen.of(CLIENT).missed_beginning = True
    return predict(seen, CLIENT, watched, release_named(release))


WORKS, BREAKS, CANNOT_SAY = (
    PredictedOutcome.WORKS,
    PredictedOutcome.BREAKS,
    PredictedOutcome.CANNOT_SAY,
)
ROWS = {
    "asks-and-all-are-served": ([ASKS, (METADATA, 4), (PRODUCE, 7)], WORKS),
    "asks-and-uses-the-maximum-that-is-served": ([ASKS, (METADATA, 12), (PRODUCE, 11)], WORKS),
    "never-asks-and-all-are-served": ([(METADATA, 1), (PRODUCE, 3)], WORKS),
    "never-asks-and-one-is-refused": ([(METADATA, 1), (PRODUCE, 2)], BREAKS),
    "never-asks-and-uses-the-maximum": ([(FETCH, 3), (METADATA, 12)], BREAKS),
    "asks-and-knows-no-newer-one": ([ASKS, (METADATA, 1), (FETCH, 3)], BREAKS),
    "listed-but-refused": ([ASKS, (METADATA, 1), (PRODUCE, 2)], BREAKS),
    "the-first-that-is-not-refused": ([ASKS, (METADATA, 1), (PRODUCE, 3)], WORKS),
    "also-sent-a-newer-one": ([ASKS, (FETCH, 3), (FETCH, 11)], CANNOT_SAY),
    "an-api-that-is-gone": ([ASKS, (METADATA, 1), (4, 1)], CANNOT_SAY),
    "an-unknown-api": ([ASKS, (METADATA, 1), (999, 0)], CANNOT_SAY),
    "an-unknown-api-without-asking": ([(METADATA, 1), (999, 0)], BREAKS),
    "nothing-but-asking": ([ASKS], CANNOT_SAY),
    "a-version-that-no-release-has": ([ASKS, (METADATA, 99)], CANNOT_SAY),
}


@pytest.mark.parametrize("row", ROWS)
def test_requests_decide(row: str) -> None:
    """A client works, breaks, or may do either."""
    requests, outcome = ROWS[row]
    assert predicted(*requests).outcome is outcome


def test_the_maximum_of_the_watched_broker_says_nothing() -> None:
    """A client that used the newest version that the watched broker serves may know newer ones."""
    watched = {**OF_3_9, FETCH: Range(0, 3)}
    assert predicted(ASKS, (FETCH, 3), watched=watched).outcome is CANNOT_SAY
    assert predicted(ASKS, (FETCH, 2), watched=watched).outcome is BREAKS
    assert predicted(ASKS, (FETCH, 2), watched={}).outcome is CANNOT_SAY


def test_a_connection_that_was_not_seen_from_its_beginning_says_less() -> None:
    """A client that may have asked before it was watched is no client that never asks."""
    newest = {**OF_3_9, FETCH: Range(0, 3)}
    assert predicted((FETCH, 3), watched=newest).outcome is BREAKS
    found = predicted((FETCH, 3), watched=newest, missed=True)
    assert found.outcome is CANNOT_SAY
    assert "not known whether the client asks" in found.decisions[0].sentence


def test_what_breaks_in_any_case_is_said() -> None:
    """A client that uses less than the watched broker serves breaks whether it asks or not."""
    found = predicted((PRODUCE, 2), missed=True)
    assert found.outcome is BREAKS
    assert "knows no newer one" in found.decisions[0].sentence
    assert predicted((PRODUCE, 2), missed=True, watched={}).outcome is CANNOT_SAY


def test_the_sentence_names_the_request_and_the_release() -> None:
    """The deciding request comes first, with the first releases that refuse it."""
    decision = predicted(ASKS, (METADATA, 99), (PRODUCE, 2)).decisions[0]
    assert (decision.api_key, decision.api_version) == (PRODUCE, 2)
    assert decision.refused_since == "4.0"
    assert decision.sentence == (
        "Produce v2 is refused since 4.0; "
        "the client knows no newer one: it used v2, and the watched broker serves up to v11"
    )


def test_an_older_release_is_predicted_too() -> None:
    """A client may know the older version that an older release serves; a version that it used before is refused
    since no release."""
    found = predicted(ASKS, (METADATA, 12), release="apache-kafka-2.3.1")
    assert found.outcome is CANNOT_SAY
    assert found.decisions[-1].refused_since == ""
    assert "the client may know v8 or older as well" in found.decisions[-1].sentence


@pytest.mark.parametrize(
    ("sent", "watched_maximum", "outcome"),
    [((4,), 4, CANNOT_SAY), ((4, 3), 3, WORKS), ((4, 3), 4, CANNOT_SAY), ((3,), 4, WORKS)],
)
def test_asking_itself_is_judged(sent: tuple[int, ...], watched_maximum: int, outcome: PredictedOutcome) -> None:
    """A client that was seen to fall back to an older ApiVersions works with a release that refuses the newer one."""
    watched = {**OF_3_9, 18: Range(0, watched_maximum)}
    requests = [*((18, each) for each in sent), (METADATA, 4)]
    found = predicted(*requests, release="apache-kafka-3.8.1", watched=watched)
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("api_key", "feature", "first_release", "last_without"),
    [
        (68, "group.version", "apache-kafka-4.0.2", "apache-kafka-3.9.2"),
        (78, "share.version", "apache-kafka-4.2.1", "apache-kafka-4.1.2"),
    ],
)
def test_an_api_needs_its_feature(api_key: int, feature: str, first_release: str, last_without: str) -> None:
    """An API that a release lists while its feature is off is refused there: nothing can be said."""
    version = 0 if api_key == 68 else 1
    watched = {**OF_3_9, api_key: Range(0, version)}
    sent = (ASKS, (METADATA, 12), (api_key, version))
    found = predicted(*sent, watched=watched, release=last_without)
    assert found.outcome is CANNOT_SAY
    assert found.decisions[0].sentence.endswith(
        f"works only with the feature {feature}, which the release does not enable by itself"
    )
    assert predicted(*sent, watched=watched, release=first_release).outcome is WORKS


def test_the_worst_prediction_counts() -> None:
    works, breaks = predicted((METADATA, 1)), predicted((PRODUCE, 0))
    unknown = predicted(ASKS)
    assert worst([works]) is WORKS
    assert worst([works, unknown]) is CANNOT_SAY
    assert worst([unknown, breaks, works]) is BREAKS
    assert worst([]) is CANNOT_SAY


def test_a_release_without_a_table_is_refused_by_name() -> None:
    """The message lists the releases that are known."""
    with pytest.raises(NoSuchRelease, match=r"'apache-kafka-9\.9\.9'.*apache-kafka-4\.4\.0"):
        release_named("apache-kafka-9.9.9")


def test_what_older_code_reads_is_not_served() -> None:
    """0.10.0 and 0.10.1 close on no version of Fetch, but serve only those that they list, so no newer one is
    refused since then."""
    served = [each for each in range(20) if release_named("apache-kafka-0.10.1.1").serves(FETCH, each)]
    assert served == [0, 1, 2, 3]
    assert release_named("apache-kafka-2.3.1").refused_since(FETCH, 16) == ""
    assert release_named("apache-kafka-4.4.0").refused_since(FETCH, 3) == "4.0"


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
    """Each client has one sentence for each release."""
    works, breaks = sentences(report)
    assert works.endswith("works with apache-kafka-3.9.2: every request that was seen is served.")
    assert "breaks with apache-kafka-4.4.0: Produce v2 is refused since 4.0" in breaks
    assert sentences(report_of(ObservedRequests(), {}, [])) == ["no client sent a request, so nothing can be said."]


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


SIX = [f"apache-kafka-{each}" for each in ("3.7.2", "3.9.2", "4.0.2", "4.2.1", "4.3.1", "4.4.0")]
KNOWN = ClientIdentity("known", "10.0.0.2", software_name="apache-kafka-java")


def shown(report: WatchReport, width: int) -> list[str]:
    """Return the lines that a terminal, or a pipe, of a width shows."""
    console = Console(width=width, record=True, force_terminal=False)
    show_result(console, report)
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [40, 80, WIDTH_WHEN_PIPED, 300])
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
        assert all(words.count([each, "works"]) == 2 for each in SIX)


def test_what_is_known_of_each_release_is_said(report: WatchReport) -> None:
    seen = ObservedRequests()
    for request in ((18, 3), (3, 12), (68, 0)):
        seen.add(KNOWN, *request)
    releases = [release_named("apache-kafka-3.9.2"), release_named("apache-kafka-4.4.0")]
    found = report_of(seen, {**OF_3_9, 68: Range(0, 0)}, releases)
    said = [
        "nothing can be said about 1 of 1 client with apache-kafka-3.9.2.",
        "every client works with apache-kafka-4.4.0.",
    ]
    assert found.outcome is PredictedOutcome.CANNOT_SAY
    assert sentences_about_releases(found) == said
    assert as_json(found)["outcomes"] == {
        "apache-kafka-3.9.2": "cannot say",
        "apache-kafka-4.4.0": "works",
    }
    assert all(each in shown(found, 160) for each in said)
    assert all(each in as_markdown(found).replace("\\", "") for each in said)
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
    assert report_of(seen, {}, [release]).outcome is PredictedOutcome.WORKS
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
    assert [each.outcome for row in report.rows for each in row.predictions] == [PredictedOutcome.WORKS]
    assert report.outcome is PredictedOutcome.CANNOT_SAY


def test_a_rehearsal_says_how_to_read_it() -> None:
    """A client that gives up by itself sends nothing that is refused."""
    report = report_of(ObservedRequests(), {}, [], rehearsed="apache-kafka-4.4.0")
    assert "sends nothing" in report.all_remarks[-1]
