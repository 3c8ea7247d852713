"""The roles. A new one is a module in this folder, and a name here; CONTRIBUTING says what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.engine.planning import listener_of
from conformance.roles.broker import BrokerRole
from conformance.roles.client import ClientRole
from conformance.roles.operation import OperationRole
from conformance.roles.proxy import ProxyRole
from conformance.roles.role import RoleInRun

EVERY_ROLE: tuple[type[RoleInRun[Any]], ...] = (OperationRole, ClientRole, ProxyRole, BrokerRole)
"""The first for which a command line chooses anything is the role of the run."""
ROLES: Mapping[str, type[RoleInRun[Any]]] = {role.name: role for role in EVERY_ROLE}
"""The roles by their names in the records, where proxies have that of brokers."""
_OF_RUN = pytest.StashKey[tuple[RoleInRun[Any], ...]]()


def roles_of(config: pytest.Config) -> tuple[RoleInRun[Any], ...]:
    """Return the roles of a run, the same objects each time."""
    if _OF_RUN not in config.stash:
        config.stash[_OF_RUN] = tuple(role(config) for role in EVERY_ROLE)
    return config.stash[_OF_RUN]


def role_of_run(config: pytest.Config) -> RoleInRun[Any]:
    """Return the first role for which the command line chooses anything."""
    return next(role for role in roles_of(config) if role.choose())


def role_of(item: pytest.Item) -> RoleInRun[Any]:
    """Return the role in which a property judges its target."""
    chosen = listener_of(item)
    return next(role for role in roles_of(item.config) if role.judges(chosen))
