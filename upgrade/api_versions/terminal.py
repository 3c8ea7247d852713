"""Shows a cluster's version tables, and answers about them, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from reference_model.profiles.known_apis import name_of
from reference_model.profiles.version_tables import RequestChange, Support
from reports.document.blocks import Block, Sentence, Strong, TextTable, VerdictWords
from reports.document.terminal_form import show
from reports.records import Verdict
from reports.wording.verdict_labels import counted
from upgrade.api_versions.client_requests import ClientRequests
from upgrade.api_versions.cluster_tables import BrokerTable, ClusterTables
from upgrade.api_versions.features import FeatureVerdict, Usable

_VERDICTS = {Usable.YES: Verdict.CONFORMS, Usable.NO: Verdict.VIOLATES, Usable.UNKNOWN: Verdict.INCONCLUSIVE}


def show_cluster(console: Console, cluster: ClusterTables) -> None:
    """Show the brokers, what they have in common, and where they differ, on one screen."""
    brokers = TextTable(
        columns=("broker", "address", "rack", "APIs", "state"), rows=tuple(map(_broker_row, cluster.brokers))
    )
    show(console, Sentence(Strong(f"cluster {cluster.cluster_id or 'without an id'}")), brokers)
    show(console, *silent_brokers(cluster))
    console.print()
    table = cluster.table
    lines = [Text.assemble(f"{name_of(key)}({key}) ", (str(each), "bold")) for key, each in table.items()]
    console.print(Columns(lines, column_first=True, padding=(0, 3)))
    differing = {
        key
        for broker in cluster.answered
        for key in broker.ranges.keys() | table.keys()
        if key not in table or broker.ranges.get(key) != table[key].listed
    }
    for key in sorted(differing):
        own = ", ".join(f"{broker.node_id}: {broker.ranges.get(key, 'not listed')}" for broker in cluster.answered)
        differs = VerdictWords("differs", Verdict.INCONCLUSIVE)
        show(console, Sentence((differs, f" {name_of(key)}({key}) on broker {own}")))


def _broker_row(broker: BrokerTable) -> tuple[str | VerdictWords, ...]:
    state = VerdictWords("no answer", Verdict.VIOLATES) if broker.problem else VerdictWords("answers", Verdict.CONFORMS)
    count = "" if broker.problem else str(len(broker.ranges))
    return str(broker.node_id), f"{broker.host}:{broker.port}", broker.rack or "-", count, state


def silent_brokers(cluster: ClusterTables) -> list[Block]:
    """Return the brokers that could not be asked, each with the reason."""
    return [
        Sentence(VerdictWords(f"broker {each.node_id} could not be asked: {each.problem}", Verdict.VIOLATES))
        for each in cluster.silent
    ]


def verdicts_table(verdicts: Sequence[FeatureVerdict]) -> TextTable:
    """Return for each feature whether a shared version or each broker's own supports it, and what is missing."""
    return TextTable(
        columns=("feature", "version shared by all", "each broker's own", "why"),
        rows=tuple(
            (
                each.feature,
                *(VerdictWords(usable.value, _VERDICTS[usable]) for usable in (each.usable, each.usable_per_broker)),
                "; ".join(each.reasons),
            )
            for each in verdicts
        ),
    )


def refused_report(refused: Sequence[RequestChange], own: ClientRequests) -> list[Block]:
    """Return which requests of a client have no version that all brokers support, and of how many that is known."""
    known = counted(len(own.ranges), "request")
    blocks: list[Block] = []
    if refused:
        rows = ((_api(each), _text(each.before), _text(each.after, otherwise="not supported")) for each in refused)
        blocks.append(TextTable(columns=("request", own.client_id, "all brokers"), rows=tuple(rows)))
    else:
        which = "every request" if own.is_complete else "every request that is known"
        blocks.append(Sentence(f"{which} of {own.client_id} ({known}) has a version that all brokers support"))
    if not own.is_complete:
        blocks.append(Sentence(f"the suite has seen {known} of {own.client_id}; whether it sends others is not known"))
    return blocks


def differences(changes: Sequence[RequestChange], first: str, second: str) -> Block:
    """Return how two tables differ."""
    if not changes:
        return Sentence(f"{first} and {second} support the same versions")
    rows = ((_api(each), _text(each.before), _text(each.after), each.words) for each in changes)
    return TextTable(columns=("API", first, second, "change"), rows=tuple(rows))


def _api(change: RequestChange) -> str:
    return f"{name_of(change.api_key)}({change.api_key})"


def _text(support: Support | None, *, otherwise: str = "-") -> str:
    return otherwise if support is None else str(support)
