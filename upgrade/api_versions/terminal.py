"""Shows a cluster's version tables, and answers about them, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from reference_model.profiles.known_apis import name_of
from reference_model.profiles.version_tables import RequestChange, Support
from reports.wording.escaping import printable
from reports.wording.verdict_labels import counted
from upgrade.api_versions.client_requests import ClientRequests
from upgrade.api_versions.cluster_tables import ClusterTables
from upgrade.api_versions.features import FeatureVerdict, Usable


def show_cluster(console: Console, cluster: ClusterTables) -> None:
    """Show the brokers, what they have in common, and where they differ, on one screen."""
    brokers = Table("broker", "address", "rack", "APIs", "state", box=None, header_style="dim")
    for broker in cluster.brokers:
        state = "[red]no answer[/]" if broker.problem else "[green]answers[/]"
        count = "" if broker.problem else str(len(broker.ranges))
        address = printable(f"{broker.host}:{broker.port}")
        brokers.add_row(str(broker.node_id), address, printable(broker.rack or "-"), count, state)
    console.print(f"cluster {printable(cluster.cluster_id or 'without an id')}", style="bold")
    console.print(brokers)
    show_silent(console, cluster)
    console.print()
    table = cluster.table
    lines = [f"{name_of(key)}({key}) [bold]{each}[/]" for key, each in table.items()]
    console.print(Columns(lines, column_first=True, padding=(0, 3)))
    differing = {
        key
        for broker in cluster.answered
        for key in broker.ranges.keys() | table.keys()
        if key not in table or broker.ranges.get(key) != table[key].listed
    }
    for key in sorted(differing):
        own = ", ".join(f"{broker.node_id}: {broker.ranges.get(key, 'not listed')}" for broker in cluster.answered)
        console.print(f"[yellow]differs[/] {name_of(key)}({key}) on broker {own}")


def show_silent(console: Console, cluster: ClusterTables) -> None:
    """Show the brokers that could not be asked, each with the reason."""
    for broker in cluster.silent:
        console.print(
            f"broker {broker.node_id} could not be asked: {printable(broker.problem)}",
            style="red",
            markup=False,
        )


def show_verdicts(console: Console, verdicts: Sequence[FeatureVerdict]) -> None:
    """Show for each feature whether a shared version or each broker's own supports it, and what is missing."""
    columns = ("feature", "version shared by all", "each broker's own", "why")
    table = Table(*columns, box=None, header_style="dim")
    for each in verdicts:
        words = map(_coloured, (each.usable, each.usable_per_broker))
        table.add_row(printable(each.feature), *words, "; ".join(each.reasons))
    console.print(table)


def _coloured(usable: Usable) -> str:
    colours = {Usable.YES: "green", Usable.NO: "red", Usable.UNKNOWN: "yellow"}
    return f"[{colours[usable]}]{usable.value}[/]"


def show_refused(console: Console, refused: Sequence[RequestChange], own: ClientRequests) -> None:
    """Show which requests of a client have no version that all brokers support, and of how many that is known."""
    known = counted(len(own.ranges), "request")
    if refused:
        table = Table("request", own.client_id, "all brokers", box=None, header_style="dim")
        for each in refused:
            table.add_row(
                f"{name_of(each.api_key)}({each.api_key})",
                _text(each.before),
                _text(each.after, otherwise="not supported"),
            )
        console.print(table)
    else:
        which = "every request" if own.is_complete else "every request that is known"
        console.print(f"{which} of {own.client_id} ({known}) has a version that all brokers support")
    if not own.is_complete:
        console.print(
            f"the suite has seen {known} of {own.client_id}; whether it sends others is not known",
            style="dim",
        )


def _text(support: Support | None, *, otherwise: str = "-") -> str:
    return otherwise if support is None else str(support)


def show_differences(console: Console, changes: Sequence[RequestChange], first: str, second: str) -> None:
    """Show how two tables differ."""
    if not changes:
        console.print(f"{first} and {second} support the same versions", markup=False)
        return
    table = Table("API", first, second, "change", box=None, header_style="dim")
    for change in changes:
        texts = (_text(change.before), _text(change.after), change.words)
        table.add_row(f"{name_of(change.api_key)}({change.api_key})", *texts)
    console.print(table)
