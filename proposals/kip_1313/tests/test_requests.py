"""Client instance ids that are drawn: those that a client may have."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given

from proposals.kip_1313.requests import RESERVED_ID, instance_ids
from tests.strategies.search import find_any
from wire.headers import NO_INSTANCE_ID


@given(drawn=instance_ids())
def test_no_reserved_id_is_drawn(drawn: UUID) -> None:
    """Apache Kafka refuses PushTelemetry under the ids 0 and 1, and no client makes either."""
    assert drawn not in (NO_INSTANCE_ID, RESERVED_ID)


def test_ids_that_differ_in_one_bit_are_drawn() -> None:
    """A broker that compares half of the id, or one byte, takes some of them for zero."""
    assert find_any(instance_ids(), lambda drawn: drawn.int < 1 << 64)
    assert find_any(instance_ids(), lambda drawn: drawn.int % (1 << 64) == 0)
