"""Addresses of pages and exports below a grid's folder.

They are stable and safe, whatever characters a target or a run puts into a name.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import date
from urllib.parse import quote

HOME = "index.html"
UPGRADE = "upgrade.html"
RULES = "rules.html"
CHANGES = "changes.html"
WHY = "why.html"
MACHINES = "machines.html"
STYLE_SHEET = "site.css"
SCRIPT = "site.js"
ICON = "icon.svg"
STATIC = (STYLE_SHEET, SCRIPT, ICON)
"""Files that are copied next to the pages."""
CARD = "card.png"
"""The picture of the site that a link to it shows elsewhere."""
SEARCH = "search.js"
EXPORTS = "exports"
FEED = f"{EXPORTS}/changes.atom"
JUNIT = f"{EXPORTS}/junit.xml"
VIOLATIONS = f"{EXPORTS}/violations.json"
SUMMARY = f"{EXPORTS}/summary.md"
TABLE_SCHEMA = f"{EXPORTS}/table_schema.json"
BADGE_OF_ALL = f"{EXPORTS}/badges/all"
"""Without its suffix: `.json` is the shields.io endpoint, `.svg` the picture; likewise for every other badge."""
FORMS = (("CSV", "csv"), ("JSON", "json"), ("Markdown", "md"))
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}")
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")
_DIGITS = 8


PICTURES = "machine-pictures"
"""The folder of the pictures of machines, which are drawn before the pages are written."""


def file_name(text: str) -> str:
    """Turn any text into a file name: the text itself if safe everywhere, else its safe characters and a hash."""
    if _SAFE.fullmatch(text) and not text.endswith("."):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_UNSAFE_CHARACTERS.sub('-', text).strip('-')[:80]}-{digest}".lstrip("-")


def anchor(text: str) -> str:
    """Turn any text into an id that needs no quoting in an address."""
    return file_name(text)


def role_page(role: str) -> str:
    """Return the address of the grid of a role: "brokers.html"."""
    return f"{role}s.html"


def clause_page(clause: str) -> str:
    """Return the address of a clause's page, from the site's root."""
    return f"clauses/{file_name(clause)}.html"


def clause_cell(clause: str, target: str, listener: str = "") -> str:
    """Return the address of a cell on its clause's page; without a listener, that of the target's row."""
    return f"{clause_page(clause)}#{cell_anchor(target, listener)}"


def cell_anchor(target: str, listener: str = "") -> str:
    """Return the id of a cell on its clause's page."""
    return anchor(f"{target}-{listener}" if listener else target)


def target_page(target: str) -> str:
    """Return the address of a target's page."""
    return f"targets/{file_name(target)}.html"


def product_page(product: str) -> str:
    """Return the address of the page about all versions of a product."""
    return f"products/{file_name(product)}.html"


def night_file(day: date) -> str:
    """Return the address of the verdicts at the end of one day."""
    return f"nights/{day}/grid.json"


def cell_page(clause: str, target: str, listener: str) -> str:
    """Return the address of the page of a cell that does not plainly conform."""
    return f"cells/{file_name(clause)}/{file_name(f'{target}-{listener}')}.html"


def failure_page(signature: str) -> str:
    """Return the address of a failure's page."""
    return f"failures/{file_name(signature)}.html"


def failure_file(signature: str, name: str) -> str:
    """Return the address of one file of a failure, from the site's root."""
    return f"failures/{file_name(signature)}/{quote(name)}"


def upgrade_page(before: str, after: str) -> str:
    """Return the address of the page about two releases, given their short names: "2.3.1", "3.9.2-zookeeper"."""
    return f"upgrade/{file_name(f'{before}-{after}')}.html"


def machine_page(target: str) -> str:
    """Return the address of the page with the machines of a target."""
    return f"machines/{file_name(target)}.html"


def machine_picture(name: str) -> str:
    """Return the address of the picture of a machine."""
    return f"{PICTURES}/{file_name(name)}.svg"


def root_of(address: str) -> str:
    """Return the relative path from a page to the site's root: "" or "../" as often as needed."""
    return "../" * address.count("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLink:
    """One export of one table: its address from the grid's folder, and the name of its form."""

    table: str
    form: str
    address: str


def table_address(table: str, ending: str) -> str:
    """Return the address of one form of a table."""
    return f"{EXPORTS}/{file_name(table)}.{ending}"


def links_of(*tables: str) -> tuple[ExportLink, ...]:
    """Return the links to show next to some tables: each table in every form.

    Args:
        *tables: names of tables, as in the roll-up's folder; `grid` is the complete grid.
    """
    return tuple(
        ExportLink(
            table=table,
            form=form,
            address=f"grid.{ending}" if table == "grid" else table_address(table, ending),
        )
        for table in tables
        for form, ending in FORMS
    )


def badge_of_target(target: str) -> str:
    """Return the address of a target's badge, without its suffix."""
    return f"{EXPORTS}/badges/targets/{file_name(target)}"


def badge_of_source(source: str) -> str:
    """Return the address of a source's badge, without its suffix."""
    return f"{EXPORTS}/badges/sources/{file_name(source)}"
