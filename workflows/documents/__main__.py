"""Writes every document that follows from code: `python -m workflows.documents`. A test fails if one is out of date."""

from __future__ import annotations

import click

from reports.suite_command import SuiteCommand
from workflows.documents import (
    allowed_outcomes,
    clause_list,
    command_reference,
    records_schema,
    table_schema,
)

DOCUMENTS = (allowed_outcomes, clause_list, command_reference, records_schema, table_schema)


@click.command(cls=SuiteCommand, name="workflows.documents")
def main() -> None:
    """Write the documents that follow from code."""
    for each in DOCUMENTS:
        each.DOCUMENT.write_text(each.document(), encoding="utf-8")


if __name__ == "__main__":
    main()
