"""Writes a report into a folder: report.json, report.md and index.html. A disk that is full ends the writing, not the watching."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.watch.prediction import PredictedOutcome
from conformance.watch.report import (
    WatchReport,
    as_json,
    as_markdown,
    client_name,
    requests_in_words,
)
from reports.escaping import printable
from reports.records import Verdict
from reports.site.watch_page import WatchedClient, write_watch_page

_VERDICTS = {
    PredictedOutcome.WORKS: Verdict.CONFORMS,
    PredictedOutcome.BREAKS: Verdict.VIOLATES,
    PredictedOutcome.CANNOT_SAY: Verdict.INCONCLUSIVE,
}
_SHOWN_BYTES = 64


class ReportFolder:
    """The folder of a report.

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
            self.problem = (
                f"{self._folder}: the report is not written any more: {error.strerror or error}"
            )


def _write_page(folder: Path, report: WatchReport) -> None:
    clients = [
        WatchedClient(
            name=printable(client_name(row.client)),
            address=printable(
                row.client.address + (f" ({row.client.principal})" if row.client.principal else "")
            ),
            requests=requests_in_words(row),
            outcomes=[
                (
                    each.outcome.value,
                    _VERDICTS[each.outcome],
                    [decision.sentence for decision in each.decisions],
                )
                for each in row.predictions
            ],
            violations=[
                (each.clause, each.sentence, each.data[:_SHOWN_BYTES].hex(" "))
                for each in row.violations
            ],
        )
        for row in report.rows
    ]
    write_watch_page(
        folder, report.releases, clients, remarks=report.all_remarks, rehearsed=report.rehearsed
    )
