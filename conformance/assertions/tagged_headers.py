"""Sends flexible requests of other APIs with any tag section in their header, and reads the error codes of the responses."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from hypothesis import assume

from conformance.assertions.judging import MalformedAnswer, payload_of
from conformance.assertions.other_apis import advertised_table, send
from fixtures.artefacts.message_schemas import api_catalogue
from fixtures.under_test.broker import Broker
from strategies.minimal_requests import minimal_body
from strategies.tagged_headers import TaggedHeader
from wire.api_keys import READ_ONLY_KEYS
from wire.codec import TAG_SECTION
from wire.errors import DecodeError
from wire.exchange import Exchange, encode_request
from wire.headers import FLEXIBLE_REQUEST_HEADER, RequestHeader
from wire.message_schemas import Api, error_codes_in

CORRELATION_ID = 7


@functools.lru_cache(maxsize=8)
def flexible_apis(broker: Broker) -> tuple[Sequence[tuple[Api, int]], ...]:
    """Return, for each API that only reads, the flexible versions that a target lists, newest first."""
    listed = {entry.api_key: entry for entry in advertised_table(broker)}
    found = []
    for key in READ_ONLY_KEYS:
        versions = [
            (api, version)
            for version in reversed(api_catalogue().versions_of(key))
            if key in listed and listed[key].min_version <= version <= listed[key].max_version
            for api in [api_catalogue().find(key, version)]
            if api is not None and api.request_header_version(version) == FLEXIBLE_REQUEST_HEADER
        ]
        if versions:
            found.append(versions)
    return tuple(found)


def _chosen(broker: Broker, drawn: TaggedHeader) -> tuple[Api, int]:
    apis = flexible_apis(broker)
    assume(apis)
    versions = apis[drawn.api % len(apis)]
    return versions[drawn.below_newest % len(versions)]


def send_tagged(broker: Broker, drawn: TaggedHeader) -> Exchange:
    """Send a request in a flexible version that the target lists, with the drawn tag section in its header."""
    api, version = _chosen(broker, drawn)
    header = RequestHeader(
        request_api_key=api.api_key, request_api_version=version, correlation_id=CORRELATION_ID
    )
    request = encode_request(
        header,
        minimal_body(api, version),
        layout=api.layout(version),
        raw_header={TAG_SECTION: drawn.section},
    )
    return send(broker, request)


def codes_of_other_api(broker: Broker, drawn: TaggedHeader) -> frozenset[int]:
    """Return the error codes in the response to a request, which has the flexible response header.

    Raises:
        MalformedAnswer: there is no response, or it does not decode.
    """
    api, version = _chosen(broker, drawn)
    exchange = send_tagged(broker, drawn)
    payload = payload_of(exchange)
    try:
        _, response = api.decode_response(payload, version)
    except DecodeError as error:
        raise MalformedAnswer(
            exchange, f"not decodable as {api.name} v{version}: {error}", error
        ) from error
    return frozenset(error_codes_in(response, version))
