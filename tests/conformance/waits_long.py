"""A pytest plugin with which every target that several processes judge counts as far away."""

from __future__ import annotations

from conformance.engine import examples_ahead
from fixtures.under_test.broker import Broker


def _far(broker: Broker) -> int:
    return examples_ahead.MOST_AT_ONCE if broker.is_shared else 1


examples_ahead.examples_at_once = _far


def pytest_configure() -> None:
    """Take a target for a far one before its processes start."""
    # Not earlier: pytest rewrites the modules of plugins when it loads them.
    from conformance.engine import jobs_plugin  # noqa: PLC0415

    def two(broker: Broker) -> int:
        return 2

    jobs_plugin.fitting_jobs = two
