"""Writes the report of `watch` as JSON, as Markdown and as a page."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from reference_model.profiles.known_apis import label_of
from reports.document.markdown_form import markdown
from reports.site.document_page import write_document_page
from upgrade.prediction.prediction import request_name
from upgrade.prediction.report import ClientRow, WatchReport
from upgrade.prediction.report_document import watch_document


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
                        "command": decision.command or None,
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
            document = watch_document(report)
            (self._folder / "report.md").write_text(markdown(document), encoding="utf-8")
            write_document_page(self._folder, document)
        except OSError as error:
            self.problem = f"{self._folder}: the report is not written any more: {error.strerror or error}"
