"""The result of `watch`: what each client sent, and its outcome per release.

It is written as JSON, as Markdown and as a page; `terminal.py` shows it on a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.watch.prediction import (
    PredictedOutcome,
    Prediction,
    Release,
    predict,
    request_name,
    worst,
)
from conformance.watch.sightings import ClientIdentity, Sightings
from conformance.watch.watcher import Violation
from fixtures.exit_status import ended_in_words
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.version_tables import Ranges
from reports.records import Verdict
from reports.site.watch_page import WatchedClient, write_watch_page
from reports.wording.escaping import markdown_text, printable
from reports.wording.verdict_labels import counted

EXIT_STATUS = {
    PredictedOutcome.WORKS: 0,
    PredictedOutcome.BREAKS: 1,
    PredictedOutcome.CANNOT_SAY: 10,
}
_VERDICTS = {
    PredictedOutcome.WORKS: Verdict.CONFORMS,
    PredictedOutcome.BREAKS: Verdict.VIOLATES,
    PredictedOutcome.CANNOT_SAY: Verdict.INCONCLUSIVE,
}
SHOWN_BYTES = 64
NO_CLIENT = "no client sent a request, so nothing can be said"
_REHEARSE = "`watch --rehearse` shows whether a client of which nothing can be said copes with a release"
_LOOK_AT_PROGRAM = (
    "a client that finds no version in common with the release sends nothing: see whether the program does its work"
)
_JUDGED_BY = "Violations by the rules of the protocol, each with the first bytes of the request"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """One client.

    Attributes:
        client: the client.
        requests: how often it sent each request, by API key and version.
        connections: how many connections it opened, as far as they were counted.
        asks: whether it asks for versions; None if that is not known.
        predictions: one for each release.
        violations: what it did against the rules.
        notes: what could not be read of it.
    """

    client: ClientIdentity
    requests: Mapping[tuple[int, int], int]
    connections: int
    asks: bool | None
    predictions: tuple[Prediction, ...]
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchReport:
    """What was found out.

    Attributes:
        releases: the ids of the releases that were asked about.
        rows: the clients.
        watched: what the watched brokers list in common; empty if no client asked.
        remarks: what the sources cannot see, and what stood in the way, each a sentence.
        rehearsed: the id of the release that was rehearsed; empty for none.
        command_status: the exit status of the command that was watched; 0 if there was none.
        is_incomplete: whether clients were left out.
    """

    releases: tuple[str, ...]
    rows: tuple[ClientRow, ...]
    watched: Ranges
    remarks: tuple[str, ...] = ()
    rehearsed: str = ""
    command_status: int = 0
    is_incomplete: bool = False

    @property
    def outcome(self) -> PredictedOutcome:
        """The worst outcome of all clients and releases."""
        return self._worst([each for row in self.rows for each in row.predictions])

    def outcome_with(self, release: str) -> PredictedOutcome:
        """Return the worst outcome of all clients with one release."""
        return self._worst(self._predictions_of(release))

    def words_about(self, release: str) -> str:
        """Return what is known about all clients with one release, as a sentence without its full stop."""
        outcome = self.outcome_with(release)
        if outcome is not worst(self._predictions_of(release)):
            return f"every client that came works with {release}, as far as was seen, which is not all"
        concerned = sum(each.outcome is outcome for each in self._predictions_of(release))
        of_all = f"{concerned} of {counted(len(self.rows), 'client')}"
        return {
            PredictedOutcome.WORKS: f"every client works with {release}",
            PredictedOutcome.BREAKS: f"{of_all} {'breaks' if concerned == 1 else 'break'} with {release}",
            PredictedOutcome.CANNOT_SAY: f"nothing can be said about {of_all} with {release}",
        }[outcome]

    def _predictions_of(self, release: str) -> list[Prediction]:
        return [each for row in self.rows for each in row.predictions if each.release == release]

    def _worst(self, predictions: Sequence[Prediction]) -> PredictedOutcome:
        """Return the worst outcome of some predictions.

        Success becomes "cannot say" if clients were left out, or if the command failed and so may not have shown all
        that it does.
        """
        found = worst(predictions)
        is_unsure = self.is_incomplete or self.command_status
        return PredictedOutcome.CANNOT_SAY if found is PredictedOutcome.WORKS and is_unsure else found

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """What the sources cannot see, what stood in the way, and how to read the result."""
        found = [*self.remarks]
        if self.command_status:
            found.append(
                f"the command ended {ended_in_words(self.command_status)}: what it does otherwise was not seen"
            )
        if self.rehearsed:
            found.append(_LOOK_AT_PROGRAM)
        elif self.rows and self.outcome is PredictedOutcome.CANNOT_SAY:
            found.append(_REHEARSE)
        return (*found, *(note for row in self.rows for note in row.notes))


def report_of(
    sightings: Sightings,
    watched: Ranges,
    releases: Sequence[Release],
    *,
    violations: Mapping[tuple[str | None, str], tuple[Violation, ...]] | None = None,
    remarks: Sequence[str] = (),
    rehearsed: str = "",
    command_status: int = 0,
) -> WatchReport:
    """Return what sightings mean for releases.

    Args:
        sightings: what sources saw.
        watched: what the watched brokers list in common; empty if it is not known.
        releases: the releases.
        violations: what clients did against the rules, by client id and address.
        remarks: what stood in the way, each a sentence.
        rehearsed: the id of the release that was rehearsed.
        command_status: the exit status of the command that was watched.
    """
    rows = [
        ClientRow(
            client=client,
            requests=sightings.requests(client),
            connections=len(sightings.of(client).connections),
            asks=sightings.asks(client),
            predictions=tuple(predict(sightings, client, watched, each) for each in releases),
            violations=(violations or {}).get((client.client_id, client.address), ()),
            notes=tuple(sightings.of(client).notes),
        )
        for client in sightings.clients
    ]
    return WatchReport(
        releases=tuple(each.id for each in releases),
        rows=tuple(rows),
        watched=watched,
        remarks=(*sightings.cannot_see, *remarks),
        rehearsed=rehearsed,
        command_status=command_status,
        is_incomplete=sightings.are_incomplete,
    )


def client_name(client: ClientIdentity) -> str:
    """Return how a client is named: its software if it is known, and its client id."""
    software = " ".join(filter(None, (client.software_name, client.software_version)))
    own = "without a client id" if client.client_id is None else f"“{client.client_id}”"
    return f"{software} {own}" if software else f"client {own}"


def requests_in_words(row: ClientRow) -> list[str]:
    """Return the requests of a client, one text for each API: "Produce v7 (12), v8 (1)"."""
    by_api: dict[int, list[str]] = {}
    for (key, version), times in row.requests.items():
        by_api.setdefault(key, []).append(f"v{version} ({times:,})")
    return [f"{label_of(key)} {', '.join(versions)}" for key, versions in by_api.items()]


def sentences(report: WatchReport, *, without: PredictedOutcome | None = None) -> list[str]:
    """Return sentences for a ticket: the outcome of each client with each release, and why.

    Predictions with the outcome `without` are left out.
    """
    found = []
    for row in report.rows:
        for each in row.predictions:
            if each.outcome is without:
                continue
            about = f"{client_name(row.client)} at {row.client.address}"
            why = "; ".join(decision.sentence for decision in each.decisions[:3])
            reason = f": {why}" if why else ": every request that was seen is served"
            words = {
                PredictedOutcome.WORKS: "works with",
                PredictedOutcome.BREAKS: "breaks with",
                PredictedOutcome.CANNOT_SAY: "cannot be predicted for",
            }[each.outcome]
            found.append(f"{about} {words} {each.release}{reason}.")
    return found if report.rows else [f"{NO_CLIENT}."]


def sentences_about_releases(report: WatchReport) -> list[str]:
    """Return what is known about each release, if there are several: the exit status is that of the worst one."""
    if len(report.releases) < 2 or not report.rows:
        return []
    return [f"{report.words_about(each)}." for each in report.releases]


def as_json(report: WatchReport) -> dict[str, object]:
    """Return the report for machines."""
    return {
        "outcome": report.outcome.value,
        "outcomes": {each: report.outcome_with(each).value for each in report.releases},
        "releases": list(report.releases),
        "rehearsed": report.rehearsed or None,
        "clients": [_row_as_json(row) for row in report.rows],
        "watched": [
            {"api_key": key, "api": label_of(key), "min_version": low, "max_version": high}
            for key, (low, high) in sorted(report.watched.items())
        ],
        "remarks": list(report.all_remarks),
        "command_status": report.command_status,
    }


def as_markdown(report: WatchReport) -> str:
    """Return the report as text for a ticket."""
    lines = ["# Will these applications survive the upgrade?", ""]
    if report.rehearsed:
        lines += [f"The cluster was made to look like {report.rehearsed}.", ""]
    lines += [f"- {markdown_text(each)}" for each in (*sentences_about_releases(report), *sentences(report))]
    if any(row.violations for row in report.rows):
        lines += ["", f"{_JUDGED_BY}:", ""]
        lines += [
            f"- {markdown_text(client_name(row.client))}: {markdown_text(each.sentence)} "
            f"({markdown_text(each.clause)}): `{each.data[:SHOWN_BYTES].hex(' ')}`"
            for row in report.rows
            for each in row.violations
        ]
    lines += ["", "Requests that were seen:", ""]
    lines += [
        f"- {markdown_text(client_name(row.client))}, {counted(row.connections, 'connection')}: "
        + markdown_text("; ".join(requests_in_words(row)))
        for row in report.rows
    ]
    remarks = report.all_remarks
    if remarks:
        lines += ["", "Remarks:", "", *(f"- {markdown_text(each)}" for each in remarks)]
    return "\n".join(lines) + "\n"


def _row_as_json(row: ClientRow) -> dict[str, object]:
    return {
        **asdict(row.client),
        "connections": row.connections,
        "asks_for_versions": row.asks,
        "requests": [
            {"api_key": key, "api": label_of(key), "api_version": version, "times": times}
            for (key, version), times in row.requests.items()
        ],
        "predictions": [
            {
                "release": each.release,
                "outcome": each.outcome.value,
                "decisions": [
                    {
                        "outcome": decision.outcome.value,
                        "request": None
                        if decision.api_key is None or decision.api_version is None
                        else request_name(decision.api_key, decision.api_version),
                        "refused_since": decision.refused_since or None,
                        "sentence": decision.sentence,
                    }
                    for decision in each.decisions
                ],
            }
            for each in row.predictions
        ],
        "violations": [
            {"clause": each.clause, "sentence": each.sentence, "bytes": each.data.hex()} for each in row.violations
        ],
        "notes": list(row.notes),
    }


def address_of(row: ClientRow) -> str:
    """Return the host of a client, with its user if that is known."""
    principal = f" ({row.client.principal})" if row.client.principal else ""
    return printable(f"{row.client.address}{principal}")


class ReportFolder:
    """The folder of a report. A disk that is full ends the writing, not the watching.

    Attributes:
        problem: why nothing is written any more; empty if everything could be written.
    """

    def __init__(self, folder: Path) -> None:
        """Create the folder.

        Raises:
            OSError: it cannot be created.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.problem = ""

    def write(self, report: WatchReport) -> None:
        """Write the report, in place of an earlier one."""
        if self.problem:
            return
        try:
            text = json.dumps(as_json(report), indent=1)
            (self._folder / "report.json").write_text(f"{text}\n", encoding="utf-8")
            (self._folder / "report.md").write_text(as_markdown(report), encoding="utf-8")
            _write_page(self._folder, report)
        except OSError as error:
            self.problem = f"{self._folder}: the report is not written any more: {error.strerror or error}"


def _write_page(folder: Path, report: WatchReport) -> None:
    clients = [
        WatchedClient(
            name=printable(client_name(row.client)),
            address=address_of(row),
            requests=requests_in_words(row),
            outcomes=[
                (
                    each.outcome.value,
                    _VERDICTS[each.outcome],
                    [decision.sentence for decision in each.decisions],
                )
                for each in row.predictions
            ],
            violations=[(each.clause, each.sentence, each.data[:SHOWN_BYTES].hex(" ")) for each in row.violations],
        )
        for row in report.rows
    ]
    remarks = (*sentences_about_releases(report), *report.all_remarks)
    write_watch_page(folder, report.releases, clients, remarks=remarks, rehearsed=report.rehearsed)
