"""Writes every document that follows from code, and the project's address.

Run `python -m workflows.documents`; the address goes into all documents. A test fails if a document is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click

from reports.command_line.suite_command import SuiteCommand
from workflows.documents.command_contract import command_contract
from workflows.documents.project_address import addressed_documents, project_repository, with_address
from workflows.documents.records_schema import records_schema
from workflows.documents.reference_lists import allowed_outcomes, clause_list, command_reference
from workflows.documents.specification import specification
from workflows.documents.table_json_schema import table_schema
from workflows.documents.upgrade_pages import upgrade_pages

DOCUMENTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "docs/allowed-outcomes.md": allowed_outcomes,
    "docs/clauses.md": clause_list,
    "docs/commands.md": command_reference,
    "docs/operations-of-any-client.md": command_contract,
    "docs/records-schema.md": records_schema,
    "docs/specification.md": specification,
    "reports/exports/table_schema.json": table_schema,
    **upgrade_pages(),
}
"""What yields the parts of each document, which are joined by line ends."""
REPOSITORY = Path(__file__).parents[2]


def document(name: str) -> str:
    """Return a complete document."""
    return "\n".join(DOCUMENTS[name]())


@click.command(cls=SuiteCommand, name="workflows.documents")
def main() -> None:
    """Write the documents that follow from code."""
    for name in DOCUMENTS:
        (REPOSITORY / name).write_text(document(name), encoding="utf-8")
    for path in addressed_documents():
        text = path.read_text(encoding="utf-8")
        path.write_text(with_address(text, project_repository()), encoding="utf-8")


if __name__ == "__main__":
    main()
