"""The report of `watch` for people: who breaks with which release, and why."""

from __future__ import annotations

from collections.abc import Iterator

from reference_model.profiles.known_apis import label_of
from reports.document.blocks import (
    Block,
    BulletList,
    CellLines,
    Code,
    Document,
    ListItem,
    Section,
    Sentence,
    TableCell,
    TextTable,
    VerdictWords,
)
from reports.records import Verdict
from reports.wording.verdict_labels import counted
from upgrade.prediction.observed_requests import ClientIdentity
from upgrade.prediction.outcomes import PredictedOutcome
from upgrade.prediction.prediction import Prediction
from upgrade.prediction.report import ClientRow, WatchReport
from wire.request_log import UNKNOWN_SOFTWARE

SHOWN_BYTES = 64
_MAX_REASONS = 3
"""How many reasons a sentence has; JSON has all of them."""
_NO_CLIENT = "No client sent a request, so nothing can be said."
_VERDICTS = {
    PredictedOutcome.WORKS: Verdict.CONFORMS,
    PredictedOutcome.SERVED: Verdict.CONFORMS,
    PredictedOutcome.BREAKS: Verdict.VIOLATES,
    PredictedOutcome.CANNOT_SAY: Verdict.INCONCLUSIVE,
}


def watch_document(report: WatchReport) -> Document:
    """Return the report: the clients, why a release breaks one, what they violated, and what could not be seen."""
    return Document(title="Will these applications survive the upgrade?", blocks=tuple(_blocks(report)))


def _blocks(report: WatchReport) -> Iterator[Block]:
    if report.rehearsed:
        yield Sentence(f"The cluster was made to look like {report.rehearsed}.")
    if report.rows:
        yield clients_table(report)
        if texts := (*sentences_about_releases(report), *sentences(report)):
            yield _list(*texts)
    else:
        yield Sentence(_NO_CLIENT)
    violations = [
        ListItem(
            (f"{each.sentence} ({each.clause}): ", Code(each.data[:SHOWN_BYTES].hex(" "))), client_name(row.client)
        )
        for row in report.rows
        for each in row.violations
    ]
    if violations:
        title = "Violations of the rules of the protocol, each with the first bytes of the request"
        yield Section(title=title, blocks=(BulletList(tuple(violations)),))
    if report.all_remarks:
        yield Section(title="Remarks", blocks=(_list(*report.all_remarks),))


def _list(*texts: str) -> BulletList:
    return BulletList(tuple(map(ListItem, texts)))


def clients_table(report: WatchReport) -> TextTable:
    """Return the clients, with a column for each release."""
    return TextTable(
        columns=("client", "address", "requests", *report.releases),
        rows=tuple(
            (
                client_name(row.client),
                _address(row),
                CellLines(tuple(requests_in_words(row))),
                *(VerdictWords(each.outcome.value, _VERDICTS[each.outcome]) for each in row.predictions),
            )
            for row in report.rows
        ),
        caption="Each client, and what becomes of it with each release",
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


def sentences(report: WatchReport) -> list[str]:
    """Return sentences for a ticket: each client with each release that it does not simply work with, and why.

    The releases that serve a client, of which no more is known, have one sentence.
    """
    texts = []
    for row in report.rows:
        served: dict[str, list[Prediction]] = {}
        for prediction in row.predictions:
            if prediction.outcome is PredictedOutcome.SERVED:
                why = "; ".join(decision.sentence for decision in prediction.decisions)
                served.setdefault(why, []).append(prediction)
            elif prediction.outcome is not PredictedOutcome.WORKS:
                reasons = [decision.sentence for decision in prediction.decisions[:_MAX_REASONS]]
                if more := len(prediction.decisions) - len(reasons):
                    reasons.append(f"and {more} more")
                why = "; ".join(reasons)
                texts.append(f"{_breaking_client(row.client, prediction.outcome)} {prediction.release}: {why}.")
        for why, alike in served.items():
            releases = ", ".join(each.release for each in alike)
            command = alike[-1].decisions[0].command
            how = f" ({command})" if command else ""
            texts.append(f"{_breaking_client(row.client, PredictedOutcome.SERVED)} {releases}: {why}{how}.")
    return texts


def _breaking_client(client: ClientIdentity, outcome: PredictedOutcome) -> str:
    name = client_name(client) + ("" if client.is_group else f" at {client.address}")
    if outcome is PredictedOutcome.CANNOT_SAY:
        return f"{name} cannot be predicted for"
    if outcome is PredictedOutcome.SERVED:
        return f"{name} {'are' if client.is_group else 'is'} served by"
    return f"{name} {'break' if client.is_group else 'breaks'} with"


def sentences_about_releases(report: WatchReport) -> list[str]:
    """Return a sentence about each release, if there are several: the exit status is that of the worst one."""
    if len(report.releases) < 2 or not report.rows:
        return []
    return [f"{report.words_about(each)}." for each in report.releases]


def _address(row: ClientRow) -> TableCell:
    """Return the host of a client, with its user if that is known, and its connections if they were counted."""
    principal = f" ({row.client.principal})" if row.client.principal else ""
    connections = [counted(row.connections, "connection")] if row.connections else []
    return CellLines((f"{row.client.address}{principal}", *connections))
