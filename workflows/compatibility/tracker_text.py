"""Prints the text of an issue about a finding, with its bytes.

python -m workflows.compatibility.tracker_text docs/findings/PRODUCT/FINDING
"""

from __future__ import annotations

from pathlib import Path

import click

from reports.command_line.suite_command import CannotWork, SuiteCommand
from workflows.compatibility.data import DATA_FILE, read_data
from workflows.compatibility.finding_files import read_facts
from workflows.compatibility.finding_texts import tracker_text


@click.command(cls=SuiteCommand, name="workflows.compatibility.tracker_text")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True))
def main(folder: Path) -> None:
    """Print the text of an issue about the finding in a folder."""
    product = folder.parent
    data_file = product.parents[1] / DATA_FILE
    if not data_file.exists():
        raise CannotWork(f"{folder} is no finding: there is no {data_file}")
    data = read_data(data_file)
    finding = next((known for known in data.findings if known.id == f"{product.name}/{folder.name}"), None)
    if finding is None:
        raise CannotWork(f"{folder} is no finding of {data_file}")
    click.echo(tracker_text(data, finding, read_facts(folder)))


if __name__ == "__main__":
    main()
