"""The page of each product: its bugs first, then everything that was judged.

Each bug has the text to paste into the product's tracker.

A release that only operations were tried with has a page too, which says so: the clients answer for the operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from markupsafe import Markup, escape

from reference_model.profiles.release_tables import recorded_releases
from reports.client_needs.needs_document import blocks_about, blocks_about_release
from reports.client_needs.needs_json import measured_clients
from reports.document.html_form import html_of
from reports.exports.issues import issue_body, issue_title, reported_of
from reports.grid import addresses
from reports.grid.bugs import Bug, Evidence
from reports.grid.grid_view import (
    NOT_ABOUT_LISTENER,
    FoldedCell,
    FoldedGrid,
    ListenerCell,
    TargetColumn,
)
from reports.grid.products import Product, library_of, owner_of
from reports.records import OPERATION, UNSETTLED_VERDICTS, WORST_FIRST, Verdict
from reports.site.drill_down import in_order, page_of
from reports.site.failure_pages import script_addresses
from reports.site.rendering import Site
from reports.site.upgrade_pages import neighbours_of, releases_in
from reports.tables.cell_rows import GridClause
from reports.tables.run_rows import GridRun
from reports.wording.verdict_labels import counted, verdict_word

_MAX_SHOWN = 24 * 1024
"""A longer text of an issue, with a client's script in it, is shown without the script."""
_MAX_TEXT = 64 * 1024
"""How much of a page the texts of issues may fill; the texts of the bugs after that are only files."""
_MAX_EVIDENCE = 12

Row = tuple[GridClause, FoldedCell, list[ListenerCell | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBug:
    """A bug as its product's page shows it.

    Attributes:
        title: the title of an issue about it.
        text: the body of the issue, without its script if that makes it too long for the page; empty if it is too long
            even so.
        file: the address of the file with title and body, from the site's root.
        size: how many bytes that file has.
        script: the addresses of the files of its script, from the site's root, by name; empty if the text has the
            script, or there is none.
        evidence: address and text of the page of each of its failures.
        reported: status and address of reports that exist already; empty if none is known.
    """

    bug: Bug
    title: str
    text: str
    file: str
    size: int
    script: Mapping[str, str]
    evidence: tuple[tuple[str, str], ...]
    reported: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedOperations:
    """Operations of one client with one release: counts by verdict, and the client's page."""

    client: str
    href: str
    words: str


def write_targets(site: Site) -> None:
    """Write targets/<id>.html for every product, and for every release that operations were tried with."""
    products = {product.id: product for product in site.products}
    for product in products.values():
        _write(site, product.id, product.name, product.column, product)
    for column in site.folded.columns:
        if column.target not in products:
            _write(site, column.target, column.name, column, None)


def _write(site: Site, id_: str, name: str, column: TargetColumn | None, product: Product | None) -> None:
    runs = {run.run_id: run for run in site.folded.grid.runs}
    listeners = tuple(entry.listener for entry in column.listeners) if column else ()
    own = {each.cell.clause: each for each in product.cells} if product else {}
    of_role = site.folded.by_role.get(product.role) if column and product else None
    speed = {(row.target, row.run_id): row for row in site.history.speed or ()}
    first = column.listeners[0] if column else None
    site.render(
        addresses.target_page(id_),
        "target",
        id=id_,
        name=name,
        column=column,
        product=product,
        kept=_kept(product) if product else "",
        library=library_of(product) if product else "",
        upgrades=neighbours_of(id_, releases_in(site)),
        bugs=_shown_bugs(site, product, runs) if product else [],
        listeners=listeners,
        sources=_sources(of_role, listeners, id_) if of_role else [],
        operations=_operations(site, id_) if own else None,
        tried=_tried_with(site, id_),
        needs=_needs_of(id_),
        lacks=_lacks(site, id_),
        runs=[runs[run_id] for run_id in _run_ids(product, first.run_id if first else "") if run_id in runs],
        speed=speed.get((first.target, first.run_id)) if first else None,
        page_of=page_of,
        not_about_listener=NOT_ABOUT_LISTENER,
    )


def _needs_of(client: str) -> Markup:
    """Return what was measured of a client's needs; empty if nothing was."""
    return html_of(
        *(block for each in measured_clients() if each.client == client for block in blocks_about(each)), level=3
    )


def _lacks(site: Site, target: str) -> Markup:
    """Return which measured clients need something that a release lacks.

    It is empty for a target that is no recorded release, or older than the one that clients were measured with.
    """
    releases = {release.target: release for release in recorded_releases()}
    order = [*releases]
    measured = [each for each in measured_clients() if {target, each.release} <= releases.keys()]
    measured = [each for each in measured if order.index(each.release) <= order.index(target)]
    if not measured:
        return Markup()
    root = addresses.root_of(addresses.target_page(target))

    def with_links(text: str, label: str) -> Markup:
        if text not in site.names:
            return escape(text)
        return Markup('<a href="{}{}">{}</a>').format(root, addresses.target_page(text), site.names[text])

    return html_of(*blocks_about_release(measured, releases[target].table()), linked=with_links)


def _run_ids(product: Product | None, newest: str) -> Iterable[str]:
    """Return the runs that judged a product, each once; that of its own role first."""
    rows = (
        listener.row.run_id
        for own in (product.cells if product else ())
        for listener in own.cell.listeners
        if listener.row is not None
    )
    return dict.fromkeys([*([newest] if newest else []), *rows])


def _kept(product: Product) -> str:
    """Return what a product does with all its rules: "103 verdicts: 37 kept, 7 for information, 46 do not apply."."""
    counts = product.counts
    sound = counts.get(Verdict.CONFORMS, 0)
    unsettled = sum(counts.get(each, 0) for each in UNSETTLED_VERDICTS)
    parts = [
        (sound, "kept"),
        (counts.get(Verdict.KNOWN_VIOLATION, 0), "broken as declared"),
        (counts.get(Verdict.UNEXPECTED_PASS, 0), "declared as broken, but kept"),
        (counts.get(Verdict.INFORMATIONAL, 0), "for information"),
        (unsettled, "could not be judged"),
        (counts.get(Verdict.NOT_APPLICABLE, 0), "do not apply"),
    ]
    named = [f"{number} {words}" for number, words in parts if number]
    return f"{counted(sum(counts.values()), 'verdict')}: {', '.join(named)}." if named else ""


def _shown_bugs(site: Site, product: Product, runs: Mapping[str, GridRun]) -> list[ShownBug]:
    shown = []
    left = _MAX_TEXT
    for number, bug in enumerate(product.bugs, start=1):
        each = _shown_bug(site, product, bug, number, runs)
        left -= len(each.text)
        shown.append(each if left >= 0 else replace(each, text=""))
    return shown


def _shown_bug(site: Site, product: Product, bug: Bug, number: int, runs: Mapping[str, GridRun]) -> ShownBug:
    failure = bug.first.failure
    run = runs.get(failure.run_id) if failure else next(iter(runs.values()), None)
    title = issue_title(product, bug)
    body = partial(issue_body, bug, suite=found_by(run), pages=site.folded.grid.pages)
    text = body()
    stem = addresses.target_page(product.id).removesuffix(".html")
    file = f"{stem}-bug-{number}.md"
    content = f"{title}\n\n{text}".encode()
    path = site.out_dir / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    is_long = failure is not None and len(text) > _MAX_SHOWN
    script = script_addresses(failure) if failure is not None and is_long else {}
    shown = body(with_script=False) if script else text
    return ShownBug(
        bug=bug,
        title=title,
        text=shown if len(shown) <= _MAX_SHOWN else "",
        file=file,
        size=len(content),
        script=script,
        evidence=tuple(_evidence(bug))[:_MAX_EVIDENCE],
        reported=reports_of(bug.evidence),
    )


def reports_of(evidence: Iterable[Evidence]) -> str:
    """Return status and address of the reports about some failures that exist already; empty if none is known."""
    notes = (reported_of(each.failure) for each in evidence if each.failure is not None)
    return "; ".join(dict.fromkeys(filter(None, notes)))


def found_by(run: GridRun | None) -> str:
    """Return what found a bug, and when: "kafka-conformance 0.1.0 (034f971) on 2026-11-26, smoke tier"."""
    if run is None:
        return "kafka-conformance"
    commit = f" ({run.suite_commit[:12]})" if run.suite_commit else ""
    day = f"{run.started_at:%Y-%m-%d}"
    return f"kafka-conformance {run.suite_version}{commit} on {day}, {run.judged_by}"


def _evidence(bug: Bug) -> Iterable[tuple[str, str]]:
    """Yield each failure's page, and what distinguishes it: rule, or operation and release, and listener."""
    pages: dict[str, str] = {}
    for evidence in bug.evidence:
        words = (
            f"{evidence.operation} with {evidence.target.name}"
            if evidence.is_operation
            else f"{evidence.clause.clause}, {evidence.listener}"
        )
        pages.setdefault(evidence.page, words)
    seen: Counter[str] = Counter()
    for page, words in pages.items():
        seen[words] += 1
        yield page, words if seen[words] == 1 else f"{words} ({seen[words]})"


def _sources(folded: FoldedGrid, listeners: Sequence[str], target: str) -> list[tuple[str, list[Row]]]:
    """Return the rules of a role by source, each with the target's cell and what each listener has."""
    index = next(at for at, column in enumerate(folded.columns) if column.target == target)
    return [
        (
            source,
            [
                (clause, cell, in_order(cell, listeners))
                for clause in clauses
                for cell in [folded.cells[clause.clause][index]]
            ],
        )
        for source, clauses in folded.sources
    ]


def _operations(
    site: Site, client: str
) -> tuple[Sequence[TargetColumn], list[tuple[GridClause, list[FoldedCell]]]] | None:
    """Return the releases that a client was tried with, and its operations with a cell for each release.

    The result is None if there are none.
    """
    folded = site.folded.by_role.get(OPERATION)
    clauses = [
        clause for clause in (folded.grid.clauses if folded else ()) if owner_of(clause, "", OPERATION) == client
    ]
    if folded is None or not clauses:
        return None
    rows = [folded.cells[clause.clause] for clause in clauses]
    tried = [at for at in range(len(folded.columns)) if any(not row[at].is_blank for row in rows)]
    return (
        [folded.columns[at] for at in tried],
        [(clause, [row[at] for at in tried]) for clause, row in zip(clauses, rows, strict=True)],
    )


def _tried_with(site: Site, release: str) -> list[TriedOperations]:
    """Return the clients whose operations were tried with a release."""
    folded = site.folded.by_role.get(OPERATION)
    if folded is None:
        return []
    index = next((at for at, column in enumerate(folded.columns) if column.target == release), None)
    if index is None:
        return []
    tried = []
    for _, clauses in folded.sources:
        client = owner_of(clauses[0], release, OPERATION)
        cells = [folded.cells[clause.clause][index] for clause in clauses]
        verdicts = [cell.verdict for cell in cells if not cell.is_blank]
        words = [
            f"{verdict_word(each, OPERATION)} {verdicts.count(each)}"
            for each in reversed(WORST_FIRST)
            if each in verdicts and each is not Verdict.NOT_APPLICABLE
        ]
        if words:
            tried.append(
                TriedOperations(
                    client=site.names[client],
                    href=addresses.target_page(client),
                    words=", ".join(words),
                )
            )
    return tried
