"""A pytest plugin that treats each shared target as far away.

Several processes judge a shared target.
"""

from __future__ import annotations

from conformance.engine import examples_ahead
from fixtures.under_test.broker import Broker


def _far(broker: Broker) -> int:
    return examples_ahead.MAX_AT_ONCE if broker.is_shared else 1


examples_ahead.examples_at_once = _far
