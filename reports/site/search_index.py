"""What the search box of every page finds: products, upgrades, rules and failures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from reports.grid import addresses
from reports.records import OPERATION
from reports.site.rendering import NOT_IN_HTML, Site
from reports.site.upgrade_pages import releases_in

_MAX_MESSAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """Something that can be found: its title, what else leads to it, and its page."""

    title: str
    words: str
    href: str


def entries_of(site: Site) -> Iterator[SearchEntry]:
    """Yield what can be found: products and upgrades first, then rules and operations, then failures."""
    for product in site.products:
        page = addresses.target_page(product.id)
        yield SearchEntry(title=product.name, words=f"{product.role} {product.id}", href=page)
    for versions in site.versions:
        page = addresses.product_page(versions.id)
        carried = " librdkafka" if any(versions.carries) else ""
        yield SearchEntry(title=f"{versions.name}, all versions", words=f"bugs{carried}", href=page)
    for old, new in combinations(releases_in(site), 2):
        if old.can_become(new):
            page = addresses.upgrade_page(old.short, new.short)
            yield SearchEntry(title=f"{old.title} → {new.title}", words="upgrade", href=page)
    if site.history.machines:
        yield SearchEntry(
            title="Machines of connections",
            words="machine learned states",
            href=addresses.MACHINES,
        )
    for clause in site.folded.grid.clauses:
        page = addresses.clause_page(clause.clause)
        title = clause.title
        if clause.role == OPERATION:
            title = f"{clause.source}: {title}"
        yield SearchEntry(title=title, words=clause.clause, href=page)
    seen = set()
    for failure in site.history.failures or ():
        if failure.signature not in seen:
            seen.add(failure.signature)
            message = failure.message.partition("\n")[0][:_MAX_MESSAGE]
            yield SearchEntry(
                title=f"{site.names.get(failure.target, failure.target)}: {message}",
                words=failure.clause,
                href=addresses.failure_page(failure.signature),
            )


def write_search(site: Site) -> None:
    """Write search.js: `found` is called with the entries, each a list of title, words and address."""
    rows = [[each.title, each.words, each.href] for each in entries_of(site)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = NOT_IN_HTML.sub("\ufffd", f"window.searchEntries = [\n{lines}\n];\n")
    (site.out_dir / addresses.SEARCH).write_bytes(text.encode())
