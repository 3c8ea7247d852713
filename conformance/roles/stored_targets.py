"""The target on which a stored failure is judged again.

It is the failure's own target, unless the user names another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from conformance.failures.stored_failures import StoredFailure
from fixtures.choosing.listeners import is_loopback
from fixtures.client.addresses import Address, parse_address
from fixtures.errors import InvalidClientCommand, UnknownClient
from fixtures.launchers.address import address_target
from fixtures.launchers.given_broker import GivenListener, found_targets
from fixtures.launchers.named_targets import folder_name, is_folder, origin_of, targets_named
from fixtures.registry.clients import RINGS, Client, select_clients
from fixtures.registry.command_placeholders import OPERATION
from fixtures.registry.foreign_clients import ClientCommand, command_from, foreign_client
from fixtures.registry.given_tables import is_table
from fixtures.registry.likeness import check_like, like_given
from fixtures.registry.model_clients import model_clients
from fixtures.registry.targets import Target
from fixtures.run_size import Kind
from reference_model.profiles.listeners import CONTROLLER, CONTROLLER_LISTENERS, PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What the options of `replay` say about the target; it is that of the failure if they say nothing.

    Attributes:
        listeners: the listeners of a broker at addresses.
        upstream: the address of its upstream, if it is a proxy.
        broker: the id of a broker of the registry.
        folder: the folder of a build.
        like: the release that an address or a build is judged like.
        even_remote: whether the address may be one that is not on the loopback interface.
        launcher: how a broker is started.
        client: the id of a client of the registry.
        client_command: the command of any other client.
        client_unconfined: whether a command may write where runs are kept, and what else a client may not.

    Raises:
        click.UsageError: they name several targets.
    """

    listeners: tuple[GivenListener, ...] = ()
    upstream: Address | None = None
    broker: str | None = None
    folder: str | None = None
    like: str = ""
    even_remote: bool = False
    launcher: str = "auto"
    client: str | None = None
    client_command: str | None = None
    client_unconfined: bool = False

    def __post_init__(self) -> None:
        if sum(bool(each) for each in (self.listeners, self.broker, self.folder)) > 1:
            raise click.UsageError("give either --broker or --kafka-home or --bootstrap-server, not both")
        if self.upstream is not None and not self.listeners:
            raise click.UsageError("--upstream needs --bootstrap-server, the address of the proxy")

    def refuse_brokers(self) -> None:
        """Refuse any option about a broker.

        Raises:
            click.UsageError: there is one.
        """
        if self.listeners or self.broker or self.folder or self.like:
            raise click.UsageError("this is the failure of a client: give --client or --client-cmd")

    def refuse_clients(self) -> None:
        """Refuse any option about a client.

        Raises:
            click.UsageError: there is one.
        """
        if self.client is not None or self.client_command is not None:
            raise click.UsageError("this is the failure of a broker: give --broker, --kafka-home or --bootstrap-server")


def target_for(failure: StoredFailure, options: ReplayOptions) -> Target:
    """Return the target that the options name, otherwise that of the failure.

    A target without a file is judged like the release that it was judged like then.

    Raises:
        UnknownTarget: there is none of this name, or the release that it is to be judged like is none.
        InvalidTargetFile: a file of the registry does not follow its schema.
        click.UsageError: the options name none, several, or one that is not on the loopback interface.
    """
    recorded = failure.origin.get("like", "")
    if options.listeners:
        # What a read-only run found needs no other requests, and whoever has the target allowed no others.
        is_read_only = failure.origin.get("sends") == Kind.READ_ONLY
        target = replace(_target_at(failure, options), is_read_only=is_read_only)
        return like_given(target, options.like or recorded)
    # The name of a folder is a path, so that it is not mistaken for an id.
    choice = options.broker or ("" if options.folder is None else folder_name(options.folder))
    name = choice or _named_target(failure)
    like = options.like or (recorded if is_folder(name) else "")
    targets = targets_named([name], like=like)
    check_like(like, targets)
    if len(targets) > 1:
        raise click.UsageError(f"{name!r} names {len(targets)} targets; give one")
    hashes = origin_of(targets[0]).get("jars_sha256")
    if hashes is not None and hashes != failure.origin.get("jars_sha256"):
        click.echo(f"{name} has other jars than those of which the failure was recorded", err=True)
    return targets[0]


def _target_at(failure: StoredFailure, options: ReplayOptions) -> Target:
    listeners = options.listeners
    addresses = [address for each in listeners for address in each.addresses]
    addresses += [] if options.upstream is None else [options.upstream]
    remote = [str(address) for address in addresses if not is_loopback(address.host)]
    if remote and not options.even_remote:
        raise click.UsageError(
            f"{', '.join(remote)} is not on the loopback interface; add --even-remote to send the failing bytes to it anyway"
        )
    if len(listeners) > 1 or listeners[0].is_secured:
        # A controller that is another node than the broker is a target of its own.
        targets = found_targets(listeners, upstream=options.upstream, every_broker=False)
        return next((each for each in targets if failure.listener in each.listeners), targets[0])
    # A controller's failure is judged on a controller
    listener = CONTROLLER if failure.listener in CONTROLLER_LISTENERS else PLAINTEXT
    return address_target({listener: listeners[0].addresses[0]}, upstream=options.upstream)


def _named_target(failure: StoredFailure) -> str:
    if "addresses" in failure.origin or _read_address(failure.target) is not None:
        raise click.UsageError("the failure was found at an address, so --bootstrap-server is required")
    folder = failure.origin.get("folder")
    if folder is not None and not Path(folder).exists():
        raise click.UsageError(
            f"the failure was found on the build in {folder}, which is gone: give the folder of a build with --kafka-home"
        )
    table = failure.origin.get("table")
    if table is not None and not is_table(table):
        raise click.UsageError(
            f"the failure was found with the table in {table}, which is gone: name the file with --broker"
        )
    return folder or table or failure.target


def _read_address(text: str) -> Address | None:
    try:
        return parse_address(text)
    except ValueError:
        return None


def client_for(failure: StoredFailure, options: ReplayOptions) -> Client:
    """Return the client that the options name, otherwise that of the failure.

    Raises:
        UnknownClient: there is none of this name.
        InvalidTargetFile: a file of the registry does not follow its schema.
        click.UsageError: the options name none or several.
    """
    pattern, command = options.client, options.client_command
    if pattern is not None and command is not None:
        raise click.UsageError("give either --client or --client-cmd, not both")
    try:
        if _is_command(failure, options):
            return foreign_client(_command(failure, options))
        name = pattern or failure.target
        own = tuple(client for client in model_clients() if client.id == name)
        clients = own or select_clients([name], RINGS)
    except InvalidClientCommand as error:
        raise click.UsageError(str(error)) from error
    except UnknownClient as error:
        if pattern is None:
            raise click.UsageError(
                f"{failure.target} is not in the registry, so --client-cmd or --client is required"
            ) from error
        raise
    if len(clients) > 1:
        raise click.UsageError(f"{pattern!r} names {len(clients)} clients; give one")
    return clients[0]


def _is_command(failure: StoredFailure, options: ReplayOptions) -> bool:
    return options.client_command is not None or (options.client is None and bool(failure.client_command))


def _command(failure: StoredFailure, options: ReplayOptions) -> ClientCommand:
    """Return the stored command; another text keeps what was said about it, and runs in the current folder."""
    # Whoever made the run folder does not decide what is allowed here.
    known = {**failure.client_command, "unconfined": options.client_unconfined}
    text = options.client_command
    if text is None:
        return command_from(known)
    falls_back = known.get("falls_back", ()) if OPERATION in text else ()
    return command_from({**known, "text": text, "folder": "", "falls_back": falls_back})


def able_client(failure: StoredFailure, options: ReplayOptions) -> tuple[Client, str]:
    """Return the client that the options name, otherwise that of the failure, and the operation that failed.

    Raises:
        UnknownClient: there is none of this name.
        InvalidTargetFile: a file of the registry does not follow its schema.
        click.UsageError: the options name several clients, or not one that has the operation.
    """
    name, _, operation = failure.clause.rpartition(".")
    if _is_command(failure, options):
        client = client_for(failure, options)
        if operation not in client.rows:
            raise click.UsageError(
                f"the command has no {OPERATION}, so it has no {operation}: put it where the operation's name goes"
            )
        return client, operation
    pattern = options.client or name
    able = [each for each in select_clients([pattern], RINGS) if operation in each.rows]
    if len(able) != 1:
        raise click.UsageError(f"{len(able)} clients {pattern!r} have {operation}; give one")
    return able[0], operation
