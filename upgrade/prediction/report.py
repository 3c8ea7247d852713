"""The result of `watch`: what each client sent, and its outcome per release.

`report_files.py` writes it as JSON, as Markdown and as a page; `terminal.py` shows it on a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fixtures.process_end import ended_in_words
from reference_model.profiles.known_apis import label_of
from reference_model.profiles.version_tables import Ranges
from reports.wording.escaping import printable
from reports.wording.verdict_labels import counted
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, Violation
from upgrade.prediction.prediction import PredictedOutcome, Prediction, predict, worst
from upgrade.prediction.releases import Release
from wire.request_log import UNKNOWN_SOFTWARE

EXIT_STATUS = {
    PredictedOutcome.WORKS: 0,
    PredictedOutcome.BREAKS: 1,
    PredictedOutcome.CANNOT_SAY: 10,
}
SHOWN_BYTES = 64
NO_CLIENT = "no client sent a request, so nothing can be said"
_REHEARSE = "`watch --rehearse` shows whether a client of which nothing can be said copes with a release"
_LOOK_AT_PROGRAM = (
    "a client that finds no version in common with the release sends nothing: see whether the program does its work"
)


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
        outcome = worst(predictions)
        is_unsure = self.is_incomplete or self.command_status
        return PredictedOutcome.CANNOT_SAY if outcome is PredictedOutcome.WORKS and is_unsure else outcome

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """What the sources cannot see, what stood in the way, and how to read the result."""
        remarks = [*self.remarks]
        if self.command_status:
            remarks.append(
                f"the command ended {ended_in_words(self.command_status)}: what it does otherwise was not seen"
            )
        if self.rehearsed:
            remarks.append(_LOOK_AT_PROGRAM)
        elif self.rows and self.outcome is PredictedOutcome.CANNOT_SAY:
            remarks.append(_REHEARSE)
        return (*remarks, *(note for row in self.rows for note in row.notes))


def report_of(
    observed: ObservedRequests,
    watched: Ranges,
    releases: Sequence[Release],
    *,
    violations: Mapping[tuple[str | None, str], tuple[Violation, ...]] | None = None,
    remarks: Sequence[str] = (),
    rehearsed: str = "",
    command_status: int = 0,
) -> WatchReport:
    """Return what observed requests mean for releases.

    Args:
        observed: what sources saw.
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
            requests=observed.requests(client),
            connections=len(observed.of(client).connections),
            asks=observed.asks(client),
            predictions=tuple(predict(observed, client, watched, each) for each in releases),
            violations=(violations or {}).get((client.client_id, client.address), ()),
            notes=tuple(observed.of(client).notes),
        )
        for client in observed.clients
    ]
    return WatchReport(
        releases=tuple(each.id for each in releases),
        rows=tuple(rows),
        watched=watched,
        remarks=(*observed.limits, *remarks),
        rehearsed=rehearsed,
        command_status=command_status,
        is_incomplete=observed.are_incomplete,
    )


def client_name(client: ClientIdentity) -> str:
    """Return how a client is named: its software if it is known, and its client id."""
    software = " ".join(filter(None, (client.software_name, client.software_version)))
    if client.is_group:
        return _group_name(client.software_name, software)
    own = "without a client id" if client.client_id is None else f"“{client.client_id}”"
    return f"{software} {own}" if software else f"client {own}"


def _group_name(software_name: str | None, software: str) -> str:
    if software_name is None:
        return "programs that RequestsPerSec counts"
    return "programs that name no software" if software_name == UNKNOWN_SOFTWARE else f"programs with {software}"


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
    texts = []
    for row in report.rows:
        for each in row.predictions:
            if each.outcome is without:
                continue
            is_group = row.client.is_group
            about = client_name(row.client) + ("" if is_group else f" at {row.client.address}")
            why = "; ".join(decision.sentence for decision in each.decisions[:3])
            reason = f": {why}" if why else ": every request that was seen is served"
            words = {
                PredictedOutcome.WORKS: "work with" if is_group else "works with",
                PredictedOutcome.BREAKS: "break with" if is_group else "breaks with",
                PredictedOutcome.CANNOT_SAY: "cannot be predicted for",
            }[each.outcome]
            texts.append(f"{about} {words} {each.release}{reason}.")
    return texts if report.rows else [f"{NO_CLIENT}."]


def sentences_about_releases(report: WatchReport) -> list[str]:
    """Return a sentence about each release, if there are several: the exit status is that of the worst one."""
    if len(report.releases) < 2 or not report.rows:
        return []
    return [f"{report.words_about(each)}." for each in report.releases]


def address_of(row: ClientRow) -> str:
    """Return the host of a client, with its user if that is known."""
    principal = f" ({row.client.principal})" if row.client.principal else ""
    return printable(f"{row.client.address}{principal}")
