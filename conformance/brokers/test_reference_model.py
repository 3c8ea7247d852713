"""Tests of the target's overall behaviour against the model of its release."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given

from conformance.brokers.vocabulary import *


@pytest.mark.malformed
@pytest.mark.clause("MODEL.agrees-with-reference")
@given(sent=any_requests())
@example(sent=build_request(version=5, cluster_id="nobody", node_id=7))
@example(sent=build_request(version=3, client_id='name:with*marks,="?'))
@example(sent=build_request(version=3, body=b"\x05ab"))
# Header v2 on a version without tags, header v3 on the next version, a body of another version.
@example(sent=build_mixed(0, 2, 0))
@example(sent=build_mixed(6, 3, 5))
@example(sent=build_mixed(3, 2, 5))
@example(sent=build_mixed(5, 2, 3))
# Strings in the body: the longest, one byte too long, beyond the frame, not UTF-8.
@example(sent=build_with_string(3, NAMES[0], compact_string(32767, b"a" * 32767), broken=TOO_LONG))
@example(sent=build_with_string(3, NAMES[0], compact_string(32768, b"a" * 32768), broken=TOO_LONG))
@example(sent=build_with_string(3, NAMES[1], compact_string(32767, b""), broken=BEYOND_THE_FRAME))
@example(sent=build_with_string(5, CLUSTER_ID, b"\x04a\xff\xff", broken=NOT_TEXT, ids=True))
# A client id that the frame cuts off, and two faults at once.
@example(sent=build_truncated(0, 12))
@example(sent=build_request(version=3, body=b"\x00\x02a\x01", broken="null name and tag overrun"))
def test_target_does_what_the_model_allows(broker: Broker, sent: Request) -> None:
    """Every request gets one of the responses that the reference model of the release allows."""
    try:
        allowed = reactions(sent.data[SIZE_BYTES:], model_of(broker), broker.identity)
    except NotModelled:
        # The model does not cover the request, so it is not sent.
        assume(condition=False)
        raise
    # In these releases, an ignored request may cost another example the response that is sent at the same time.
    assume(all(reaction.outcome is not Outcome.IGNORED for reaction in allowed))
    exchange = broker.exchange(sent)
    assert_allowed(exchange, allowed, agreement_of(broker), is_kept=exchange.usable)
