"""The console script `kafka-conformance`."""

from __future__ import annotations

import click

from conformance.commands.catalogue import clauses, explain, targets
from conformance.commands.changes import changes
from conformance.commands.corpus import corpus
from conformance.commands.diff import diff
from conformance.commands.expectations import expectations
from conformance.commands.grid import grid
from conformance.commands.matrix import matrix
from conformance.commands.mutation import mutation
from conformance.commands.pinning import pin_artefacts, record_tables
from conformance.commands.rejudge import rejudge
from conformance.commands.replay import replay
from conformance.commands.summary import summary
from conformance.commands.verify import verify
from reports.run_writer import suite_version


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(suite_version())
def main() -> None:
    """Judge how Kafka brokers keep the ApiVersions handshake.

    Brokers are judged by `pytest conformance/`; `pytest conformance/ --help` lists its options under
    "Kafka conformance".
    """


COMMANDS = (
    *(targets, clauses, explain),
    *(matrix, grid, verify, changes, mutation),
    *(diff, summary),
    *(replay, rejudge, corpus, expectations),
    *(pin_artefacts, record_tables),
)

for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
