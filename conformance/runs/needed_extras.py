"""What a run needs besides what judging an address does."""

from __future__ import annotations

from collections.abc import Iterable

from fixtures.registry.clients import BUILT_IN, FOREIGN, Client
from fixtures.registry.targets import Target
from reports.command_line.extras import RELEASES, check_extra

_OWN_LAUNCHERS = {"address", "built-in", "scripted"}
"""The launchers that start no other program than the suite's own."""


def check_targets_can_start(command: str, targets: Iterable[Target]) -> None:
    """Check that the packages are there that fetch and start targets.

    Raises:
        MissingExtra: a target needs them, and they are not.
    """
    for target in targets:
        if not _OWN_LAUNCHERS & target.launchers.keys():
            check_extra(RELEASES, f"{command} {target.id}")


def check_clients_can_start(command: str, clients: Iterable[Client]) -> None:
    """Check that the packages are there that install clients.

    Raises:
        MissingExtra: a client needs them, and they are not.
    """
    for client in clients:
        if client.install.kind not in (BUILT_IN, FOREIGN):
            check_extra(RELEASES, f"{command} --client {client.id}")
