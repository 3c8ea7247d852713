"""Addresses of the exports below a grid's folder; they are stable, so that others may link to them."""

from __future__ import annotations

from dataclasses import dataclass

from reports.grid.addresses import file_name

FOLDER = "exports"
FEED = f"{FOLDER}/changes.atom"
JUNIT = f"{FOLDER}/junit.xml"
ALLURE_RESULTS = f"{FOLDER}/allure-results.zip"
VIOLATIONS = f"{FOLDER}/violations.json"
SUMMARY = f"{FOLDER}/summary.md"
TABLE_SCHEMA = f"{FOLDER}/table_schema.json"
BADGE_OF_ALL = f"{FOLDER}/badges/all"
"""Without its suffix: `.json` is the shields.io endpoint, `.svg` the picture; likewise for every other badge."""
FORMS = (("CSV", "csv"), ("JSON", "json"), ("Markdown", "md"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLink:
    """One export of one table: its address from the grid's folder, and the name of its form."""

    table: str
    form: str
    address: str


def table_address(table: str, ending: str) -> str:
    """Return the address of one form of a table."""
    return f"{FOLDER}/{file_name(table)}.{ending}"


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
    return f"{FOLDER}/badges/targets/{file_name(target)}"


def badge_of_source(source: str) -> str:
    """Return the address of a source's badge, without its suffix."""
    return f"{FOLDER}/badges/sources/{file_name(source)}"
