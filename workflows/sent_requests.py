"""Collects which versions of each API clients sent in the grid of operations.

The result is for `api-versions --client`.

    python -m workflows.sent_requests RUNS

RUNS should have complete runs of all releases, because a client chooses its versions by the broker's table. Kafka's own
client is left out: its versions are recorded with its release. Rewrites `upgrade/api_versions/sent_requests.csv`.
"""

from __future__ import annotations

import csv
import struct
from collections.abc import Iterable
from pathlib import Path

import click
import pyarrow.parquet as parquet

from reference_model.profiles.java_requests import JAVA_CLIENT
from reports.command_line.suite_command import SuiteCommand
from reports.records import HEADER_FILE
from reports.run.run_folder import EXCHANGE_FILES
from upgrade.api_versions.client_requests import COLUMNS, FILE, SentRange
from wire.api_keys import API_VERSIONS_KEY
from wire.frames import SIZE_BYTES

_KEY_AND_VERSION = struct.Struct(">hh")


def sent_in(folders: Iterable[Path]) -> list[SentRange]:
    """Return the lowest and highest version of each API that each client sent in these run folders."""
    versions: dict[tuple[str, int], set[int]] = {}
    for folder in folders:
        for file in sorted(folder.glob(EXCHANGE_FILES)):
            table = parquet.read_table(file, columns=["clause", "sent"])
            rows = zip(table["clause"].to_pylist(), table["sent"].to_pylist(), strict=True)
            for row, sent in rows:
                client, _, _ = row.rpartition(".")
                api_key, version = _KEY_AND_VERSION.unpack_from(sent, SIZE_BYTES)
                versions.setdefault((client, api_key), set()).add(version)
    return [
        SentRange(client, api_key, min(seen), max(seen))
        for (client, api_key), seen in sorted(versions.items())
        if api_key != API_VERSIONS_KEY and not client.startswith(JAVA_CLIENT)
    ]


@click.command(cls=SuiteCommand, name="workflows.sent_requests")
@click.argument("runs", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(runs: Path) -> None:
    """Write what clients sent in the operations of RUNS."""
    ranges = sent_in(path.parent for path in sorted(runs.rglob(HEADER_FILE)))
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(ranges)
    click.echo(f"{len(ranges)} ranges of {len({each.client for each in ranges})} clients")


if __name__ == "__main__":
    main()
