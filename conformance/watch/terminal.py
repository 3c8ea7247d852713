"""Shows on a terminal what was found out: one row for each client, while it is watched and at the end."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from conformance.watch.prediction import PredictedOutcome
from conformance.watch.report import (
    NO_CLIENT,
    WatchReport,
    client_name,
    requests_in_words,
    sentences,
)
from reports.escaping import printable

_STYLES = {
    PredictedOutcome.WORKS: "green",
    PredictedOutcome.BREAKS: "bold red",
    PredictedOutcome.CANNOT_SAY: "yellow",
}


def table_of(report: WatchReport) -> RenderableType:
    """Return the clients as a table."""
    if not report.rows:
        return Text("no client has sent a request yet", style="dim")
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("client", "address", "requests", *report.releases):
        table.add_column(name, overflow="fold")
    for row in report.rows:
        principal = f" ({row.client.principal})" if row.client.principal else ""
        table.add_row(
            Text(printable(client_name(row.client))),
            Text(printable(f"{row.client.address}{principal}")),
            Text("\n".join(requests_in_words(row))),
            *(Text(each.outcome.value, style=_STYLES[each.outcome]) for each in row.predictions),
        )
    return table


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
                printable(text) + violation.data[:64].hex(" "), markup=False, highlight=False
            )
    console.print(Group(*(Text(printable(each), style="dim") for each in report.all_remarks)))
