"""`watch`: will an application survive the upgrade?"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from conformance.commands.addresses import address_of, addresses_of
from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName
from conformance.watch.files import ReportFolder
from conformance.watch.proxy import CannotListen, Ways
from conformance.watch.releases import Release, UnknownRelease, release_named
from conformance.watch.report import EXIT_STATUS, WatchReport, as_json
from conformance.watch.running import CannotWatch, WatchPlan, watch_until_ended
from conformance.watch.terminal import show_result, table_of
from conformance.watch.tls import tls_for_application
from fixtures.client.command_config import command_config as config_of
from fixtures.client.command_config import read_properties
from fixtures.client.given_tls import GivenTls
from fixtures.client.running_broker import Address
from fixtures.errors import InvalidCommandConfig
from reports.escaping import printable

INTERRUPTED = 2
"""Exit status of a command that was interrupted before it watched anything."""
WIDTH_WHEN_PIPED = 160
WRITE_EVERY_REPORTS = 20
"""How many reports are shown for each that is written: one in about ten seconds."""


@click.command()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ...]")
@click.option(
    "--bootstrap-server", required=True, metavar="HOST:PORT,...", help="brokers of the cluster"
)
@click.option(
    "--listen",
    default="127.0.0.1:9999",
    show_default=True,
    metavar="HOST:PORT",
    help="where the application connects; the brokers get the ports after it",
)
@click.option(
    "--for",
    "releases",
    multiple=True,
    required=True,
    metavar="RELEASE",
    help="a release to upgrade to, for example apache-kafka-4.4.0; repeatable",
)
@click.option(
    "--rehearse",
    metavar="RELEASE",
    help="make the cluster look like this release, and refuse what it refuses",
)
@click.option(
    "--command-config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="properties with Kafka's names: security.protocol and ssl.*; the application's own SASL passes unread",
)
@click.option(
    "--tls-ca",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="speak TLS with the application; the authority that it has to trust is written to this file",
)
@click.option(
    "--time",
    "time_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="end after so many seconds",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="write report.json, report.md and a page",
)
@click.option("--json", "is_json", is_flag=True, help="print what report.json contains")
def watch(
    command: tuple[str, ...],
    bootstrap_server: str,
    listen: str,
    releases: tuple[str, ...],
    rehearse: str | None,
    command_config: Path | None,
    tls_ca: Path | None,
    time_s: float | None,
    out: Path | None,
    is_json: bool,
) -> None:
    """Watch what an application sends to a cluster, and predict which releases it survives.

    Point the application at the listen address, or give a COMMAND that finds it in KAFKA_BOOTSTRAP_SERVERS. It ends on Ctrl-C, after
    --time, or with the command. The exit status is 0 if every client works with every release, 1 if one breaks, and 10 if nothing can be
    said about one.
    """
    place = address_of(listen, may_be_any_port=True)
    brokers = addresses_of(bootstrap_server)
    if command and shutil.which(command[0]) is None:
        raise click.UsageError(f"{command[0]!r} is no command; what follows -- is run")
    plan = WatchPlan(
        brokers=brokers,
        listen=place,
        ways=_ways(command_config, tls_ca, place),
        releases=[_release(each) for each in dict.fromkeys(releases)],
        rehearsed=None if rehearse is None else _release(rehearse),
        time_s=time_s,
        command=command,
    )
    folder = _folder(out)
    try:
        report = _watch(plan, folder)
    except (CannotListen, CannotWatch) as error:
        raise CouldNotTell(printable(str(error))) from error
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    if folder is not None:
        folder.write(report)
    if is_json:
        click.echo(json.dumps(as_json(report), indent=1))
    else:
        show_result(_console(), report)
    if folder is not None and folder.problem:
        click.echo(printable(folder.problem), err=True)
    raise SystemExit(EXIT_STATUS[report.outcome])


def _watch(plan: WatchPlan, folder: ReportFolder | None) -> WatchReport:
    """Watch with a live table, if there is a terminal and no command that writes to it."""
    console = Console(stderr=True)
    shown = 0

    def listening(place: Address) -> None:
        console.print(
            f"watching: let the application connect to {place}", markup=False, highlight=False
        )
        if not plan.command and plan.time_s is None:
            console.print("Ctrl-C ends it")

    with Live(console=console, transient=True, auto_refresh=False) as live:

        def reported(report: WatchReport) -> None:
            nonlocal shown
            shown += 1
            if console.is_terminal and not plan.command:
                live.update(table_of(report), refresh=True)
            if folder is not None and shown % WRITE_EVERY_REPORTS == 1:
                folder.write(report)

        return asyncio.run(watch_until_ended(plan, listening, reported))


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_WHEN_PIPED)


def _release(name: str) -> Release:
    try:
        return release_named(name)
    except UnknownRelease as error:
        raise UnknownName(str(error)) from error


def _folder(out: Path | None) -> ReportFolder | None:
    try:
        return None if out is None else ReportFolder(out)
    except OSError as error:
        raise click.UsageError(f"--out {out} cannot be created: {error.strerror}") from error


def _ways(command_config: Path | None, tls_ca: Path | None, place: Address) -> Ways:
    """Return how both sides are reached.

    Raises:
        InvalidFile: the properties cannot be used.
        click.UsageError: the authority cannot be written.
    """
    upstream = None
    if command_config is not None:
        try:
            tls = config_of(read_properties(command_config), needs_credentials=False).security.tls
        except InvalidCommandConfig as error:
            raise InvalidFile(str(error)) from error
        upstream = tls.context() if isinstance(tls, GivenTls) else None
    try:
        listen = None if tls_ca is None else tls_for_application(tls_ca, place)
    except OSError as error:
        raise click.UsageError(f"--tls-ca {tls_ca} cannot be written: {error.strerror}") from error
    return Ways(upstream=upstream, listen=listen)
