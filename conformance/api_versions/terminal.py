"""Terminal output of a cluster's version tables and of questions about them.

The tables can also be printed in the format of Kafka's own tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from conformance.api_versions.client_requests import ClientRequests
from conformance.api_versions.cluster_tables import BrokerTable, ClusterTables
from conformance.api_versions.features import FeatureVerdict, Usable
from reference_model.profiles.known_apis import Range, known_apis, name_of
from reference_model.profiles.version_tables import Ranges, RequestChange, Support
from reports.wording.escaping import printable
from reports.wording.verdict_labels import counted


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
    """Show of each feature whether it can be used by a shared version and by each broker's own, and what is missing."""
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


def show_differences(console: Console, found: Sequence[RequestChange], first: str, second: str) -> None:
    """Show how two tables differ."""
    if not found:
        console.print(f"{first} and {second} support the same versions", markup=False)
        return
    table = Table("API", first, second, "change", box=None, header_style="dim")
    for each in found:
        texts = (_text(each.before), _text(each.after), each.words)
        table.add_row(f"{name_of(each.api_key)}({each.api_key})", *texts)
    console.print(table)


def stock_text(cluster: ClusterTables) -> str:
    """Return one block for each broker, as Kafka's `kafka-broker-api-versions.sh` of release 4.4.0 prints them.

    Its clients' versions are those of that release, so that "usable" is what a client of Kafka 4.4.0 would send.
    """
    return "\n".join(map(_block, cluster.brokers))


def _block(broker: BrokerTable) -> str:
    rack = "null" if broker.rack is None else broker.rack
    fenced = "true" if broker.is_fenced else "false"
    node = printable(f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {rack} isFenced: {fenced})")
    if broker.problem:
        return f"{node} -> ERROR: {printable(broker.problem)}"
    lines = ",\n".join(f"\t{line}" for line in api_lines(broker.ranges))
    return f"{node} -> (\n{lines}\n)"


def api_lines(ranges: Ranges) -> Iterator[str]:
    """Yield a line for each API that is listed, or that a broker of Kafka 4.4.0 would serve, by key ascending."""
    served = {key for key, api in known_apis().items() if api.for_brokers}
    for key in sorted(ranges.keys() | served):
        name = f"{name_of(key)}({key})"
        yield f"{name}: {_versions(key, ranges[key])}" if key in ranges else f"{name}: UNSUPPORTED"


def _versions(api_key: int, listed: Range) -> str:
    text = listed.in_words()
    known = known_apis().get(api_key)
    if known is None:
        return text
    if known.range is None or listed.lowest > known.range.highest:
        return f"{text} [unusable: node too new]"
    shared = known.range.common_with(listed)
    if shared is None:
        return f"{text} [unusable: node too old]"
    return f"{text} [usable: {shared.highest}]"
