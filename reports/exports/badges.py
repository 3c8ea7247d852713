"""Badges for the grid, each product and each source.

They are pictures and data for the endpoint of shields.io.

A badge counts broken rules and bugs as every page does. If none is broken, it is about the MUST clauses, like the
grid's sentence.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from clauses.catalogue import Level
from reports.grid.addresses import BADGE_OF_ALL, badge_of_source, badge_of_target
from reports.grid.grid_view import FoldedGrid
from reports.grid.products import BrokenRules, Product
from reports.records import OPERATION, UNEXPECTED_VERDICTS, Verdict
from reports.wording.escaping import cut, one_line, xml_text
from reports.wording.verdict_labels import CRASHES, SYMBOLS, WORDS

_COLOURS = {
    Verdict.VIOLATES: "b3261e",
    Verdict.UNEXPECTED_PASS: "8a4b00",
    Verdict.FLAKY: "8a4b00",
    Verdict.INCONCLUSIVE: "8a4b00",
    Verdict.KNOWN_VIOLATION: "1f5fa8",
    Verdict.CONFORMS: "1a6e3c",
}
"""Dark enough for white text (contrast at least 4.5 to 1); other verdicts have the colour of the label."""
_LABEL_COLOUR = "4a4f55"
_MAX_LABEL = 60
_PADDING = 6
_HEIGHT = 20
_CHARACTER_PX = 7
"""Room for a character of a monospace face at 11 px; `textLength` makes any text as long as its room, in any font."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """The content of a badge; `colour` is six hexadecimal digits."""

    label: str
    message: str
    colour: str
    is_error: bool


def write_badges(folded: FoldedGrid, products: Sequence[Product], out_dir: Path) -> None:
    """Write the badge of the grid, and one per product and per source."""
    for address, badge in _badges(folded, products):
        path = out_dir / address
        path.parent.mkdir(parents=True, exist_ok=True)
        # Append the suffix to the name: `with_suffix` would replace what follows a release's last dot.
        path.with_name(f"{path.name}.json").write_text(_endpoint(badge), encoding="ascii")
        path.with_name(f"{path.name}.svg").write_text(badge_svg(badge), encoding="utf-8")


def _badges(folded: FoldedGrid, products: Sequence[Product]) -> Iterator[tuple[str, Badge]]:
    yield BADGE_OF_ALL, badge_of("Kafka conformance", products)
    for product in products:
        yield badge_of_target(product.id), badge_of(product.name, [product])
    # The "source" of an operation is its client, which has a badge of its own.
    for source, clauses in folded.sources:
        if clauses[0].role != OPERATION:
            yield (
                badge_of_source(source),
                badge_of(source, [only(source, each) for each in products]),
            )


def only(source: str, product: Product) -> Product:
    """Return a product with the cells and bugs about one source of clauses alone."""
    return replace(
        product,
        cells=tuple(own for own in product.cells if own.clause.source == source),
        bugs=tuple(bug for bug in product.bugs if any(each.source == source for each in bug.clauses)),
    )


def badge_of(label: str, products: Sequence[Product]) -> Badge:
    """Return a badge with what products break, or with their gravest MUST verdict.

    If there is neither, the badge says that all conform.
    """
    broken = BrokenRules.of(products)
    must = [own for product in products for own in product.cells if own.clause.level == Level.MUST]
    counts = Counter(own.cell.verdict for own in must)
    worst = next((verdict for verdict in UNEXPECTED_VERDICTS if counts[verdict]), None)
    if broken.must or (broken and worst is None):
        word = f"{CRASHES}, " if broken.crashes else ""
        verdict = Verdict.VIOLATES if broken.must else Verdict.FLAKY
        return _badge(label, f"{SYMBOLS[Verdict.VIOLATES]} {word}{broken}", verdict)
    if worst is None:
        return _harmless_badge(label, counts)
    message = f"{SYMBOLS[worst]} {WORDS[worst]} {counts[worst]}"
    return _badge(label, message, worst)


def _harmless_badge(label: str, counts: Counter[Verdict]) -> Badge:
    known = counts[Verdict.KNOWN_VIOLATION]
    kept = counts[Verdict.CONFORMS] + counts[Verdict.INFORMATIONAL]
    if known:
        message = f"{SYMBOLS[Verdict.CONFORMS]} {kept}, {SYMBOLS[Verdict.KNOWN_VIOLATION]} known {known}"
        return _badge(label, message, Verdict.KNOWN_VIOLATION)
    verdict = Verdict.CONFORMS if kept else Verdict.NOT_APPLICABLE
    number = f" {kept}" if kept else ""
    return _badge(label, f"{SYMBOLS[verdict]} {WORDS[verdict]}{number}", verdict)


def _badge(label: str, message: str, verdict: Verdict) -> Badge:
    return Badge(
        label=cut(one_line(label), _MAX_LABEL),
        message=message,
        colour=_COLOURS.get(verdict, _LABEL_COLOUR),
        is_error=verdict in (Verdict.VIOLATES, Verdict.UNEXPECTED_PASS),
    )


def _endpoint(badge: Badge) -> str:
    document = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.colour,
        "labelColor": _LABEL_COLOUR,
        "isError": badge.is_error,
    }
    return json.dumps(document) + "\n"


def badge_svg(badge: Badge) -> str:
    """Return a badge as SVG; its title repeats its text."""
    texts = [xml_text(badge.label), xml_text(badge.message)]
    widths = [len(text) * _CHARACTER_PX for text in texts]
    left, right = (width + 2 * _PADDING for width in widths)
    title = f"{texts[0]}: {texts[1]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img"'
        f" aria-label={quoteattr(title)}>\n"
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{left}" height="{_HEIGHT}" fill="#{_LABEL_COLOUR}"/>\n'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="#{badge.colour}"/>\n'
        '<g fill="#fff" font-family="Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="11">\n'
        f"{_svg_text(texts[0], _PADDING, widths[0])}{_svg_text(texts[1], left + _PADDING, widths[1])}"
        "</g>\n</svg>\n"
    )


def _svg_text(text: str, x: int, width: int) -> str:
    return f'<text x="{x}" y="14" textLength="{width}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>\n'
