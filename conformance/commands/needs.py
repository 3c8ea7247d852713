"""`needs`: which versions do the operations of clients need?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from clauses.exit_statuses import NOT_JUDGED
from clauses.operations import METADATA
from conformance.commands.errors import CouldNotTell, InvalidFile, UnknownName, reported_as
from conformance.commands.options import form_option
from conformance.commands.output_console import output_console, status_line
from conformance.needs.benches import Bench, ReleaseBench, ScriptedBench, measurable_operations
from conformance.needs.measuring import USUAL_TIME_S, NoSuchOperation, needs_of
from conformance.needs.outcomes import software_in
from fixtures.client.running_broker import RunningBroker
from fixtures.client_processes.installation import DriverCommand, install_without_pins, installed
from fixtures.errors import ArtefactUnavailable, HarnessError, InvalidClientCommand, InvalidTargetFile, UnknownClient
from fixtures.launchers import launch
from fixtures.registry.clients import RINGS, Client, select_clients
from fixtures.registry.foreign_clients import ClientCommand, foreign_client
from fixtures.registry.targets import select_targets
from fixtures.scripted_broker.playing import PLAYS_AT_A_TIME, PlayPool
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.version_tables import ranges_of
from reports.client_needs.agreement import NotComparable, agreement_of, check_comparable
from reports.client_needs.needs import SCRIPTED, ClientNeeds, OperationNeeds
from reports.client_needs.needs_document import needs_document
from reports.client_needs.needs_json import InvalidNeeds, as_json, read_needs
from reports.command_line.extras import REPORTS, check_extra
from reports.document.markdown_form import markdown
from reports.document.terminal_form import show_document
from reports.site.document_page import write_document_page
from reports.wording.escaping import printable
from upgrade.prediction.releases import NoSuchRelease, Release, release_named

RELEASE = "apache-kafka-3.9.2"
"""The newest release that serves the old versions of everything."""


@click.command()
@click.argument("clients", metavar="CLIENT...", nargs=-1)
@click.option(
    "--client-cmd",
    metavar="COMMAND",
    help="any program that connects to a broker, 'prog {bootstrap} {timeout}': with a scripted broker, and with "
    "--broker if it has {operation}",
)
@click.option(
    "--broker",
    "release",
    default=RELEASE,
    show_default=True,
    metavar="RELEASE",
    help="the release whose table is cut",
)
@click.option(
    "--scripted", is_flag=True, help="fetch metadata from a scripted broker, and start no release; no other operation"
)
@click.option(
    "--operation",
    "operations",
    multiple=True,
    metavar="NAME",
    help="measure this operation; repeatable; default: all that the client has",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=PLAYS_AT_A_TIME,
    show_default="four per core",
    help="how many processes of the client run at the same time",
)
@click.option(
    "--earlier",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="needs.json of an earlier measurement: what differs from it is unclear, and no need",
)
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="write needs.json, needs.md and a page",
)
@form_option("text", "markdown", "json", meaning="how it is printed")
def needs(
    clients: tuple[str, ...],
    client_cmd: str | None,
    release: str,
    scripted: bool,
    operations: tuple[str, ...],
    jobs: int,
    earlier: Path | None,
    out: Path | None,
    form: str,
) -> None:
    """Measure which versions clients need, also unsent ones.

    A CLIENT is an id or a glob that `kafka-conformance clients` lists, or a version of a library,
    'confluent-kafka==2.6.0'. Each of its operations is tried again and again
    with a real broker, and a proxy takes versions away: the oldest or the newest ones of one API, or the API. A
    hidden need is a version or an API that the client never sends, and without which it gives something up.

    The exit status is 0, and 10 if an operation could not be measured.
    """
    chosen = _chosen(clients, client_cmd)
    _check_operations(chosen, operations, scripted=scripted)
    broker = _release(release)
    folder = _folder(out)
    with_release = [each for each in chosen if measurable_operations(each) and not scripted]
    before = None if earlier is None else _earlier(earlier, chosen, with_release, broker, operations)
    with reported_as(CouldNotTell, HarnessError), closing(PlayPool(jobs)) as pool:
        commands = {each.id: installed(each) for each in chosen}
        measured = [
            *_with_scripted([each for each in chosen if each not in with_release], commands, pool, operations, jobs),
            *_with_release(with_release, broker, commands, pool, operations, jobs),
        ]
    with_operations = [each for each in measured if each.operations]
    if not with_operations:
        raise CouldNotTell("no operation was tried")
    if before is not None:
        with_operations = [_agreed(before[each.client], each) for each in with_operations]
    document = needs_document(with_operations)
    content = json.dumps(as_json(with_operations), indent=1)
    if folder is not None:
        (folder / "needs.json").write_text(f"{content}\n", encoding="utf-8")
        (folder / "needs.md").write_text(markdown(document), encoding="utf-8")
        write_document_page(folder, document)
    if form == "json":
        click.echo(content)
    elif form == "markdown":
        click.echo(markdown(document), nl=False)
    else:
        show_document(output_console(), document)
    is_whole = len(with_operations) == len(measured)
    if not is_whole or any(operation.inconclusive for each in with_operations for operation in each.operations):
        raise SystemExit(NOT_JUDGED)


def _chosen(patterns: Sequence[str], client_cmd: str | None) -> tuple[Client, ...]:
    if not patterns and client_cmd is None:
        raise click.UsageError("name a client that `kafka-conformance clients` lists, or give --client-cmd")
    with (
        reported_as(InvalidFile, InvalidTargetFile),
        reported_as(UnknownName, UnknownClient, InvalidClientCommand),
    ):
        found = select_clients(patterns, RINGS)
        with reported_as(CouldNotTell, ArtefactUnavailable):
            install_without_pins(found)
        return found if client_cmd is None else (*found, foreign_client(ClientCommand(text=client_cmd)))


def _check_operations(clients: Sequence[Client], operations: Sequence[str], *, scripted: bool) -> None:
    """Refuse operations that a client does not have, or that need more than one broker.

    Raises:
        UnknownName: there is one.
    """
    for client in clients:
        known = (not scripted and measurable_operations(client)) or [METADATA]
        for name in operations:
            if name not in known:
                raise UnknownName(
                    f"{client.id} has no operation {name!r} that can be measured; it has {', '.join(known)}"
                )


def _earlier(
    file: Path, chosen: Sequence[Client], with_release: Sequence[Client], release: Release, operations: Sequence[str]
) -> dict[str, ClientNeeds]:
    """Read an earlier measurement of the same, by the id of the client.

    Raises:
        InvalidFile: it is none.
        MissingExtra: nothing is installed that checks it.
    """
    check_extra(REPORTS, "needs --earlier")
    with reported_as(InvalidFile, InvalidNeeds):
        before = {each.client: each for each in read_needs(file.read_bytes(), str(file))}
    for client in chosen:
        where = release.id if client in with_release else SCRIPTED
        measured = operations or (measurable_operations(client) if client in with_release else (METADATA,))
        try:
            check_comparable(client.id, where, measured, before.get(client.id))
        except NotComparable as error:
            raise InvalidFile(
                f"{file}: {error}; leave --earlier out, or name the file of such a measurement"
            ) from error
    return before


def _agreed(earlier: ClientNeeds, later: ClientNeeds) -> ClientNeeds:
    agreement = agreement_of(earlier, later)
    rows = agreement.agreeing + agreement.differing
    click.echo(f"{later.client}: {agreement.agreeing} of {rows} rows are as in the earlier measurement", err=True)
    return agreement.needs


def _folder(out: Path | None) -> Path | None:
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"--out {out} cannot be created: {error.strerror}") from error
    return out


def _with_scripted(
    clients: Sequence[Client],
    commands: dict[str, DriverCommand],
    pool: PlayPool,
    operations: Sequence[str],
    jobs: int,
) -> list[ClientNeeds]:
    return [_measured(each, ScriptedBench(each, commands[each.id], pool), operations, jobs) for each in clients]


def _with_release(
    clients: Sequence[Client],
    release: Release,
    commands: dict[str, DriverCommand],
    pool: PlayPool,
    operations: Sequence[str],
    jobs: int,
) -> list[ClientNeeds]:
    if not clients:
        return []
    (target,) = select_targets([release.id])
    with launch(target, "auto") as running:
        return [
            _measured(each, release_bench(release, running, each, commands[each.id], pool), operations, jobs)
            for each in clients
        ]


def _release(name: str) -> Release:
    with reported_as(UnknownName, NoSuchRelease):
        return release_named(name)


def release_bench(
    release: Release, running: RunningBroker, client: Client, command: DriverCommand, pool: PlayPool
) -> ReleaseBench:
    """Return the bench of a client that is installed, and of a release that runs."""
    return ReleaseBench(
        release=release.id,
        served=ranges_of(release.profile.api_keys),
        broker=running.addresses[PLAINTEXT],
        client=client,
        command=command,
        pool=pool,
    )


def _measured(client: Client, bench: Bench, operations: Sequence[str], jobs: int) -> ClientNeeds:
    found: list[OperationNeeds] = []
    for name in dict.fromkeys(operations or bench.operations):
        with status_line(f"{client.id}: taking versions away from {name}"):
            try:
                found.append(needs_of(bench, name, at_a_time=jobs))
                problem = found[-1].inconclusive
            except NoSuchOperation as error:
                problem = str(error)
        if problem:
            click.echo(printable(f"{client.id}: {name}: {problem}"), err=True)
    software_name, software_version = _software(bench)
    return ClientNeeds(
        client=client.id,
        name=client.name,
        software_name=software_name,
        software_version=software_version,
        release=bench.release,
        operations=tuple(found),
    )


def _software(bench: Bench) -> tuple[str, str]:
    """Return what a client calls itself; two empty texts if it does not, or cannot be tried."""
    try:
        return software_in(bench.play(bench.operations[0], (), USUAL_TIME_S))
    except HarnessError:
        return "", ""
