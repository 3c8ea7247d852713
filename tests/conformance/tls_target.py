"""A pytest plugin: `--bootstrap-server` names a TLS listener, and the target has no other.

Only for fakes; the suite itself reaches TLS listeners of targets that it starts. Load it with
`-p tests.conformance.tls_target`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from fixtures.client.running_broker import Address, RunningBroker
from fixtures.launchers import address
from fixtures.registry.targets import Target
from reference_model.listeners import SSL


def _tls_target(given: Address, **_: object) -> Target:
    return replace(address.address_target(given), listeners=(SSL,))


@contextmanager
def _launch(target: Target) -> Iterator[RunningBroker]:
    table = target.launchers["address"]
    given = Address(table["host"], table["port"])
    yield RunningBroker(target=target, launcher="address", addresses={SSL: given})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the suite's plugin treat the address as that of a TLS listener."""
    # Importing it here would be earlier than pytest's own import.
    plugin = config.pluginmanager.get_plugin("fixtures.plugin")
    assert plugin is not None
    plugin.address_target = _tls_target
    # The check would refuse the listener because it looks like TLS.
    plugin.check_address = lambda given: None
    address.launch_address = _launch
