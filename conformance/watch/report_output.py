"""Shows a report on a terminal, and writes it into a folder: report.json, report.md and index.html."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from conformance.watch.prediction import PredictedOutcome
from conformance.watch.report import (
    NO_CLIENT,
    ClientRow,
    WatchReport,
    as_json,
    as_markdown,
    client_name,
    requests_in_words,
    sentences,
)
from reports.escaping import printable
from reports.records import Verdict
from reports.site.watch_page import WatchedClient, write_watch_page

_VERDICTS = {
    PredictedOutcome.WORKS: Verdict.CONFORMS,
    PredictedOutcome.BREAKS: Verdict.VIOLATES,
    PredictedOutcome.CANNOT_SAY: Verdict.INCONCLUSIVE,
}
_STYLES = {
    PredictedOutcome.WORKS: "green",
    PredictedOutcome.BREAKS: "bold red",
    PredictedOutcome.CANNOT_SAY: "yellow",
}
_SHOWN_BYTES = 64


def table_of(report: WatchReport) -> RenderableType:
    """Return the clients as a table."""
    if not report.rows:
        return Text("no client has sent a request yet", style="dim")
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("client", "address", "requests", *report.releases):
        table.add_column(name, overflow="fold")
    for row in report.rows:
        table.add_row(
            Text(printable(client_name(row.client))),
            Text(_address(row)),
            Text("\n".join(requests_in_words(row))),
            *(Text(each.outcome.value, style=_STYLES[each.outcome]) for each in row.predictions),
        )
    return table


def _address(row: ClientRow) -> str:
    principal = f" ({row.client.principal})" if row.client.principal else ""
    return printable(f"{row.client.address}{principal}")


def show_result(console: Console, report: WatchReport) -> None:
    """Show the clients, what becomes of them, what they did against the rules, and what could not be seen."""
    if not report.rows:
        console.print(NO_CLIENT, style="yellow")
    else:
        console.print(table_of(report))
        console.print()
        for each in sentences(report, without=PredictedOutcome.WORKS):
            console.print(printable(each), markup=False, highlight=False)
    for row in report.rows:
        for violation in row.violations:
            text = f"{client_name(row.client)}: {violation.sentence} ({violation.clause}): "
            console.print(
                printable(text) + violation.data[:_SHOWN_BYTES].hex(" "),
                markup=False,
                highlight=False,
            )
    console.print(Group(*(Text(printable(each), style="dim") for each in report.all_remarks)))


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
            self.problem = (
                f"{self._folder}: the report is not written any more: {error.strerror or error}"
            )


def _write_page(folder: Path, report: WatchReport) -> None:
    clients = [
        WatchedClient(
            name=printable(client_name(row.client)),
            address=_address(row),
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
