"""Tests of what a refusal consists of.

They check which refusals are judged, and that refusals judged by other clauses are rejected.
"""

from __future__ import annotations

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.refusals import decode_success_or_refusal, is_plain
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from strategies.refused_requests import HALF_AN_IDENTITY, ILLEGAL_NAME, WRONG_IDS
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request

REFUSAL = "00000007 002a 01 00000000 00"
PLAIN = build_request(version=3)


def answered(sent: Request, payload: str) -> Exchange:
    """Return a request with its response, in hexadecimal."""
    return Exchange(request=sent, outcome=Outcome.ANSWER, payload=bytes.fromhex(payload))


def test_only_names_and_ids_make_a_request_unusual() -> None:
    """A request without either is plain, whatever its header has."""
    assert is_plain(PLAIN)
    assert is_plain(build_request(version=5, correlation_id=-1, client_id=None))
    assert not any(map(is_plain, (ILLEGAL_NAME, WRONG_IDS, HALF_AN_IDENTITY)))


def test_refusal_is_read_in_the_layout_of_its_version() -> None:
    answer = decode_success_or_refusal(answered(ILLEGAL_NAME, REFUSAL), api_version=3)
    assert answer.error_code is ErrorCode.INVALID_REQUEST
    assert (answer.throttle_time_ms, answer.finalized_features_epoch) == (0, -1)


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(answered(ILLEGAL_NAME, "00000007 002a 00000000"), id="v0-layout"),
        pytest.param(Exchange(request=ILLEGAL_NAME, outcome=Outcome.CLOSED), id="closed"),
    ],
)
def test_refusal_in_another_layout_is_judged_elsewhere(exchange: Exchange) -> None:
    """Without a refusal in the right layout there are no fields to judge; a plain request is judged as any."""
    with assumptions_outside_hypothesis(), pytest.raises(UnsatisfiedAssumption):
        decode_success_or_refusal(exchange, api_version=3)
    plain = Exchange(request=PLAIN, outcome=exchange.outcome, payload=exchange.payload)
    with pytest.raises(MalformedAnswer):
        decode_success_or_refusal(plain, api_version=3)
