"""The list of all roles.

To add a role, add a module to this folder and its class to the list. CONTRIBUTING describes such a module.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.planning import chosen_of
from conformance.failures.stored_failures import NoStoredFailure
from conformance.roles.broker import BrokerRole, ProxyRole
from conformance.roles.client import ClientRole
from conformance.roles.operation import OperationRole
from conformance.roles.role import RoleInRun

EVERY_ROLE: tuple[type[RoleInRun[Any]], ...] = (OperationRole, ClientRole, ProxyRole, BrokerRole)
"""The first for which a command line chooses anything is the role of the run."""
_OF_RUN = pytest.StashKey[tuple[RoleInRun[Any], ...]]()


def roles_named(name: str) -> tuple[type[RoleInRun[Any]], ...]:
    """Return the roles that have a name in the records, where proxies have that of brokers.

    Raises:
        NoStoredFailure: there is none.
    """
    named = tuple(role for role in EVERY_ROLE if role.name == name)
    if not named:
        names = dict.fromkeys(role.name for role in EVERY_ROLE)
        raise NoStoredFailure(f"role is {name!r}, and not one of {', '.join(names)}")
    return named


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
    chosen = chosen_of(item)
    return next(role for role in roles_of(item.config) if role.judges(chosen))
