"""Steps of SASL that are wrong: every kind is drawn, and none is a step that a correct client takes."""

from __future__ import annotations

from hypothesis import given

from strategies.api_versions import build_request
from strategies.broken_sasl_steps import (
    broken_sasl_steps,
    build_authenticate_of_length,
    build_handshake_of_length,
    build_token_of_frame,
)
from tests.strategies.search import unmet
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.exchange import Request
from wire.frames import SIZE_BYTES, read_size
from wire.sasl import BARE_TOKEN


@given(step=broken_sasl_steps())
def test_step_is_a_whole_frame_that_says_what_is_wrong(step: Request) -> None:
    """A broken step is a complete frame of one of the two APIs, or a bare token."""
    assert step.broken
    assert step.api_key in (SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY)
    assert read_size(step.data) == len(step.data) - SIZE_BYTES


def test_every_kind_is_drawn() -> None:
    """Null, too long and foreign contents of both steps are drawn."""
    assert not unmet(
        broken_sasl_steps(),
        {
            "null-mechanism": lambda step: step == build_handshake_of_length(1, -1),
            "long-mechanism": lambda step: (
                step.api_key == SASL_HANDSHAKE_KEY and len(step.data) > 500
            ),
            "null-token": lambda step: step == build_authenticate_of_length(0, -1),
            "null-compact-token": lambda step: step == build_authenticate_of_length(2, -1),
            "token-that-is-a-request": lambda step: (
                step.api_version == BARE_TOKEN
                and step == build_token_of_frame(build_request(version=3))
            ),
            "odd-tags": lambda step: "tags" in step.broken,
        },
    )
