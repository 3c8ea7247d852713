"""Checks of GetTelemetrySubscriptions v0, which clients of today send.

They find whether a target serves it, and which ids it returns.

The table of the proposal says this of brokers of today as well, so those that serve v0 are asked, whether they list it
or not. It is no rule for them: what they do differently is noted, because the proposal then describes them wrongly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from hypothesis import assume

from conformance.assertions.errors import Unjudged
from conformance.assertions.other_apis import NoTableReadable, advertised_table
from conformance.assertions.unlisted_apis import is_response_of_served
from fixtures.under_test.broker import Broker
from proposals.kip_1313.assertions import claims_instance_ids, error_in, id_in
from proposals.kip_1313.messages import GET_TELEMETRY_SUBSCRIPTIONS, TELEMETRY_KEYS
from proposals.kip_1313.requests import RESERVED_ID, telemetry_v0
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome
from wire.headers import NO_INSTANCE_ID


@functools.lru_cache(maxsize=8)
def serves_old_telemetry(broker: Broker) -> bool:
    """Return whether a target lists v0 next to a new version, or answers it without an error.

    Raises:
        HarnessError: the target could not be asked. This is not kept.
    """
    if claims_instance_ids(broker, *TELEMETRY_KEYS):
        return True
    try:
        advertised_table(broker)
    except NoTableReadable:
        return False
    before = broker.patience.now()
    with broker.connect() as connection:
        exchange = connection.exchange(telemetry_v0(NO_INSTANCE_ID))
    if exchange.outcome in (Outcome.IGNORED, Outcome.SILENT):
        broker.patience.refund(before)
    is_served = is_response_of_served(GET_TELEMETRY_SUBSCRIPTIONS, exchange)
    return is_served and error_in(exchange) is ErrorCode.NONE


@contextmanager
def noted_of_others(broker: Broker) -> Iterator[None]:
    """Note a failed assertion of a target that does not claim the proposal, which binds it to nothing.

    Raises:
        Unjudged: an assertion fails, or a response does not decode.
    """
    try:
        yield
    except AssertionError as error:
        if isinstance(error, Unjudged) or claims_instance_ids(broker):
            raise
        raise Unjudged(f"other than KIP-1313, a proposal, says of brokers of today: {error}") from error


def id_made(exchange: Exchange) -> UUID:
    """Return the id that a target makes for a client without one; fail if it makes none.

    Raises:
        MalformedAnswer: the response does not decode.
    """
    made = id_in(exchange)
    assert made != NO_INSTANCE_ID, "the broker makes no id for a client that has none"
    return made


def unseen_id(made: UUID, drawn: UUID) -> UUID:
    """Return an id that a target sees for the first time, made of a new one of its own and of a drawn one.

    Apache Kafka refuses a second request under the same id within minutes, also on another connection or in another
    run.
    """
    unseen = UUID(int=made.int ^ drawn.int)
    assume(unseen.int > RESERVED_ID.int)
    return unseen


def is_returned(exchange: Exchange, given: UUID) -> bool:
    """Return whether a response to a client that has an id repeats it; fail if it has a different one.

    Raises:
        MalformedAnswer: the response does not decode.
    """
    instance_id = id_in(exchange)
    assert instance_id in (NO_INSTANCE_ID, given), f"the broker makes the id {instance_id} for a client that has one"
    return instance_id == given
