"""A response with a tag section in its header, which no response to ApiVersions has, is distinguished from all others."""

from __future__ import annotations

import pytest

from reference_model.judging.agreement import part_of_response, summary_of
from reference_model.judging.flexible_headers import response_after_tag_section
from strategies.api_versions import build_request
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request

SENT = build_request(version=3, correlation_id=7)
REFUSED = bytes.fromhex("00000007 00 002a 01 00000000 00")
"""INVALID_REQUEST and no table in v3, with an empty tag section in the header."""
RIGHT = bytes.fromhex("00000007 002a 01 00000000 00")


@pytest.mark.parametrize(
    ("sent", "payload", "code"),
    [
        pytest.param(SENT, REFUSED, ErrorCode.INVALID_REQUEST, id="flexible"),
        pytest.param(SENT, RIGHT, None, id="right"),
        pytest.param(SENT, b"\0\0\0\7\xff", None, id="undecodable"),
        pytest.param(build_request(version=2), REFUSED, None, id="older-version"),
    ],
)
def test_tag_section_is_seen(sent: Request, payload: bytes, code: ErrorCode | None) -> None:
    """Only where the version of the request has flexible bodies, and only if nothing else explains the bytes."""
    found = response_after_tag_section(sent, payload)
    assert (found and found.error_code) == code


def test_summary_says_what_differs_from_a_usual_response() -> None:
    """A tag section in the header, and another correlation id; a response without an error code is shown in bytes."""
    seen = Exchange(request=SENT, outcome=Outcome.ANSWER, payload=REFUSED)
    assert "INVALID_REQUEST (42) after a tag section in the response's header" in summary_of(seen)
    seen = Exchange(request=SENT, outcome=Outcome.ANSWER, payload=b"\0\0\0\x08" + RIGHT[4:])
    assert "with the correlation id 8 instead of 7" in summary_of(seen)


@pytest.mark.parametrize(
    ("stray", "expected"),
    [
        ("00 00", ""),
        ("00000002 0000", ""),
        ("7fffffff 00", ""),
        ("00000009 000000", "its size is 9, 3 bytes came, and then the target closed"),
    ],
)
def test_part_of_a_response_is_described(stray: str, expected: str) -> None:
    """Its size and what came of it; nothing is known of less than a size, of all bytes, or of a size that cannot be."""
    seen = Exchange(request=SENT, outcome=Outcome.CLOSED, stray=bytes.fromhex(stray))
    found = part_of_response(seen)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)
