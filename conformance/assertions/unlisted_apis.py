"""Requests of the APIs that a target's table leaves out.

They show whether the target serves these APIs although it does not list them.

Versions next to the range of an API that the table lists are those of `other_apis.neighbouring_items`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from conformance.assertions.items import Item, Problem
from conformance.assertions.other_apis import api_for, filled_table
from conformance.assertions.sendable_apis import is_skipped, request_to
from fixtures.artefacts.schema_jars import catalogue_of
from fixtures.under_test.broker import Broker
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome
from wire.headers import CORRELATION_ID_BYTES
from wire.message_schemas import Api, error_codes_in
from wire.primitives import NO_TAGS, write_int16

MAX_UNANSWERED = 8
"""A sweep ends after this many requests without a response or a close, because each one costs a silence bound."""
ERRORS_IF_SERVED = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.STALE_CONTROLLER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.DELEGATION_TOKEN_NOT_FOUND,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.STALE_BROKER_EPOCH,
        # Apache Kafka 3.7 to 3.9, for a second PushTelemetry within the interval.
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_CONTROLLER_ID,
        ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.VOTER_NOT_FOUND,
        ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
    }
)
"""Errors about what a minimal request names, or about how often it comes: only a broker that serves the API finds
that out. Any other error may be how a broker refuses an API that it does not serve."""
_REFUSAL = write_int16(ErrorCode.UNSUPPORTED_VERSION)


def unlisted_items(broker: Broker) -> Iterator[Item]:
    """Yield every described version of the APIs that the table leaves out.

    A version is described if it has a schema. APIs that may not be sent are excluded.
    """
    return (item for item in _unlisted(broker) if not is_skipped(broker, item.api_key))


def unlisted_skipped(broker: Broker) -> tuple[str, ...]:
    """Return the APIs that the table leaves out, and that are not requested of this target."""
    skipped = (item.name for item in _unlisted(broker) if is_skipped(broker, item.api_key))
    return tuple(dict.fromkeys(skipped))


def _unlisted(broker: Broker) -> Iterator[Item]:
    # That ApiVersions is listed is judged by a separate clause.
    listed = {API_VERSIONS_KEY, *(entry.api_key for entry in filled_table(broker))}
    catalogue = catalogue_of(broker.target)
    for api_key in dict.fromkeys(api.api_key for api in catalogue):
        if api_key not in listed:
            for api_version in catalogue.versions_of(api_key):
                yield Item(catalogue.name_of(api_key), api_key, api_version)


@functools.lru_cache(maxsize=8)
def unanswered(broker: Broker) -> set[Item]:
    """Return the items that `check_unlisted` saw neither answered nor refused, which is no violation but takes time."""
    return set()


def check_unlisted(broker: Broker, item: Item) -> Exchange:
    """Request one version of an API that the table leaves out.

    Raises:
        Problem: it is served.
    """
    api = api_for(broker, item)
    before = broker.patience.now()
    with broker.connect(authenticate=True) as connection:
        exchange = connection.exchange(request_to(broker, api, item.api_version))
    if exchange.outcome in (Outcome.IGNORED, Outcome.SILENT):
        broker.patience.refund(before)
        unanswered(broker).add(item)
    if is_response_of_served(api, exchange):
        raise Problem("served, although the table does not list the API")
    return exchange


def is_response_of_served(api: Api, exchange: Exchange) -> bool:
    """Return whether a response shows that the target serves the requested version.

    Such a response has the layout of the version, and no error that refuses the request.
    """
    if exchange.payload is None or exchange.outcome is not Outcome.ANSWER:
        return False
    # A refusal in the layout of ApiVersions v0, whose error code may look like the beginning of a throttle time here.
    after_id = exchange.payload[CORRELATION_ID_BYTES:]
    if after_id.startswith((_REFUSAL, NO_TAGS + _REFUSAL)):
        return False
    api_version = exchange.request.api_version
    try:
        _, response = api.decode_response(exchange.payload, api_version)
    except DecodeError:
        return False
    return set(error_codes_in(response, api_version)) <= ERRORS_IF_SERVED | {ErrorCode.NONE}
