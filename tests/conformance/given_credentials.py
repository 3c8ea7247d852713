"""A pytest plugin for runs of the suite: the credentials of the reference broker count as a user's own."""

from __future__ import annotations

from functools import partial

import pytest

from fixtures.client.running_broker import SaslAccess
from fixtures.launchers import built_in


@pytest.hookimpl
def pytest_configure() -> None:
    """Mark the credentials of every reference broker that is started."""
    setattr(built_in, SaslAccess.__name__, partial(SaslAccess, is_given=True))
