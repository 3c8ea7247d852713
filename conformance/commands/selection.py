"""Selection of targets by a command's patterns, and parsing of addresses.

An address is HOST:PORT. Several are separated by commas.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from conformance.commands.errors import InvalidFile, UnknownName, reported_as
from conformance.runs.needed_extras import check_targets_can_start
from fixtures.client.addresses import Address, parse_address, parse_addresses
from fixtures.client.command_config import COMMAND_CONFIG_HELP
from fixtures.errors import InvalidTargetFile, UnknownClient, UnknownTarget
from fixtures.launchers.named_targets import targets_named
from fixtures.registry.clients import RINGS, Client, select_clients
from fixtures.registry.likeness import check_like
from fixtures.registry.model_clients import select_with_models
from fixtures.registry.targets import Target
from fixtures.under_test.client import target_of

EVERY_RELEASE = ("apache-kafka-*",)
EVERY_CLUSTER = ("kafka-cluster-*",)


def addresses_of(text: str) -> Sequence[Address]:
    """Return the addresses in a text, separated by commas.

    Raises:
        click.UsageError: one of them is no address.
    """
    try:
        return parse_addresses(text)
    except ValueError as error:
        hint = "; name a protocol as security.protocol in the file of --command-config"
        raise click.UsageError(f"{error}{hint if '://' in text else ''}") from error


def listening_address_of(text: str) -> Address:
    """Return the address in a text at which to listen: port 0 is any free one.

    Raises:
        click.UsageError: it is no address.
    """
    try:
        return parse_address(text, lowest_port=0)
    except ValueError as error:
        raise click.UsageError(f"--listen {error}") from error


command_config_option = click.option(
    "--command-config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help=COMMAND_CONFIG_HELP,
)
"""Declares the option of the commands that reach the listeners of a user."""


def selected_targets(patterns: Sequence[str], *, like: str = "") -> tuple[Target, ...]:
    """Return the targets that match ids or globs, including the built-in ones, and those in folders.

    Args:
        patterns: ids, globs and folders.
        like: id of the release that the folders are judged like; empty for the nearest one of each.

    Raises:
        UnknownName: a pattern matches nothing, or `like` is no release or is about none of the targets.
        InvalidFile: a file of the registry does not follow its schema.
        MissingExtra: a target cannot be started with what is installed.
    """
    with reported_as(InvalidFile, InvalidTargetFile), reported_as(UnknownName, UnknownTarget):
        targets = targets_named(patterns, like=like)
        check_like(like, targets)
    check_targets_can_start(_command(), targets)
    return targets


def _command() -> str:
    """Return the name of the command that runs."""
    context = click.get_current_context(silent=True)
    return str(context.info_name) if context else "this"


def selected_target(pattern: str) -> Target:
    """Return the one target that an id, a glob or a folder names.

    Raises:
        UnknownName: it matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
        click.UsageError: it names several targets.
    """
    targets = selected_targets([pattern])
    if len(targets) > 1:
        raise click.UsageError(f"{pattern!r} names {len(targets)} targets; give one")
    return targets[0]


def runnable_targets(patterns: Sequence[str], *, like: str = "") -> tuple[Target, ...]:
    """Return the matching targets; the arguments are those of `selected_targets`.

    A target that has never been tried is left out unless its exact id is given.

    Raises:
        UnknownName: a pattern matches nothing, or `like` is no release or is about none of the targets.
        InvalidFile: a file of the registry does not follow its schema.
    """
    return tuple(
        target for target in selected_targets(patterns, like=like) if not target.not_tried or target.id in patterns
    )


def clients_with_operations(patterns: Sequence[str]) -> tuple[Client, ...]:
    """Return the clients that match ids or globs and have operations; all that have some if no pattern is given.

    Raises:
        UnknownName: a pattern matches no client, or none that has operations.
        InvalidFile: a file of the registry does not follow its schema.
    """
    with reported_as(InvalidFile, InvalidTargetFile), reported_as(UnknownName, UnknownClient):
        clients = select_clients(patterns or ("*",), RINGS)
    with_operations = tuple(client for client in clients if client.operations)
    if not with_operations:
        raise UnknownName(f"none of these clients has operations: {', '.join(patterns)}")
    return with_operations


def selected_clients(patterns: Sequence[str], rings: Sequence[str] = RINGS) -> tuple[Target, ...]:
    """Return the clients that match ids, or globs in some rings, as the records know them; all if no pattern is given.

    Raises:
        UnknownName: a pattern matches nothing.
        InvalidFile: a file of the registry does not follow its schema.
    """
    with reported_as(InvalidFile, InvalidTargetFile), reported_as(UnknownName, UnknownClient):
        return tuple(map(target_of, select_with_models(patterns or ("*",), rings)))
