"""What counts as a refusal, and what as the response that the model expects."""

from __future__ import annotations

import pytest

from conformance.assertions.model_agreement import refuses
from fixtures.artefacts.message_schemas import api_catalogue
from strategies.minimal_requests import minimal_request
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome

LIST_GROUPS, METADATA, OFFSET_FETCH, LEADER_AND_ISR = 16, 3, 9, 4


def answered(api_key: int, api_version: int, payload: str) -> Exchange:
    """An exchange in which a minimal request got these bytes (hexadecimal)."""
    api = api_catalogue().find(api_key, api_version)
    assert api is not None
    return Exchange(
        request=minimal_request(api, api_version),
        outcome=Outcome.ANSWER,
        payload=bytes.fromhex(payload),
    )


@pytest.mark.parametrize(
    ("api_key", "api_version", "payload", "expected"),
    [
        pytest.param(LIST_GROUPS, 0, "00000007 0022 00000000", True, id="error-alone"),
        pytest.param(
            LIST_GROUPS, 0, "00000007 0022 00000001 0001 61 0001 62", False, id="error-and-a-group"
        ),
        pytest.param(LIST_GROUPS, 0, "00000007 0000 00000000", False, id="another-error-code"),
        pytest.param(LIST_GROUPS, 0, "00000007 0022", False, id="does-not-decode"),
        pytest.param(METADATA, 0, "00000007 00000000 00000000", True, id="no-code-of-its-own"),
        pytest.param(
            METADATA,
            0,
            "00000007 00000001 00000001 0001 61 00000001 00000000",
            False,
            id="no-code-and-a-broker",
        ),
        pytest.param(
            OFFSET_FETCH,
            8,
            "00000007 00 00000000 02 02 61 01 0022 00 00",
            True,
            id="code-per-entry",
        ),
        pytest.param(
            OFFSET_FETCH,
            8,
            "00000007 00 00000000 02 02 61 01 0000 00 00",
            False,
            id="entry-without-an-error",
        ),
        pytest.param(LEADER_AND_ISR, 0, "00000007 0000 00000000", False, id="empty-success"),
    ],
)
def test_refusal_holds_nothing_but_the_error(
    api_key: int, api_version: int, payload: str, expected: bool
) -> None:
    """A response refuses if all its error codes are the one asked for and its lists hold nothing else."""
    exchange = answered(api_key, api_version, payload)
    assert refuses(exchange, ErrorCode.ILLEGAL_SASL_STATE) is expected
