"""`api-versions`: what every broker of a cluster supports."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from conformance.commands.errors import CouldNotTell, InvalidFile, reported_as
from conformance.commands.output_console import output_console
from conformance.commands.selection import addresses_of, command_config_option
from fixtures.client.command_config import CommandConfig, read_command_config
from fixtures.errors import ConnectionFailed, InvalidCommandConfig
from fixtures.registry.targets import load_targets
from reference_model.profiles.known_apis import name_of
from reference_model.profiles.version_tables import request_changes
from reports.document.terminal_form import show
from reports.wording.escaping import printable
from upgrade.api_versions.asking import ask_cluster
from upgrade.api_versions.client_requests import (
    ClientRequests,
    UnknownRequests,
    refused_requests,
    requests_of,
)
from upgrade.api_versions.cluster_tables import ClusterTables, InvalidTables
from upgrade.api_versions.features import (
    FeatureVerdict,
    InvalidFeatureFile,
    Usable,
    read_features,
    verdict_on,
)
from upgrade.api_versions.recorded_tables import tables_of_release
from upgrade.api_versions.stock_text import stock_text
from upgrade.api_versions.tables_json import as_json, changes_as_json, read_tables
from upgrade.api_versions.terminal import differences, refused_report, show_cluster, silent_brokers, verdicts_table


@click.command(name="api-versions")
@click.option("--bootstrap-server", metavar="HOST:PORT,...", help="brokers of the cluster")
@click.option(
    "--bootstrap-controller",
    metavar="HOST:PORT,...",
    help="controllers of the cluster: their tables are shown, and not those of the brokers",
)
@command_config_option
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="show how two clusters differ: each HOST:PORT, a file made with --json, or the id of a release",
)
@click.option(
    "--features",
    "feature_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="say of each feature in the file whether all brokers share the versions that it needs, and whether each has its own",
)
@click.option(
    "--client",
    metavar="ID",
    help="show which requests of this client would be refused; of others than Kafka's own, those that the suite has seen",
)
@click.option("--intersection", "form", flag_value="intersection", help="print what all brokers support")
@click.option("--json", "form", flag_value="json", help="print JSON")
@click.option("--text", "form", flag_value="text", help="print the text of Kafka's own tool; default if piped")
def api_versions(
    bootstrap_server: str | None,
    bootstrap_controller: str | None,
    command_config: Path | None,
    compare: tuple[str, str] | None,
    feature_file: Path | None,
    client: str | None,
    form: str | None,
) -> None:
    """Show which requests the brokers of a cluster support.

    The exit status is 1 if a feature of --features needs an API of which all brokers share no suitable version, and 10
    if a broker could not be asked.
    """
    sources = [each for each in (bootstrap_server, bootstrap_controller, compare) if each]
    if len(sources) != 1:
        raise click.UsageError("give one of --bootstrap-server, --bootstrap-controller and --compare")
    if compare and (feature_file or client):
        raise click.UsageError("--features and --client ask about one cluster: leave out --compare")
    with (
        reported_as(InvalidFile, InvalidCommandConfig, InvalidFeatureFile, InvalidTables),
        reported_as(click.UsageError, UnknownRequests),
        reported_as(CouldNotTell, ConnectionFailed),
    ):
        config = CommandConfig() if command_config is None else read_command_config(command_config)
        if compare:
            _compare(compare, config, form)
            return
        needs = {} if feature_file is None else read_features(feature_file)
        own = None if client is None else requests_of(client)
        cluster = ask_cluster(
            addresses_of(bootstrap_controller or bootstrap_server or ""),
            config,
            controllers=bootstrap_controller is not None,
        )
    if cluster.note:
        click.echo(printable(cluster.note), err=True)
    verdicts = [verdict_on(name, each, cluster) for name, each in needs.items()]
    if form == "json":
        click.echo(json.dumps(_report(cluster, verdicts, own), indent=1))
    elif verdicts or own is not None:
        _answer(cluster, verdicts, own)
    else:
        _show(cluster, form)
    if any(verdict.usable is Usable.NO for verdict in verdicts):
        raise SystemExit(1)
    if cluster.silent:
        raise SystemExit(CouldNotTell.exit_code)


def _show(cluster: ClusterTables, form: str | None) -> None:
    if form == "intersection":
        show(output_console(), *silent_brokers(cluster))
        for key, support in cluster.table.items():
            click.echo(f"{name_of(key)}({key}): {support}")
    elif form == "text" or not sys.stdout.isatty():
        click.echo(stock_text(cluster))
    else:
        show_cluster(output_console(), cluster)


def _answer(
    cluster: ClusterTables,
    verdicts: Sequence[FeatureVerdict],
    own: ClientRequests | None,
) -> None:
    blocks = silent_brokers(cluster)
    if verdicts:
        blocks.append(verdicts_table(verdicts))
    if own is not None:
        blocks += refused_report(refused_requests(own.ranges, cluster), own)
    show(output_console(), *blocks)


def _compare(names: tuple[str, str], config: CommandConfig, form: str | None) -> None:
    first, second = (_tables_named(name, config) for name in names)
    changes = request_changes(first.table, second.table)
    if form == "json":
        report = {
            "first": as_json(first),
            "second": as_json(second),
            "differences": changes_as_json(changes),
        }
        click.echo(json.dumps(report, indent=1))
    else:
        silent = [*silent_brokers(first), *silent_brokers(second)]
        show(output_console(), *silent, differences(changes, first.name, second.name))
    if first.silent or second.silent:
        raise SystemExit(CouldNotTell.exit_code)


def _tables_named(name: str, config: CommandConfig) -> ClusterTables:
    """Return the tables of a cluster that runs, of a file, or of a release."""
    target = next((each for each in load_targets() if each.id == name), None)
    if target is not None:
        return tables_of_release(target, controllers=False)
    if Path(name).is_file():
        return read_tables(Path(name))
    if ":" in name:
        return ask_cluster(addresses_of(name), config, controllers=False)
    raise click.UsageError(
        f"{name!r} is neither HOST:PORT, nor a file, nor a release; `kafka-conformance targets` lists the releases"
    )


def _report(
    cluster: ClusterTables,
    verdicts: Sequence[FeatureVerdict],
    own: ClientRequests | None,
) -> dict[str, object]:
    report: dict[str, object] = as_json(cluster)
    if verdicts:
        report["features"] = [
            {
                "feature": each.feature,
                "usable": each.usable.value,
                "usable_per_broker": each.usable_per_broker.value,
                "reasons": list(each.reasons),
            }
            for each in verdicts
        ]
    if own is not None:
        report["client"] = {
            "id": own.client_id,
            "known_requests": len(own.ranges),
            "is_complete": own.is_complete,
        }
        report["refused_requests"] = changes_as_json(refused_requests(own.ranges, cluster))
    return report
