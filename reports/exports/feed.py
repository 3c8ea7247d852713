"""Changes of verdicts as an Atom feed (RFC 4287).

It has one entry per clause, target and change, for all listeners.

An entry's id depends only on the change and its run, so a feed that is written again has the same entries. Times are
those of the runs. A target that appears has one entry, not one per clause.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from reports.command_line.distribution import DISTRIBUTION
from reports.grid import addresses
from reports.grid.addresses import FEED
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import FoldedGrid, verdict_text
from reports.tables.history_rows import Transition
from reports.wording.escaping import one_line, xml_text

ATOM = "http://www.w3.org/2005/Atom"
MAX_ENTRIES = 200
_APPEARED = "appeared"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:kafka-conformance:changes")
_TITLES = {
    "regressed": "Regressed",
    "newly_flaky": "Newly flaky",
    "fixed": "Fixed",
    "changed": "Changed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One entry of the feed; `address` is that of a page, from the root of the site."""

    id: str
    at: datetime
    title: str
    text: str
    address: str
    category: str


def write_feed(
    folded: FoldedGrid,
    summary: GridSummary,
    transitions: Sequence[Transition],
    out_dir: Path,
    *,
    pages: str,
) -> None:
    """Write the feed of the newest changes; `pages` is the prefix of the addresses of the site's pages."""
    entries = sorted(_entries(folded, transitions), key=lambda entry: (entry.at, entry.id))
    newest = entries[: -MAX_ENTRIES - 1 : -1]
    root = _feed(folded, summary, newest, pages)
    ET.indent(root, space="")
    # ElementTree registers prefixes for the entire process; unprefixed names are equivalent here.
    text = ET.tostring(root, encoding="unicode")
    path = out_dir / FEED
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n', encoding="utf-8")


def _feed(folded: FoldedGrid, summary: GridSummary, entries: Sequence[FeedEntry], pages: str) -> ET.Element:
    root = ET.Element("feed", {"xmlns": ATOM, "xml:lang": "en"})
    _add(root, "id", uuid.uuid5(_NAMESPACE, "feed").urn)
    _add(root, "title", "Kafka conformance: changes")
    _add(root, "subtitle", summary.sentence)
    _add(root, "updated", _instant(_updated(folded, entries)))
    _add(_add(root, "author"), "name", DISTRIBUTION)
    _add(root, "generator", DISTRIBUTION)
    _add(root, "link", rel="self", type="application/atom+xml", href=f"{pages}{FEED}")
    _add(root, "link", rel="alternate", type="text/html", href=f"{pages}{addresses.HOME}")
    for entry in entries:
        element = _add(root, "entry")
        _add(element, "id", entry.id)
        _add(element, "title", entry.title, type="text")
        _add(element, "updated", _instant(entry.at))
        _add(element, "published", _instant(entry.at))
        _add(element, "link", rel="alternate", type="text/html", href=f"{pages}{entry.address}")
        _add(element, "category", term=entry.category)
        _add(element, "content", entry.text, type="text")
    return root


def _add(parent: ET.Element, tag: str, text: str = "", **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, {name: xml_text(value) for name, value in attributes.items()})
    element.text = xml_text(text) or None
    return element


def _updated(folded: FoldedGrid, entries: Sequence[FeedEntry]) -> datetime:
    """Return the time of the newest entry, or of the newest run if nothing changed."""
    times = [entry.at for entry in entries] or [run.started_at for run in folded.grid.runs]
    return max(times, default=datetime.fromtimestamp(0, UTC))


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _entries(folded: FoldedGrid, transitions: Iterable[Transition]) -> Iterable[FeedEntry]:
    grouped: dict[tuple[str, ...], list[Transition]] = {}
    for row in transitions:
        before = row.from_verdict.value if row.from_verdict else ""
        what = ("", "", "") if row.kind == _APPEARED else (row.clause, before, row.to_verdict.value)
        grouped.setdefault((row.run_id, row.kind, row.target, *what), []).append(row)
    names = {column.target: column.name for column in folded.columns}
    statements = {clause.clause: clause.statement for clause in folded.grid.clauses}
    for key, rows in grouped.items():
        name = names.get(rows[0].target, rows[0].target)
        id_ = uuid.uuid5(_NAMESPACE, "\0".join(key)).urn
        if rows[0].kind == _APPEARED:
            yield _appeared(id_, name, rows, is_shown=rows[0].target in names)
        else:
            yield _changed(id_, name, statements.get(rows[0].clause, ""), rows)


def _appeared(id_: str, name: str, rows: Sequence[Transition], *, is_shown: bool) -> FeedEntry:
    target = rows[0].target
    cells = "1 cell appears" if len(rows) == 1 else f"{len(rows)} cells appear"
    return FeedEntry(
        id=id_,
        at=rows[0].at,
        title=one_line(f"New: {cells} on {name}"),
        text=one_line(f"{cells} on {name}, in run {rows[0].run_id}."),
        address=addresses.target_page(target) if is_shown else addresses.HOME,
        category=_APPEARED,
    )


def _changed(id_: str, name: str, statement: str, rows: Sequence[Transition]) -> FeedEntry:
    row = rows[0]
    before = verdict_text(row.from_verdict) if row.from_verdict else ""
    listeners = ", ".join(sorted(each.listener for each in rows))
    kind = _TITLES.get(row.kind, row.kind)
    return FeedEntry(
        id=id_,
        at=row.at,
        title=one_line(f"{kind}: {row.clause} on {name}"),
        text=one_line(
            f"{before} became {verdict_text(row.to_verdict)} on {listeners}, in run {row.run_id}. "
            f"The clause: {statement}"
        ),
        address=addresses.clause_cell(row.clause, row.target) if statement else addresses.HOME,
        category=row.kind,
    )
