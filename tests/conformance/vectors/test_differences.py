"""Tests of the sentence about a response that a vector does not allow."""

from __future__ import annotations

import pytest

from conformance.vectors.differences import what_differs
from reference_model.broker.rules.reaction import Listing, Reaction
from reference_model.judging.agreement import Agreement
from reference_model.profiles.profile import NEWEST_RELEASE, profile_of
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, probe_request

AGREEMENT = Agreement(profile_of(NEWEST_RELEASE))
TABLE_V3 = Reaction(clause="x", response_version=3, listing=Listing.EVERYTHING)
REFUSED = Reaction(clause="x", error_code=ErrorCode.UNSUPPORTED_VERSION, listing=Listing.ITSELF)
CORRELATION_ID = probe_request(3).data[8:12].hex()


@pytest.mark.parametrize(
    ("allowed", "body", "end"),
    [
        pytest.param(
            TABLE_V3,
            "0000 02 0012 0000 0005 00 00000000",
            "NONE (0), but byte 22 of the frame is wrong for v3: ",
            id="a body that ends before its tag section",
        ),
        pytest.param(TABLE_V3, "0000 01 00000000 00", "NONE (0) in v3 listing nothing; ", id="an empty table"),
        pytest.param(
            REFUSED, "0023 00000000", "UNSUPPORTED_VERSION (35) in v0 listing nothing; ", id="an empty refusal"
        ),
        pytest.param(
            REFUSED,
            "0023 00000001 0012 0000 0004",
            "UNSUPPORTED_VERSION (35) in v0 listing itself; ",
            id="another range",
        ),
    ],
)
def test_the_sentence_says_what_is_wrong_with_a_body(allowed: Reaction, body: str, end: str) -> None:
    payload = bytes.fromhex(CORRELATION_ID + body)
    exchange = Exchange(request=probe_request(3), outcome=Outcome.ANSWER, payload=payload)
    assert f"; the target answered {end}" in what_differs(exchange, (allowed,), AGREEMENT)


def test_the_sentence_says_that_a_connection_stays_open() -> None:
    payload = bytes.fromhex(f"{CORRELATION_ID} 0000 01 00000000 00")
    exchange = Exchange(request=probe_request(3), outcome=Outcome.ANSWER, payload=payload)
    text = what_differs(exchange, (TABLE_V3,), AGREEMENT, stays_open=True)
    assert text.endswith("the target answered NONE (0), and the connection stays open")


def test_the_sentence_about_a_close_has_no_more() -> None:
    exchange = Exchange(request=probe_request(3), outcome=Outcome.CLOSED)
    assert what_differs(exchange, (TABLE_V3,), AGREEMENT).endswith("; the target closed the connection")
