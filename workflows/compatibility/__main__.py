"""Writes docs/COMPATIBILITY.md, its data and docs/findings from a grid.

    python -m workflows.compatibility [GRID] --out docs

The grid is the folder that `kafka-conformance grid` wrote, with its tables. Files of findings that are no longer found
are removed; a finding that was known before keeps its folder. A grid without brokers, clients or operations leaves what
was published of them. Without a grid, what follows from the stored data is written again.
"""

from __future__ import annotations

from pathlib import Path

import click

from reports.command_line.suite_command import SuiteCommand
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_table
from workflows.compatibility.client_tables import CLIENTS_DOCUMENT, clients_document
from workflows.compatibility.collecting import collect
from workflows.compatibility.data import DATA_FILE, Compatibility, read_data, write_data
from workflows.compatibility.document import DOCUMENT, FINDINGS, document
from workflows.compatibility.finding_files import write_findings, write_pages
from workflows.compatibility.names import read_names
from workflows.oldest_versions.results import read_found


def write_documents(grid: Path, out: Path, project: str = "") -> Compatibility:
    """Write the document, its data and the folder of findings; return the data.

    Args:
        grid: the folder of a grid, with its tables.
        out: the folder of documents.
        project: the address of this project's repository, to which texts of findings link; empty if it is not
            published.
    """
    failures = read_history_table(grid, "failures") or ()
    findings = out / FINDINGS
    before = read_data(out / DATA_FILE) if (out / DATA_FILE).exists() else None
    collected = collect(FoldedGrid(read_grid(grid)), failures, project, read_names(findings), before)
    out.mkdir(parents=True, exist_ok=True)
    write_data(collected.data, out / DATA_FILE)
    write_findings(collected, findings)
    return write_texts(out)


def write_texts(out: Path) -> Compatibility:
    """Write what follows from the stored data: the document, and the texts and scripts of the findings."""
    data = read_data(out / DATA_FILE)
    (out / DOCUMENT).write_text(document(data, read_found(out)), encoding="utf-8")
    (out / CLIENTS_DOCUMENT).write_text(clients_document(data), encoding="utf-8")
    write_pages(data, out / FINDINGS)
    return data


@click.command(cls=SuiteCommand, name="workflows.compatibility")
@click.argument("grid", required=False, type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--project",
    default="",
    metavar="URL",
    help="address of this project's repository, to which texts of findings link; default: links stay relative",
)
def main(grid: Path | None, out: Path, project: str) -> None:
    """Write the document, its data and the folder of findings."""
    data = write_texts(out) if grid is None else write_documents(grid, out, project)
    click.echo(f"{len(data.findings)} findings: {out / DOCUMENT}")


if __name__ == "__main__":
    main()
