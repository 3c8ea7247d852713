"""Writes the report of `watch` as JSON, as Markdown and as a page."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from reference_model.profiles.known_apis import label_of
from reports.records import Verdict
from reports.site.watch_page import WatchedClient, write_watch_page
from reports.wording.escaping import markdown_text, printable
from reports.wording.verdict_labels import counted
from upgrade.prediction.prediction import PredictedOutcome, request_name
from upgrade.prediction.report import (
    SHOWN_BYTES,
    ClientRow,
    WatchReport,
    address_of,
    client_name,
    requests_in_words,
    sentences,
    sentences_about_releases,
)

_VERDICTS = {
    PredictedOutcome.WORKS: Verdict.CONFORMS,
    PredictedOutcome.BREAKS: Verdict.VIOLATES,
    PredictedOutcome.CANNOT_SAY: Verdict.INCONCLUSIVE,
}
_JUDGED_BY = "Violations by the rules of the protocol, each with the first bytes of the request"


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
