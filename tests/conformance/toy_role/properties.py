"""The properties of the toy role.

Pytest does not collect the module by its name.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given

from conformance.assertions.decoding import decode_answer
from fixtures.under_test.in_memory import InMemoryBroker
from strategies.api_versions import api_versions_requests, build_request
from wire.error_codes import ErrorCode
from wire.exchange import Request


@pytest.mark.clause("KIP-35.v0-always-served")
@example(sent=build_request(version=0))
@given(sent=api_versions_requests(max_version=0))
def test_version_0_is_served(toy: InMemoryBroker, sent: Request) -> None:
    """The model serves ApiVersions v0."""
    answer = decode_answer(toy.exchange(sent), api_version=0)
    assert answer.error_code is ErrorCode.NONE
