"""Renders templates into the site's folder, autoescaped and with relative paths.

Each template gets the relative path to the root.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import proposals
from clauses.catalogue import REFERENCE, source_url
from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid import addresses
from reports.grid.addresses import ExportLink, links_of
from reports.grid.grid_view import FoldedCell, FoldedGrid, reason_text, role_word, verdict_text
from reports.grid.history_tables import HistoryTables
from reports.grid.product_versions import ProductVersions, versions_of
from reports.grid.products import Product, products_of
from reports.records import OPERATION, Verdict
from reports.tables.cell_rows import GridCell
from reports.wording.verdict_labels import CRASH_KINDS, SYMBOLS, WORDS, counted, request_words, with_doubts

NOT_IN_HTML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that no page may contain, even if a target put them into a text."""
_WEB_ADDRESS = re.compile(r"(https?://[^\s<>\"'()]+)")
_HERE = Path(__file__).parent
MAX_RUNS = 200
"""Maximum number of runs that a page lists; a year of nights has thousands, and the exports have all of them."""
FOLDERS = ("clauses", "targets", "products", "cells", "failures", "upgrade", "nights", "machines")
"""Folders that contain only pages of this site; they are emptied before it is written."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """The data that pages are made from, and the folder that they are written to.

    Attributes:
        folded: the grid, one column per target.
        history: the tables that come from the history.
        out_dir: the site's folder.
        environment: the Jinja environment with the templates.
    """

    folded: FoldedGrid
    history: HistoryTables
    out_dir: Path
    environment: Environment = field(default_factory=lambda: template_environment())

    def render(self, address: str, template: str, **context: Any) -> None:
        """Write one page, with the template of this name without its suffix; the address is from the root."""
        text = self.environment.get_template(f"{template}.html.j2").render(
            address=address,
            root=addresses.root_of(address),
            grid=self.folded.grid,
            pages=self.pages,
            exports_of=self._exports_of,
            versions_page=self.versions_page,
            exists=lambda file: (self.out_dir / file).exists(),
            **context,
        )
        _write_page(self.out_dir / address, text)

    @cached_property
    def pages(self) -> Sequence[tuple[str, str]]:
        """Address and title of each entry of the navigation; a page without data has none."""
        roles = ((addresses.role_page(role), role_word(role)) for role in self.folded.by_role)
        changes = ((addresses.CHANGES, "Changes"),) if self.has_changes else ()
        columns = self.folded.columns
        releases = any(column.implementation == APACHE_KAFKA for column in columns)
        return (
            *(((addresses.UPGRADE, "Upgrade"),) if releases else ()),
            *roles,
            (addresses.RULES, "Rules"),
            *changes,
            (addresses.WHY, "Why believe it"),
        )

    @cached_property
    def products(self) -> Sequence[Product]:
        """Every broker and client with what it answers for."""
        return products_of(self.folded, self.history.failures)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The display name of each product by its id."""
        return {product.id: product.name for product in self.products}

    @cached_property
    def versions(self) -> Sequence[ProductVersions]:
        """Every product that has a page about its versions."""
        return versions_of(self.products)

    def versions_page(self, product: str) -> str:
        """Return the address of the page about all versions of a product; empty if there is none."""
        has_page = any(each.id == product for each in self.versions)
        return addresses.product_page(product) if has_page else ""

    @cached_property
    def has_changes(self) -> bool:
        """Whether a verdict has ever changed."""
        return any(row.from_verdict is not None for row in self.history.transitions or ())

    def why(self, cell: FoldedCell) -> list[str]:
        """Return why a cell has its verdict: its recorded reason, else the messages of its failures."""
        worst = cell.worst
        if worst.reason or worst.row is None:
            return [worst.reason] if worst.reason else []
        return self.seen_in(worst.row)

    def seen_in(self, cell: GridCell) -> list[str]:
        """Return the first line of the message of each failure in a cell, the violations first."""
        kept = (self.messages.get((cell.run_id, failure.signature), "") for failure in cell.failures)
        return [message for message in kept if message]

    @cached_property
    def messages(self) -> Mapping[tuple[str, str], str]:
        """Maps run and signature of a failure to the first line of its message, with the doubts of it."""
        return {(row.run_id, row.signature): with_doubts(row.message) for row in self.history.failures or ()}

    def _exports_of(self, *tables: str) -> list[ExportLink]:
        """Return links to those exports of some tables that exist."""
        return [link for link in links_of(*tables) if (self.out_dir / link.address).exists()]


def template_environment() -> Environment:
    """Return the Jinja environment, with the globals and filters that templates may use."""
    environment = Environment(
        loader=FileSystemLoader([_HERE / "templates", proposals.FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "addresses": addresses,
        "pages": (),
        "reason_text": reason_text,
        "role_word": role_word,
        "verdict_text": verdict_text,
        "CRASH_KINDS": CRASH_KINDS,
        "Verdict": Verdict,
        "SYMBOLS": SYMBOLS,
        "WORDS": WORDS,
    }
    environment.filters["day"] = lambda moment: f"{moment:%Y-%m-%d}"
    environment.filters["minute"] = lambda moment: f"{moment:%Y-%m-%d %H:%M}"
    environment.filters["counted"] = counted
    environment.filters["request_words"] = request_words
    environment.filters["linked"] = linked
    environment.filters["sourced"] = sourced
    environment.filters["with_doubts"] = with_doubts
    return environment


def linked(text: str) -> Markup:
    """Turn the web addresses in a text into links that show their last part; everything else is escaped."""
    pieces = _WEB_ADDRESS.split(text)
    return Markup("").join(
        Markup('<a href="{}" rel="noreferrer">{}</a>').format(piece, piece.rstrip("/").rpartition("/")[2] or piece)
        if index % 2
        else escape(piece)
        for index, piece in enumerate(pieces)
    )


def sourced(location: str) -> Markup:
    """Turn the proposals, issues and guides that a clause's location names into links to their pages."""
    text, start = Markup(""), 0
    for match in REFERENCE.finditer(location):
        text += escape(location[start : match.start()])
        text += Markup('<a href="{}" rel="noreferrer">{}</a>').format(source_url(match[0]), match[0])
        start = match.end()
    return text + escape(location[start:])


def without_links(text: str) -> str:
    """Remove the web addresses from a text: the reasons of two releases may differ only in these."""
    return _WEB_ADDRESS.sub("", text)


def empty_folders(out_dir: Path) -> None:
    """Remove the pages of an earlier rendering, and copy the files that do not depend on the grid."""
    for name in FOLDERS:
        shutil.rmtree(out_dir / name, ignore_errors=True)
    optional = (addresses.CHANGES, addresses.MACHINES)
    for name in (*optional, *map(addresses.role_page, ("broker", "client", OPERATION))):
        (out_dir / name).unlink(missing_ok=True)
    copy_static(out_dir)
    shutil.copyfile(_HERE / addresses.CARD, out_dir / addresses.CARD)


def copy_static(out_dir: Path) -> None:
    """Copy style sheet, script and icon into a folder.

    Raises:
        OSError: a file cannot be written.
    """
    for name in addresses.STATIC:
        shutil.copyfile(_HERE / name, out_dir / name)


def render_alone(out_dir: Path, address: str, template: str, **context: Any) -> None:
    """Write a page that belongs to no grid: it has no navigation. Its address is from the folder of the pages.

    Raises:
        OSError: it cannot be written.
    """
    text = (
        template_environment()
        .get_template(f"{template}.html.j2")
        .render(
            address=address,
            root=addresses.root_of(address),
            pages=(),
            exists=lambda file: False,
            **context,
        )
    )
    _write_page(out_dir / address, text)


def _write_page(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(NOT_IN_HTML.sub("\ufffd", text).encode())
