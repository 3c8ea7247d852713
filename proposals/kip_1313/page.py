"""The page about KIP-1313: what its header would break, measured on releases.

`kafka-conformance discovery` records the figures (`discovery.csv`); they do not come from the runs of this grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clauses.catalogue import Clause, catalogue
from proposals import ProposalPage
from reports.exports.writing import write_tables
from reports.repeats import wilson_interval
from reports.site.advertised_page import exported_table, rows_in
from reports.site.rendering import Site

DISCOVERY = "discovery"
SOURCE = "KIP-1313"
COLUMNS: Mapping[str, Mapping[str, type]] = {
    DISCOVERY: {
        **{"release": str, "quorum": str, "newest": int},
        **{"with_header_2": int, "answered_with_header_2": int},
        **{"with_header_3": int, "answered_with_header_3": int, "predicted": int},
        **{"offset_delete": str, "get_telemetry_subscriptions": str, "push_telemetry": str},
    }
}
"""The types of the columns of the recorded table."""
RECORDED = Path(__file__).with_name(f"{DISCOVERY}.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryRow:
    """The figures of one release, as the page shows them.

    Attributes:
        title: the release, and how its quorum works.
        newest: its newest version of ApiVersions.
        with_header_2: how many requests with header v2 were answered, of how many.
        with_header_3: the same of header v3.
        rate: the rate of the latter in percent, with its 95 % interval.
        predicted: of how many of them the reference model predicts the outcome.
        others: what became of OffsetDelete v1 and of telemetry v1.
    """

    title: str
    newest: int
    with_header_2: str
    with_header_3: str
    rate: str
    predicted: str
    others: str


def _write(site: Site) -> None:
    """Write proposal.html, and export the recorded figures unchanged."""
    content = RECORDED.read_bytes()
    write_tables([exported_table(DISCOVERY, content, COLUMNS[DISCOVERY])], site.out_dir)
    site.render(
        PAGE.address,
        "kip_1313/page",
        rows=[_row(each) for each in reversed(rows_in(content))],
        proposed=[clause for clause in catalogue() if clause.source == SOURCE],
        roles_of=_roles_of,
    )


def _row(figures: Mapping[str, str]) -> DiscoveryRow:
    sent, answered = int(figures["with_header_3"]), int(figures["answered_with_header_3"])
    low, high = wilson_interval(answered, sent)
    others = (
        figures["offset_delete"],
        figures["get_telemetry_subscriptions"],
        figures["push_telemetry"],
    )
    return DiscoveryRow(
        title=f"{figures['release']} {figures['quorum']}",
        newest=int(figures["newest"]),
        with_header_2=f"{figures['answered_with_header_2']} of {figures['with_header_2']}",
        with_header_3=f"{answered:,} of {sent:,}",
        rate=f"{answered / sent:.2%} ({low:.2%} to {high:.2%})",
        predicted=f"{int(figures['predicted']):,} of {sent:,}",
        others=", ".join(dict.fromkeys(others)),
    )


def _roles_of(clause: Clause) -> str:
    return ", ".join(role.value for role in clause.roles)


PAGE = ProposalPage(
    address="proposal.html", about="what its new request header would break", write=_write, tables=COLUMNS
)
"""The page, as the registry of proposals wants it."""
