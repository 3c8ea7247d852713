"""Badges for the grid, each target and each source, as pictures and for shields.io's endpoint.

Like the grid's sentence, a badge covers only MUST clauses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from reports.escaping import one_line, xml_text
from reports.exports.links import BADGE_OF_ALL, badge_of_source, badge_of_target
from reports.grid.grid_view import FoldedCell, FoldedGrid
from reports.records import UNEXPECTED_VERDICTS, Verdict
from reports.verdict_labels import SYMBOLS, WORDS

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
_LONGEST = 60
_PADDING = 6
_HEIGHT = 20
# Advance widths of a sans-serif face at 11 px, by class of character. The picture states the width of each text
# (`textLength`), so that it fits in any font; this only keeps letters from being squeezed or stretched.
_NARROW, _WIDE = "fijlrtI.,:;!'|()[] ", "mwMW%@"
_NARROW_PX, _LOWER_PX, _UPPER_PX, _WIDE_PX, _EAST_ASIAN_PX = 4.2, 6.8, 7.6, 10.2, 11.0
_FIRST_EAST_ASIAN = "\u1100"


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """The content of a badge; `colour` is six hexadecimal digits."""

    label: str
    message: str
    colour: str
    is_error: bool


def write_badges(folded: FoldedGrid, out_dir: Path) -> None:
    """Write the badge of the grid, and one per target and per source."""
    for address, badge in _badges(folded):
        path = out_dir / address
        path.parent.mkdir(parents=True, exist_ok=True)
        # Append the suffix to the name: `with_suffix` would replace what follows a release's last dot.
        path.with_name(f"{path.name}.json").write_text(_endpoint(badge), encoding="ascii")
        path.with_name(f"{path.name}.svg").write_text(badge_svg(badge), encoding="utf-8")


def _badges(folded: FoldedGrid) -> Iterator[tuple[str, Badge]]:
    must = folded.grid.must_clauses
    binding = {clause: cells for clause, cells in folded.cells.items() if clause in must}
    everything = [cell for cells in binding.values() for cell in cells]
    yield BADGE_OF_ALL, badge_of("Kafka conformance", everything)
    for place, column in enumerate(folded.columns):
        cells = [row[place] for row in binding.values()]
        yield badge_of_target(column.target), badge_of(column.name, cells)
    for source, clauses in folded.sources:
        cells = [cell for clause in clauses for cell in binding.get(clause.clause, ())]
        yield badge_of_source(source), badge_of(source, cells)


def badge_of(label: str, cells: Iterable[FoldedCell]) -> Badge:
    """Return a badge with the gravest verdict of some cells and its count, or that all of them conform."""
    counts = Counter(cell.verdict for cell in cells)
    worst = next((verdict for verdict in UNEXPECTED_VERDICTS if counts[verdict]), None)
    if worst is None:
        return _harmless_badge(label, counts)
    message = f"{SYMBOLS[worst]} {WORDS[worst]} {counts[worst]}"
    return _badge(label, message, worst)


def _harmless_badge(label: str, counts: Counter[Verdict]) -> Badge:
    known = counts[Verdict.KNOWN_VIOLATION]
    kept = counts[Verdict.CONFORMS] + counts[Verdict.INFORMATIONAL]
    if known:
        message = (
            f"{SYMBOLS[Verdict.CONFORMS]} {kept}, {SYMBOLS[Verdict.KNOWN_VIOLATION]} known {known}"
        )
        return _badge(label, message, Verdict.KNOWN_VIOLATION)
    verdict = Verdict.CONFORMS if kept else Verdict.NOT_APPLICABLE
    number = f" {kept}" if kept else ""
    return _badge(label, f"{SYMBOLS[verdict]} {WORDS[verdict]}{number}", verdict)


def _badge(label: str, message: str, verdict: Verdict) -> Badge:
    shown = one_line(label)
    return Badge(
        label=shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…",
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


def text_width_px(text: str) -> float:
    """Estimate the width of a text on a badge."""
    return sum(_character_px(character) for character in text)


def _character_px(character: str) -> float:
    if character in _NARROW:
        return _NARROW_PX
    if character in _WIDE:
        return _WIDE_PX
    if character >= _FIRST_EAST_ASIAN:
        return _EAST_ASIAN_PX
    return _UPPER_PX if character.isupper() else _LOWER_PX


def badge_svg(badge: Badge) -> str:
    """Return a badge as SVG; its title repeats its text."""
    texts = [xml_text(badge.label), xml_text(badge.message)]
    widths = [round(text_width_px(text)) for text in texts]
    left, right = (width + 2 * _PADDING for width in widths)
    title = f"{texts[0]}: {texts[1]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img"'
        f" aria-label={quoteattr(title)}>\n"
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{left}" height="{_HEIGHT}" fill="#{_LABEL_COLOUR}"/>\n'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="#{badge.colour}"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">\n'
        f"{_svg_text(texts[0], _PADDING, widths[0])}{_svg_text(texts[1], left + _PADDING, widths[1])}"
        "</g>\n</svg>\n"
    )


def _svg_text(text: str, x: int, width: int) -> str:
    return f'<text x="{x}" y="14" textLength="{width}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>\n'
