"""`watch`: will an application survive the upgrade?"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console
from rich.live import Live

from clauses.exit_statuses import INTERRUPTED
from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName, reported_as
from conformance.commands.output_console import output_console
from conformance.commands.selection import addresses_of, listening_address_of
from conformance.commands.spark_jobs import count_with_spark
from fixtures.client.addresses import Address
from fixtures.client.cluster_client import PROBLEMS, Security, connected
from fixtures.client.command_config import CommandConfig, GivenTls, read_properties
from fixtures.client.command_config import command_config as config_of
from fixtures.errors import ConnectionFailed, InvalidCommandConfig
from fixtures.registry.given_tables import given_table, is_table
from fixtures.registry.targets import newest_release
from reference_model.profiles.removals import InvalidTable
from reference_model.profiles.version_tables import Ranges, ranges_of
from reports.document.terminal_form import show_document, table_on
from reports.wording.escaping import printable
from upgrade.prediction.releases import NoSuchRelease, Release, cut_release, release_named, with_table
from upgrade.prediction.report import EXIT_STATUS, WatchReport
from upgrade.prediction.report_document import clients_table, watch_document
from upgrade.prediction.report_files import ReportFolder, as_json
from upgrade.traffic_files.reading import TrafficFiles, report_of_files
from upgrade.watching.proxy import CannotListen
from upgrade.watching.running import CannotWatch, WatchPlan, watch_until_ended
from upgrade.watching.tls_sides import TlsSides, tls_for_application

LISTEN = "127.0.0.1:9999"
_OF_THE_PROXY = ("command", "bootstrap_server", "listen", "rehearse", "command_config", "tls_ca")
WRITE_EVERY_REPORTS = 20
"""How many reports are shown for each that is written: one in about ten seconds."""


def _finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds")
    return value


@click.command()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ...]")
@click.option("--bootstrap-server", metavar="HOST:PORT,...", help="brokers of the cluster")
@click.option(
    "--pcap",
    "captures",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="a packet capture to read in place of watching; repeatable, in the order in which they were written",
)
@click.option(
    "--request-log",
    "request_logs",
    multiple=True,
    metavar="FILE",
    help="a request log of a broker to read in place of watching, also rotated and compressed; repeatable",
)
@click.option(
    "--metrics",
    multiple=True,
    metavar="FILE|URL",
    help="metrics of a broker to read in place of watching: a page of the JMX exporter, or Jolokia's; repeatable",
)
@click.option("--follow", is_flag=True, help="read on while request logs grow")
@click.option(
    "--spark",
    "with_spark",
    is_flag=True,
    help="let Spark read the request logs, which may be files, folders or patterns at any URI that Hadoop knows",
)
@click.option(
    "--listen",
    default=LISTEN,
    show_default=True,
    metavar="HOST:PORT",
    help="where the application connects; the brokers get the ports after it",
)
@click.option(
    "--for",
    "releases",
    multiple=True,
    required=True,
    metavar="RELEASE|TABLE",
    help="a release to upgrade to, for example apache-kafka-4.4.0, or a table: see below; repeatable",
)
@click.option(
    "--rehearse",
    metavar="RELEASE|TABLE",
    help="make the cluster look like this release or table, and refuse what it refuses",
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
    callback=_finite,
    metavar="S",
    help="end watching, or following, after so many seconds",
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
    bootstrap_server: str | None,
    captures: tuple[Path, ...],
    request_logs: tuple[str, ...],
    metrics: tuple[str, ...],
    follow: bool,
    with_spark: bool,
    listen: str,
    releases: tuple[str, ...],
    rehearse: str | None,
    command_config: Path | None,
    tls_ca: Path | None,
    time_s: float | None,
    out: Path | None,
    is_json: bool,
) -> None:
    """Watch what a program sends; say which releases refuse it.

    Point the application at the listen address, or give a COMMAND that finds it in KAFKA_BOOTSTRAP_SERVERS. It ends on
    Ctrl-C, after --time, or with the command. In place of --bootstrap-server, captures, request logs or metrics show
    what was sent. The exit status is 0 if every client works with every release or is served by it, 1 if one breaks,
    and 10 if nothing can be said about one. With several releases it is that of the worst one, and one sentence for
    each says what is known about it.

    A TABLE is of a release that does not exist yet: a file that `api-versions --json` wrote, or what the newest release
    would lose, in a file or as 'JoinGroup 5+, Fetch 4-12, no DescribeCluster'.
    """
    by_id = {release.id: release for release in map(_release, dict.fromkeys(releases))}
    asked_about = [*by_id.values()]
    if captures or request_logs or metrics:
        _refuse_what_needs_the_proxy()
        _check_how_files_are_read((*captures, *metrics), request_logs, time_s, follow=follow, with_spark=with_spark)
        files = TrafficFiles(
            captures=captures,
            request_logs=() if with_spark else tuple(map(Path, request_logs)),
            metrics=metrics,
            counted=count_with_spark(request_logs) if with_spark else None,
            follow=follow,
            time_s=time_s,
        )
        folder = _folder(out)
        with _shown_live(folder, Console(stderr=True), has_table=follow) as reported:
            report = report_of_files(files, asked_about, reported)
    else:
        if follow or with_spark or bootstrap_server is None:
            raise click.UsageError(
                "give --bootstrap-server to watch as a proxy, or what to read: --pcap, --metrics, or --request-log, "
                "to which --follow and --spark belong"
            )
        if command and shutil.which(command[0]) is None:
            raise click.UsageError(f"{command[0]!r} is no command; what follows -- is run")
        address = listening_address_of(listen)
        if rehearse is not None and is_table(rehearse):
            _check_rehearsed(rehearse, bootstrap_server, command_config)
        plan = WatchPlan(
            brokers=addresses_of(bootstrap_server),
            listen=address,
            tls_sides=_tls_sides(command_config, tls_ca, address),
            releases=asked_about,
            rehearsed=None if rehearse is None else _release(rehearse),
            time_s=time_s,
            command=command,
        )
        folder = _folder(out)
        report = _watch(plan, folder)
    _end(report, folder, is_json=is_json)


def _refuse_what_needs_the_proxy() -> None:
    """Refuse options that mean nothing for files."""
    context = click.get_current_context()
    options = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in _OF_THE_PROXY
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if options:
        raise click.UsageError(
            f"{', '.join(options)} cannot be given with --pcap, --request-log or --metrics, which are read in place of watching"
        )


def _check_how_files_are_read(
    others: Sequence[object],
    request_logs: Sequence[str],
    time_s: float | None,
    *,
    follow: bool,
    with_spark: bool,
) -> None:
    if (follow or with_spark) and not request_logs:
        raise click.UsageError("--follow and --spark are about request logs: give --request-log")
    if with_spark and (follow or others):
        raise click.UsageError("--spark reads request logs that are complete: leave out --follow, --pcap and --metrics")
    if time_s is not None and not follow:
        raise click.UsageError("--time is about watching and following; files are read to their end")


def _end(report: WatchReport, folder: ReportFolder | None, *, is_json: bool) -> None:
    """Write and show the result, and end with its exit status."""
    if folder is not None:
        folder.write(report)
    if is_json:
        click.echo(json.dumps(as_json(report), indent=1))
    else:
        show_document(output_console(), watch_document(report))
    if folder is not None and folder.problem:
        click.echo(printable(folder.problem), err=True)
    raise SystemExit(EXIT_STATUS[report.outcome])


def _watch(plan: WatchPlan, folder: ReportFolder | None) -> WatchReport:
    console = Console(stderr=True)

    def listening(address: Address) -> None:
        console.print(f"watching: let the application connect to {address}", markup=False, highlight=False)
        if not plan.command and plan.time_s is None:
            console.print("Ctrl-C ends it")

    try:
        # A command writes to the terminal itself.
        with (
            reported_as(CouldNotTell, CannotListen, CannotWatch),
            _shown_live(folder, console, has_table=not plan.command) as reported,
        ):
            return asyncio.run(watch_until_ended(plan, listening, reported))
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def _shown_live(
    folder: ReportFolder | None, console: Console, *, has_table: bool
) -> Iterator[Callable[[WatchReport], None]]:
    """Return what shows a report so far in a table, if there is a terminal, and writes some of them."""
    shown = 0
    with Live(console=console, transient=True, auto_refresh=False) as live:

        def reported(report: WatchReport) -> None:
            nonlocal shown
            shown += 1
            if console.is_terminal and has_table:
                rows = table_on(console, clients_table(report)) if report.rows else "no client has sent a request yet"
                live.update(rows, refresh=True)
            if folder is not None and shown % WRITE_EVERY_REPORTS == 1:
                folder.write(report)

        yield reported


def _check_rehearsed(text: str, bootstrap_server: str, command_config: Path | None) -> None:
    """Refuse a table that lists what the brokers of a cluster do not serve: no rehearsal can add that.

    One broker is asked, and before any authentication: the credentials are the application's.

    Raises:
        InvalidFile: it does.
        CouldNotTell: the cluster cannot be asked.
    """
    with reported_as(CouldNotTell, ConnectionFailed), reported_as(InvalidFile, InvalidTable, InvalidCommandConfig):
        properties = {} if command_config is None else read_properties(command_config)
        config = config_of(properties, needs_credentials=False)
        given_table(text).left_of(_listed_at(addresses_of(bootstrap_server), config), "the cluster")


def _listed_at(addresses: Sequence[Address], config: CommandConfig) -> Ranges:
    """Return what the first broker lists that answers.

    Raises:
        ConnectionFailed: none does.
    """
    problems = []
    for address in addresses:
        try:
            with connected(address, Security(tls=config.security.tls), bound_s=config.timeout_s) as client:
                return ranges_of(client.table.api_keys)
        except PROBLEMS as error:
            problems.append(str(error))
    raise ConnectionFailed("; ".join(problems))


def _release(name: str) -> Release:
    """Return the release whose table answers for a name, and say so if it is another one."""
    if is_table(name):
        with reported_as(InvalidFile, InvalidTable):
            return cut_release(given_table(name), release_named(newest_release().id))
    id_, sentence = with_table(name)
    with reported_as(UnknownName, NoSuchRelease):
        release = release_named(id_)
    if sentence:
        click.echo(sentence, err=True)
    return release


def _folder(out: Path | None) -> ReportFolder | None:
    try:
        return None if out is None else ReportFolder(out)
    except (FileExistsError, NotADirectoryError) as error:
        raise click.UsageError(f"--out {out} cannot be created: {error.strerror}") from error


def _tls_sides(command_config: Path | None, tls_ca: Path | None, address: Address) -> TlsSides:
    """Return how both sides are reached.

    Raises:
        InvalidFile: the properties cannot be used.
        click.UsageError: the authority cannot be written.
    """
    upstream = None
    if command_config is not None:
        with reported_as(InvalidFile, InvalidCommandConfig):
            tls = config_of(read_properties(command_config), needs_credentials=False).security.tls
        upstream = tls.context() if isinstance(tls, GivenTls) else None
    try:
        listen = None if tls_ca is None else tls_for_application(tls_ca, address)
    except OSError as error:
        raise click.UsageError(f"--tls-ca {tls_ca} cannot be written: {error.strerror}") from error
    return TlsSides(upstream=upstream, listen=listen)
