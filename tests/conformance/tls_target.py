"""A pytest plugin: what `--bootstrap-server` names is a TLS listener, and the target has no other.

For fakes only; the suite itself reaches TLS listeners of targets that it starts. `-p tests.conformance.tls_target`
loads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from fixtures.launchers import address
from fixtures.running_broker import Address, RunningBroker
from fixtures.targets import Target
from reference_model.listeners import SSL


def _tls_target(given: Address) -> Target:
    return replace(address.address_target(given), listeners=(SSL,))


@contextmanager
def _launch(target: Target) -> Iterator[RunningBroker]:
    table = target.launchers["address"]
    given = Address(table["host"], table["port"])
    yield RunningBroker(target=target, launcher="address", addresses={SSL: given})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have the suite's plugin take the address for that of a TLS listener."""
    # Not imported here, which would be before pytest does it.
    plugin = config.pluginmanager.get_plugin("fixtures.plugin")
    assert plugin is not None
    plugin.address_target = _tls_target
    # It would say that the listener looks like TLS.
    plugin.check_address = lambda given: None
    address.launch_address = _launch
