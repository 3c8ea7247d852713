"""The proxy of `watch` keeps its promises, and planted faults of it are found."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.watch.relay_checks import CHECKS

ENOUGH_S = 20


@pytest.mark.parametrize("name", CHECKS)
def test_the_proxy_keeps_its_promises(name: str) -> None:
    """Each check holds."""
    asyncio.run(asyncio.wait_for(CHECKS[name](), ENOUGH_S))
