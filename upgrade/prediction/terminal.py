"""The result of watching on a terminal or in a pipe, as wide as that is."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports.wording.escaping import printable
from upgrade.prediction.prediction import PredictedOutcome, Prediction
from upgrade.prediction.report import (
    NO_CLIENT,
    SHOWN_BYTES,
    WatchReport,
    address_of,
    client_name,
    requests_in_words,
    sentences,
    sentences_about_releases,
)

_STYLES = {
    PredictedOutcome.WORKS: "green",
    PredictedOutcome.BREAKS: "bold red",
    PredictedOutcome.CANNOT_SAY: "yellow",
}
_TEXT_COLUMNS = {"client": 16, "address": 9, "requests": 24}
"""The columns before those of the releases, each with the least columns of a terminal in which it can be read."""
_ANY_WIDTH = 100_000


def table_of(report: WatchReport, console: Console) -> RenderableType:
    """Return the clients as a table.

    Each release has a column, or a line if the console is too narrow for all columns.
    """
    if not report.rows:
        return Text("no client has sent a request yet", style="dim")
    table = _wide_table(report)
    # Measured without the console's own width, which would be all that a table needs.
    needed = console.measure(table, options=console.options.update(width=_ANY_WIDTH)).minimum
    return table if needed <= console.width else _narrow_table(report)


def _wide_table(report: WatchReport) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name, least in _TEXT_COLUMNS.items():
        table.add_column(name, overflow="fold", min_width=least)
    for name in report.releases:
        table.add_column(name, no_wrap=True)
    for row in report.rows:
        table.add_row(
            Text(printable(client_name(row.client))),
            Text(address_of(row)),
            Text("\n".join(requests_in_words(row))),
            *map(_outcome, row.predictions),
        )
    return table


def _narrow_table(report: WatchReport) -> RenderableType:
    """Return lines for each client: name and address, one line per API, and one line per release."""
    parts: list[RenderableType] = []
    for row in report.rows:
        parts.append(
            Text(printable(client_name(row.client)) + ("" if row.client.is_group else f" at {address_of(row)}"))
        )
        parts += [Text(f"  {each}") for each in requests_in_words(row)]
        outcomes = Table(box=None, show_header=False, pad_edge=False)
        outcomes.add_column(no_wrap=True, overflow="ellipsis")
        outcomes.add_column(no_wrap=True)
        for each in row.predictions:
            outcomes.add_row(Text(f"  {each.release}"), _outcome(each))
        parts.append(outcomes)
    return Group(*parts)


def _outcome(prediction: Prediction) -> Text:
    return Text(prediction.outcome.value, style=_STYLES[prediction.outcome])


def show_result(console: Console, report: WatchReport) -> None:
    """Show the clients, their outcomes and violations, and what could not be seen."""
    if not report.rows:
        console.print(NO_CLIENT, style="yellow")
    else:
        console.print(table_of(report, console))
        console.print()
        for each in sentences_about_releases(report):
            console.print(each, markup=False, highlight=False)
        for each in sentences(report, without=PredictedOutcome.WORKS):
            console.print(printable(each), markup=False, highlight=False)
    for row in report.rows:
        for violation in row.violations:
            text = f"{client_name(row.client)}: {violation.sentence} ({violation.clause}): "
            console.print(
                printable(text) + violation.data[:SHOWN_BYTES].hex(" "),
                markup=False,
                highlight=False,
            )
    console.print(Group(*(Text(printable(each), style="dim") for each in report.all_remarks)))
