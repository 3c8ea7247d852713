"""`replay`: judges one stored failure again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from clauses.catalogue import Role
from conformance.assertions.judging import Unjudged
from conformance.commands.errors import InvalidFile, UnknownName
from conformance.commands.progress import status_line
from conformance.commands.selection import (
    clients_with_operations,
    command_config_option,
    selected_target,
)
from conformance.failures.drawn_values import UnreadableValues
from conformance.failures.stored_failures import (
    NoLongerApplies,
    NoStoredFailure,
    StoredFailure,
    read_failure,
    still_fails,
)
from conformance.operations.trials import client_operates
from fixtures.client.command_config import read_properties
from fixtures.client.running_broker import Address
from fixtures.errors import (
    HarnessError,
    InvalidClientCommand,
    InvalidCommandConfig,
    InvalidTargetFile,
    UnknownClient,
    UnknownTarget,
)
from fixtures.launchers import choose_launcher, launch
from fixtures.launchers.address import address_target
from fixtures.launchers.given_broker import (
    GivenListener,
    found_targets,
    given_listener,
    parse_address,
)
from fixtures.launchers.kafka_home import folder_name, is_folder, origin_of
from fixtures.plugin import LAUNCHERS, is_loopback
from fixtures.registry.clients import RINGS, Client, select_clients
from fixtures.registry.foreign_clients import ClientCommand, command_from, foreign_client
from fixtures.registry.likeness import LIKE_HELP, like_given
from fixtures.registry.model_clients import model_clients
from fixtures.registry.targets import Target
from fixtures.scripted_broker.play_pool import PlayPool
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import client_under_test
from fixtures.under_test.judged_target import JudgedTarget
from fixtures.under_test.trial import ChosenTrial, Trial, Trials
from reference_model.profiles.listeners import CONTROLLER, CONTROLLER_LISTENERS, PLAINTEXT
from reports.escaping import printable
from reports.records import OPERATION
from reports.run.exit_status import ExitStatus
from reports.verdict_labels import with_doubts


@dataclass(frozen=True, slots=True)
class _GivenTarget:
    """What the options say about the target; it is that of the failure if they say nothing.

    Raises:
        click.UsageError: they name several targets.
    """

    listener: GivenListener | None
    broker: str | None
    folder: str | None
    like: str
    even_remote: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.listener, self.broker, self.folder)) > 1:
            raise click.UsageError(
                "give either --broker or --kafka-home or --bootstrap-server, not both"
            )

    @property
    def is_given(self) -> bool:
        """Whether any option is about a broker."""
        return bool(self.listener or self.broker or self.folder or self.like)

    @property
    def name(self) -> str:
        """The id, or the folder as a path that is not mistaken for one; empty if neither is given."""
        return self.broker or ("" if self.folder is None else folder_name(self.folder))


@click.command()
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True),
)
@click.option(
    "--bootstrap-server",
    metavar="[PROTOCOL://]HOST:PORT",
    help="judge the broker at this address; PROTOCOL is a value of security.protocol",
)
@command_config_option
@click.option(
    "--broker",
    metavar="ID",
    help="judge this target of the registry; default: the target of the failure",
)
@click.option("--kafka-home", metavar="DIR", help="judge the build of Kafka in this folder")
@click.option("--like", metavar="ID", default="", help=f"{LIKE_HELP}; here: that of the failure")
@click.option("--launcher", type=click.Choice(LAUNCHERS), default="auto", show_default=True)
@click.option(
    "--even-remote",
    is_flag=True,
    help="allow an address that is not on the loopback interface",
)
@click.option(
    "--client",
    metavar="ID",
    help="for a client's failure: play its script to this client; default: the client of the failure",
)
@click.option(
    "--client-cmd",
    metavar="COMMAND",
    help="for a client's failure: play its script to any program, 'prog {bootstrap} {timeout}'; default: the command "
    "of the failure",
)
def replay(
    paths: Sequence[Path],
    bootstrap_server: str | None,
    command_config: Path | None,
    broker: str | None,
    kafka_home: str | None,
    like: str,
    launcher: str,
    even_remote: bool,
    client: str | None,
    client_cmd: str | None,
) -> None:
    """Judge stored failures again: do they still fail?

    FILE is a folder failures/SIGNATURE of a run, or a file in it; several are judged one after the other. A broker gets the same
    requests again, a client the same script. The exit status is 1 if one still fails, otherwise 10 if one cannot be judged, and 0 if none fails.
    """
    listener = _given_listener(bootstrap_server, command_config)
    given = _GivenTarget(listener, broker, kafka_home, like, even_remote=even_remote)
    statuses = [
        _replayed(path, given, launcher=launcher, client=client, client_cmd=client_cmd)
        for path in paths
    ]
    raise SystemExit(min(statuses, key=[1, ExitStatus.HARNESS_ERROR, 0].index))


def _replayed(
    path: Path,
    given: _GivenTarget,
    *,
    launcher: str,
    client: str | None,
    client_cmd: str | None,
) -> int:
    """Judge one failure again and say what came of it; return the exit status."""
    try:
        failure = read_failure(path)
        if failure.role == Role.CLIENT:
            if given.is_given:
                raise click.UsageError(
                    "this is the failure of a client: give --client or --client-cmd"
                )
            judge = partial(_judge_client, failure, _client(failure, client, client_cmd))
        elif failure.role == OPERATION:
            if client_cmd is not None:
                raise click.UsageError("a command has no operations: give --client, or nothing")
            target = _target(failure, given)
            judge = partial(_judge_operation, failure, target, launcher, client)
        else:
            if client is not None or client_cmd is not None:
                raise click.UsageError(
                    "this is the failure of a broker: give --broker, --kafka-home or --bootstrap-server"
                )
            target = _target(failure, given)
            judge = partial(_judge, failure, target, launcher)
        with status_line("judging the failure again"):
            sentence, status = judge()
    except (NoStoredFailure, UnknownTarget) as error:
        raise UnknownName(str(error)) from error
    except (HarnessError, UnreadableValues) as error:
        click.echo(f"inconclusive: {printable(str(error))}")
        return ExitStatus.HARNESS_ERROR
    click.echo(printable(sentence))
    return status


def _given_listener(address: str | None, file: Path | None) -> GivenListener | None:
    """Return the listener at the given address; None if there is none."""
    if address is None:
        if file is not None:
            raise click.UsageError("--command-config needs --bootstrap-server")
        return None
    try:
        return given_listener(address, {} if file is None else read_properties(file))
    except InvalidCommandConfig as error:
        raise click.UsageError(f"--command-config {error}") from error
    except ValueError as error:
        raise click.UsageError(f"--bootstrap-server {error}") from error


def _target(failure: StoredFailure, given: _GivenTarget) -> Target:
    """Return the given target, otherwise that of the failure; one without a file is judged like it was judged then.

    Raises:
        UnknownTarget: the release that it is to be judged like is none.
    """
    if given.listener is not None:
        like = given.like or failure.origin.get("like", "")
        return like_given(_target_at(given.listener, failure, even_remote=given.even_remote), like)
    name = given.name or _named_target(failure)
    like = given.like or (failure.origin.get("like", "") if is_folder(name) else "")
    target = selected_target(name, like=like)
    hashes = origin_of(target).get("jars_sha256")
    if hashes is not None and hashes != failure.origin.get("jars_sha256"):
        click.echo(f"{name} has other jars than those of which the failure was recorded", err=True)
    return target


def _target_at(given: GivenListener, failure: StoredFailure, *, even_remote: bool) -> Target:
    remote = [str(place) for place in given.addresses if not is_loopback(place.host)]
    if remote and not even_remote:
        raise click.UsageError(
            f"{', '.join(remote)} is not on the loopback interface; add --even-remote to send the failing bytes to it anyway"
        )
    if given.is_secured:
        (target,) = found_targets([given], upstream=None, every_broker=False)
        return target
    # A controller's failure is judged on a controller
    listener = CONTROLLER if failure.listener in CONTROLLER_LISTENERS else PLAINTEXT
    return address_target(given.addresses[0], listener=listener)


def _named_target(failure: StoredFailure) -> str:
    if _read_address(failure.target) is not None:
        raise click.UsageError(
            "the failure was found at an address, so --bootstrap-server is required"
        )
    folder = failure.origin.get("folder")
    if folder is not None and not Path(folder).exists():
        raise click.UsageError(
            f"the failure was found on the build in {folder}, which is gone: give the folder of a build with --kafka-home"
        )
    return folder or failure.target


def _read_address(text: str) -> Address | None:
    try:
        return parse_address(text)
    except ValueError:
        return None


def _judge(failure: StoredFailure, target: Target, launcher: str) -> tuple[str, int]:
    name, _ = choose_launcher(target, launcher)
    with launch(target, name) as running:
        if failure.listener not in running.addresses:
            raise HarnessError(f"{target.id} has no listener {failure.listener}")
        broker = Broker(running, failure.listener)
        broker.calibrate()
        return _found(failure, broker)


def _judge_client(failure: StoredFailure, client: Client) -> tuple[str, int]:
    with closing(PlayPool(1)) as pool, client_under_test(client, pool) as judged:
        # Raises if the client fails even with a healthy broker.
        judged.healthy  # noqa: B018
        return _found(failure, judged)


def _judge_operation(
    failure: StoredFailure, target: Target, launcher: str, pattern: str | None
) -> tuple[str, int]:
    """Let the client try the operation again, or a client that the user names."""
    name, _, operation = failure.clause.rpartition(".")
    able = [
        client
        for client in clients_with_operations([pattern or name])
        if operation in client.operations
    ]
    if len(able) != 1:
        raise click.UsageError(
            f"{len(able)} clients {pattern or name!r} have {operation}; give one"
        )
    tried = ChosenTrial(target, able[0], operation)
    if tried.why_not_applicable:
        raise click.UsageError(f"{operation} cannot be tried: {tried.why_not_applicable}")
    chosen, _ = choose_launcher(target, launcher)
    with closing(PlayPool(1)) as pool, launch(target, chosen) as running:
        trial = Trial(tried, Trials(running, pool))
        try:
            client_operates(trial)
        except Unjudged as note:
            return f"no longer fails: {failure.clause} on {target.id}: {note.args[0]}", 0
        except AssertionError as error:
            return f"still fails: {failure.clause} on {target.id}: {with_doubts(str(error))}", 1
    return f"no longer fails: {failure.clause} on {target.id}", 0


def _client(failure: StoredFailure, pattern: str | None, command: str | None) -> Client:
    if pattern is not None and command is not None:
        raise click.UsageError("give either --client or --client-cmd, not both")
    try:
        if command is not None or (pattern is None and failure.client_command):
            return foreign_client(_command(failure, command))
        name = pattern or failure.target
        own = tuple(client for client in model_clients() if client.id == name)
        clients = own or select_clients([name], RINGS)
    except InvalidClientCommand as error:
        raise click.UsageError(str(error)) from error
    except InvalidTargetFile as error:
        raise InvalidFile(str(error)) from error
    except UnknownClient as error:
        if pattern is None:
            raise click.UsageError(
                f"{failure.target} is not in the registry, so --client-cmd or --client is required"
            ) from error
        raise UnknownName(str(error)) from error
    if len(clients) > 1:
        raise click.UsageError(f"{pattern!r} names {len(clients)} clients; give one")
    return clients[0]


def _command(failure: StoredFailure, text: str | None) -> ClientCommand:
    """Return the stored command; another text keeps what was said about it, and runs in the current folder."""
    if text is None:
        return command_from(failure.client_command)
    return command_from({**failure.client_command, "text": text, "folder": ""})


def _found(failure: StoredFailure, judged: JudgedTarget) -> tuple[str, int]:
    """Judge the failure again; return a sentence and the exit status."""
    target = judged.target
    try:
        error = still_fails(failure, judged)
    except NoLongerApplies as holds:
        return f"does not fail: {failure.clause} on {target.id}: {holds}", 0
    if error is None:
        return f"no longer fails: {failure.clause} on {target.id}", 0
    # Without pytest, a bare assertion has no message.
    first_line = str(error).partition("\n")[0] or failure.first_line
    return f"still fails: {failure.clause} on {target.id}: {first_line}", 1
