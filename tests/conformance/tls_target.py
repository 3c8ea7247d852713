"""A pytest plugin for a target whose only listener is a TLS listener.

`--bootstrap-server` names the listener.

Only for fakes; the suite itself reaches TLS listeners of targets that it starts. Load it with
`-p tests.conformance.tls_target`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from fixtures.choosing import listeners
from fixtures.client.running_broker import RunningBroker
from fixtures.launchers import address
from fixtures.launchers.given_broker import GivenListener
from fixtures.registry.targets import Target
from reference_model.profiles.listeners import SSL


def _tls_target(given: Sequence[GivenListener], **_: object) -> Target:
    return address.address_target({SSL: given[0].addresses[0]})


@contextmanager
def _launch(target: Target) -> Iterator[RunningBroker]:
    addresses = target.launchers["address"]["addresses"]
    yield RunningBroker(target=target, launcher="address", addresses=addresses)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the suite's plugin treat the address as that of a TLS listener."""
    # The check would refuse the listener because it looks like TLS.
    vars(listeners).update(expected_target=_tls_target, found_targets=lambda given, **_: [_tls_target(given)])
    address.launch_address = _launch
