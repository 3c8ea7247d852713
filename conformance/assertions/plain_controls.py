"""Control requests in the versions that a target serves.

Each plain request is sent once in a run.
"""

from __future__ import annotations

from conformance.assertions.asserting import assert_error
from conformance.assertions.decoding import decode_answer
from conformance.assertions.errors import MalformedAnswer, ResponseFault
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from reference_model.judging.outcome_texts import what_followed
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import probe_request


def surplus_after_plain(broker: Broker) -> MalformedAnswer | None:
    """Return what follows a plain response and belongs to no request, in a version that the example asked for.

    What is read after that are not the responses to the requests, so it may be wrong in any way. None if nothing
    follows, or if that cannot be seen, for example because no table can be read.
    """
    try:
        return _surplus_after_plain(broker)
    except HarnessError:
        return None


def _surplus_after_plain(broker: Broker) -> MalformedAnswer | None:
    sent = [each.request for step in broker.journal for each in step.exchanges]
    versions = {each.api_version for each in sent if each.api_key == API_VERSIONS_KEY}
    for version in sorted({*versions, broker.readable_version}):
        plain = broker.plain_exchange(version)
        if plain.surplus:
            return MalformedAnswer(plain, what_followed(plain), fault=ResponseFault.FRAME)
    return None


def is_served_after_login(broker: Broker, version: int) -> bool:
    """Return whether a listener with SASL serves a version after authentication; False if that cannot be seen."""
    if not broker.asks_for_authentication:
        return False
    try:
        (exchange,) = broker.in_turn_apart([probe_request(version)])
        decode_answer(exchange, api_version=version)
        assert_error(exchange, ErrorCode.NONE)
    except (HarnessError, MalformedAnswer):
        return False
    return True
