"""Plans a nightly run: its targets, its shards and its launchers.

    python -m workflows.night_plan --shards 8

Sets the output `matrix`, the rows of the workflow's job matrix. Targets with an image have to run as containers, so
that an unavailable engine is a failure and does not silently change the launcher. Targets without one (packages, and
the two oldest releases) are judged together in one further row, and so are the clients. The last row tries the
operations of clients with releases.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from conformance.commands.matrix import shard_of
from fixtures.registry.clients import Client, all_clients
from fixtures.registry.targets import Target, load_targets
from reference_model.profiles.profile import APACHE_KAFKA
from reports.command_line.suite_command import SuiteCommand
from workflows.github import write_outputs
from workflows.night_result import of_operations


def nightly_targets(registry: Sequence[Target], also: Sequence[str]) -> list[Target]:
    """Return the targets that have been run before, and those named.

    Raises:
        click.BadParameter: a named target is not in the registry.
    """
    unknown = set(also) - {target.id for target in registry}
    if unknown:
        raise click.BadParameter(f"no target is named {', '.join(sorted(unknown))}")
    return [target for target in registry if not target.not_tried or target.id in also]


def matrix_rows(targets: Sequence[Target], shards: int) -> list[dict[str, str]]:
    """Return one row per job that judges brokers.

    A row has the job's name, its targets, and the options for `kafka-conformance matrix`.

    No row is empty: with fewer targets than shards there are fewer rows. The brokers of clusters are judged by
    themselves.
    """
    targets = [target for target in targets if not target.members]
    containers = [target.id for target in targets if "container" in target.launchers]
    others = [target.id for target in targets if "container" not in target.launchers]
    parts = min(shards, len(containers))
    rows = [
        _row(
            f"containers-{number}-of-{parts}",
            # All targets, not the shard's: `matrix` selects its own shard, as it does outside a workflow.
            containers,
            judged=shard_of(containers, number, parts),
            shard=f"{number}/{parts}",
            launcher="container",
        )
        for number in range(1, parts + 1)
    ]
    return [*rows, _row("packages", others)] if others else rows


def row_of_clients(clients: Sequence[Client]) -> dict[str, str]:
    """Return the row of the job that judges clients, all of them one after the other."""
    return _row("clients", [client.id for client in clients], option="--clients")


def row_of_operations(targets: Sequence[Target]) -> dict[str, str]:
    """Return the row of the job that tries the operations of clients.

    They are tried with clusters and with every release of Apache Kafka that has ApiVersions.
    """
    names = [
        target.id
        for target in targets
        if target.members or (target.implementation == APACHE_KAFKA and target.handshake)
    ]
    judged = [of_operations(name) for name in names]
    return _row("operations", names, judged=judged, launcher="process", option="--operations")


def _row(
    name: str,
    targets: Sequence[str],
    *,
    judged: Sequence[str] | None = None,
    shard: str = "1/1",
    launcher: str = "auto",
    option: str = "",
) -> dict[str, str]:
    return {
        "name": name,
        "targets": " ".join(targets),
        "judged": " ".join(targets if judged is None else judged),
        "shard": shard,
        "launcher": launcher,
        "option": option,
    }


@click.command(cls=SuiteCommand, name="workflows.night_plan")
@click.option("--shards", type=click.IntRange(1, 200), default=8, show_default=True)
@click.option("--also", default="", metavar="IDS", help="targets that have not been tried yet")
def main(shards: int, also: str) -> None:
    """Plan the jobs of a nightly run."""
    targets = nightly_targets(load_targets(), also.split())
    rows = matrix_rows(targets, shards)
    rows += [row_of_clients(all_clients()), row_of_operations(targets)]
    judged = [target for row in rows for target in row["judged"].split()]
    write_outputs(
        {"matrix": json.dumps({"include": rows}), "targets": " ".join(sorted(judged))},
    )


if __name__ == "__main__":
    main()
