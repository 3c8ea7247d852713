"""The result of `watch`: what each client sent, and its outcome per release.

`report_document.py` says it for people, `report_files.py` writes it for them and for machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fixtures.process_end import ended_in_words
from reference_model.profiles.version_tables import Ranges
from reports.wording.verdict_labels import counted
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, Violation
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.prediction import Prediction, predict, worst
from upgrade.prediction.releases import Release

EXIT_STATUS = {
    PredictedOutcome.WORKS: 0,
    PredictedOutcome.SERVED: 0,
    PredictedOutcome.BREAKS: 1,
    PredictedOutcome.CANNOT_SAY: 10,
}
_FINE = (PredictedOutcome.WORKS, PredictedOutcome.SERVED)
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
            PredictedOutcome.SERVED: f"every request that was seen is served by {release}; {of_all} may need more",
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
        return PredictedOutcome.CANNOT_SAY if outcome in _FINE and is_unsure else outcome

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
