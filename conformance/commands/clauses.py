"""`clauses`: lists the catalogue."""

from __future__ import annotations

import click

from clauses.catalogue import catalogue
from conformance.commands.output_console import borderless_table, output_console


@click.command()
def clauses() -> None:
    """List the clauses in the catalogue."""
    table = borderless_table("id", "level", "from version", "statement")
    for clause in catalogue():
        table.add_row(clause.id, clause.level.value, str(clause.applies_to), clause.statement)
    output_console().print(table)
