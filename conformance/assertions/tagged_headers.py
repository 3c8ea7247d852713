"""Sends flexible requests of other APIs with any tag section in their header, and reads the error codes of the responses."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume

from conformance.assertions.items import Item
from conformance.assertions.judging import MalformedAnswer, payload_of
from conformance.assertions.other_apis import SLOWEST_ANSWER_S, api_of
from conformance.assertions.read_only_apis import read_only_items
from fixtures.under_test.broker import Broker
from strategies.minimal_requests import minimal_body
from strategies.tagged_headers import TaggedHeader
from wire.codec import TAG_SECTION
from wire.errors import DecodeError
from wire.exchange import Exchange, encode_request, probe_request
from wire.headers import FLEXIBLE_REQUEST_HEADER, RequestHeader
from wire.message_schemas import error_codes_in

CORRELATION_ID = 7


def flexible_items(broker: Broker) -> Sequence[Item]:
    """Return the flexible versions among the read-only ones that a target serves."""
    return [
        item
        for item in read_only_items(broker)
        if api_of(item).request_header_version(item.api_version) == FLEXIBLE_REQUEST_HEADER
    ]


def _chosen(broker: Broker, drawn: TaggedHeader) -> Item:
    items = flexible_items(broker)
    assume(items)
    return items[drawn.place % len(items)]


def send_tagged(broker: Broker, drawn: TaggedHeader) -> Exchange:
    """Send a request in a flexible version, after ApiVersions, with the drawn tag section in its header."""
    item = _chosen(broker, drawn)
    api = api_of(item)
    header = RequestHeader(
        request_api_key=item.api_key,
        request_api_version=item.api_version,
        correlation_id=CORRELATION_ID,
    )
    request = encode_request(
        header,
        minimal_body(api, item.api_version),
        layout=api.layout(item.api_version),
        raw_header={TAG_SECTION: drawn.section},
    )
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        payload_of(connection.converse([probe_request(broker.readable_version)])[0])
        # No sentinel: what a broker does with two requests that come together is judged by another clause.
        return connection.converse([request])[0]


def codes_of_other_api(broker: Broker, drawn: TaggedHeader) -> frozenset[int]:
    """Return the error codes in the response to a request, which has the flexible response header.

    Raises:
        MalformedAnswer: there is no response, or it does not decode.
    """
    item = _chosen(broker, drawn)
    exchange = send_tagged(broker, drawn)
    payload = payload_of(exchange)
    try:
        _, response = api_of(item).decode_response(payload, item.api_version)
    except DecodeError as error:
        name = f"{item.name} v{item.api_version}"
        raise MalformedAnswer(exchange, f"not decodable as {name}: {error}") from error
    return frozenset(error_codes_in(response, item.api_version))
