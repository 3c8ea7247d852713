"""The table of findings and vectors, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.document.blocks import (
    Block,
    BulletList,
    CellLines,
    Code,
    Document,
    Hyperlink,
    ListItem,
    Piece,
    Section,
    Sentence,
    TableCell,
    Text,
    TextTable,
)
from workflows.compatibility.document import FINDINGS
from workflows.findings_by_vector.rows import FindingRow, FindingState

DOCUMENT = "findings-by-vector.md"
TITLE = "Which vectors show which findings"
MAX_VECTORS = 2
"""How many vectors of a finding are named; more are counted."""
ONLY_BY_PROPERTY = "only by replay"
WITHOUT_A_VECTOR = {
    FindingState.MISSING: "Their bytes can be vectors, and are none yet: make them some by workflows.vectors --add FOLDER",
    FindingState.PASSED: "The vector with their bytes did not fail when it was tried: they depend on time or chance.",
    FindingState.NOT_TRIED: "They were not tried yet; the plays of those of clients are in the set all the same.",
}
"""The sentence for findings whose state has no reason of its own."""


def document_of(rows: Sequence[FindingRow]) -> Document:
    """Return the table, and the findings that no vector shows with the reasons."""
    shown = [row for row in rows if row.state is FindingState.SHOWN]
    return Document(
        title=TITLE,
        blocks=(
            Sentence(
                (
                    "For authors of tests: what ",
                    Hyperlink("the vectors", "../vectors/README.md"),
                    " alone find of the defects in ",
                    Hyperlink("COMPATIBILITY.md", "COMPATIBILITY.md"),
                    f". {counts_of(rows)}.",
                )
            ),
            Sentence(
                (
                    "A vector shows a finding if it fails with the product: with its own bytes, or about a clause that no other "
                    "finding of the product breaks. Brokers were judged as by ",
                    Code("kafka-conformance vectors run"),
                    ", clients by the player in ",
                    Code("vectors/examples/go_player"),
                    f"; “{ONLY_BY_PROPERTY}” if only ",
                    Code("kafka-conformance replay ID"),
                    " sees it, which judges by the play's own property.",
                )
            ),
            TextTable(
                columns=("finding", "product", "vectors that fail"),
                rows=tuple(map(_shown_row, shown)),
                caption="Findings that vectors show",
            ),
            *_without_vectors(rows),
            Sentence(("Made by ", Code("python -m workflows.findings_by_vector '*' --out docs"))),
        ),
    )


def counts_of(rows: Sequence[FindingRow]) -> str:
    """Return how many findings there are, and how many in each state."""
    states = [row.state for row in rows]
    counts = [f"{states.count(state)} {state}" for state in FindingState if state in states]
    return f"{len(rows)} findings: {', '.join(counts)}"


def _shown_row(row: FindingRow) -> tuple[TableCell, ...]:
    lines: list[Text] = [Code(each) for each in row.vectors[:MAX_VECTORS]]
    if len(row.vectors) > MAX_VECTORS:
        lines.append(f"and {len(row.vectors) - MAX_VECTORS} more")
    if row.by_property:
        lines.append(ONLY_BY_PROPERTY)
    return _link(row), row.finding.target, CellLines(tuple(lines))


def _link(row: FindingRow) -> Hyperlink:
    return Hyperlink(row.finding.id, f"{FINDINGS}/{row.finding.id}")


def _without_vectors(rows: Sequence[FindingRow]) -> Iterator[Block]:
    by_reason: dict[tuple[FindingState, str], list[FindingRow]] = {}
    for row in rows:
        if row.state is not FindingState.SHOWN:
            by_reason.setdefault((row.state, row.why or WITHOUT_A_VECTOR[row.state]), []).append(row)
    for state in FindingState:
        own = {why: found for (other, why), found in by_reason.items() if other is state}
        if own:
            blocks = [block for why, found in own.items() for block in _reason(why, found)]
            yield Section(title=f"{state[0].upper()}{state[1:]}", blocks=tuple(blocks))


def _reason(why: str, rows: Sequence[FindingRow]) -> Iterator[Block]:
    yield Sentence(f"{why[0].upper()}{why[1:].rstrip('.')}:")
    by_product: dict[str, list[Hyperlink]] = {}
    for row in rows:
        by_product.setdefault(row.finding.target, []).append(_link(row))
    yield BulletList(tuple(ListItem((f"{id_}: ", *_separated(links))) for id_, links in by_product.items()))


def _separated(links: Sequence[Hyperlink]) -> Iterator[Piece]:
    for number, link in enumerate(links):
        yield from (", ", link) if number else (link,)
