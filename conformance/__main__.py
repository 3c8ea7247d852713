"""The console script `kafka-conformance`."""

from __future__ import annotations

import click

from conformance.commands.catalogue import clauses, explain, targets
from conformance.commands.grid import grid
from conformance.commands.mutation import mutation
from conformance.commands.pinning import pin_artefacts, record_tables
from reports.run_writer import suite_version


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(suite_version())
def main() -> None:
    """Judge how Kafka brokers keep the ApiVersions handshake.

    Brokers are judged by `pytest conformance/`; `pytest conformance/ --help` lists its options under
    "Kafka conformance".
    """


for command in (targets, clauses, explain, grid, mutation, pin_artefacts, record_tables):
    main.add_command(command)

if __name__ == "__main__":
    main()
