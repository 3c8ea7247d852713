"""Requests of other APIs that only read, in versions that a target serves.

The target also lists these versions.

They are sent where the API does not matter: in pipelines, on connections that never asked for ApiVersions, and with any
tag section in the header of a flexible version.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hypothesis import assume

from conformance.assertions.decoding import payload_of
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.items import Item, names_of
from conformance.assertions.other_apis import SLOWEST_ANSWER_S, advertised_table, api_of
from fixtures.artefacts.schema_jars import api_catalogue
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from strategies.minimal_requests import minimal_body, minimal_request
from strategies.other_apis import TaggedHeader
from wire.api_keys import FETCH_KEY, METADATA_KEY, PRODUCE_KEY, READ_ONLY_KEYS
from wire.api_versions import ApiVersion
from wire.codec import TAG_SECTION
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, encode_request, probe_request
from wire.header_versions import FLEXIBLE_REQUEST_HEADER
from wire.message_schemas import error_codes_in
from wire.plain_header import PLAIN_CLIENT_ID, plain_header

AWAITING_RECORDS = {"max_wait_ms": 100, "min_bytes": 1}
"""Fields of Fetch. Apache Kafka waits only for partitions, of which the requests have none."""


@functools.lru_cache(maxsize=8)
def read_only_items(broker: Broker) -> tuple[Item, ...]:
    """Return the oldest and the newest version of each read-only API that a target lists and serves.

    A version counts as served if it is answered after ApiVersions on the same connection; whether each listed version
    is served is judged by another clause. None if the table cannot be read, which other clauses judge as well.
    """
    return tuple(item for item in listed_items(broker) if _is_served(broker, item))


def listed_items(broker: Broker) -> tuple[Item, ...]:
    """Return the oldest and the newest version of each read-only API that a target lists.

    Versions that the target lists but does not serve are included.
    """
    return tuple(item for key in READ_ONLY_KEYS for item in _listed(broker, key))


def short_items(broker: Broker) -> Sequence[Item]:
    """Return the read-only versions that a target serves without Metadata v0, which lists all topics of a cluster."""
    return [item for item in read_only_items(broker) if item[1:] != (METADATA_KEY, 0)]


@functools.lru_cache(maxsize=8)
def produce_items(broker: Broker) -> tuple[Item, ...]:
    """Return the oldest and the newest version of Produce that a target lists and serves."""
    return tuple(item for item in _listed(broker, PRODUCE_KEY) if _is_served(broker, item))


@functools.lru_cache(maxsize=8)
def slow_items(broker: Broker) -> tuple[Item, ...]:
    """Return the newest and the oldest version of Produce and Fetch that a target serves.

    In a read-only run, return versions of Fetch alone.

    Brokers and proxies hand these to a disk or to another broker, while they answer others at once.
    """
    produce = () if broker.target.is_read_only else produce_items(broker)
    fetch = (item for item in _listed(broker, FETCH_KEY) if _is_served(broker, item))
    return (*reversed(produce), *reversed(tuple(fetch)))


def slow_request_of(item: Item, *, correlation_id: int) -> Request:
    """Return a request of one of `slow_items`, which names no topic; Fetch asks the target to wait for records."""
    return minimal_request(api_of(item), item.api_version, correlation_id=correlation_id, values=AWAITING_RECORDS)


def _listed(broker: Broker, api_key: int) -> tuple[Item, ...]:
    try:
        return items_of_table(advertised_table(broker), api_key)
    except HarnessError:
        return ()


def items_of_table(table: Iterable[ApiVersion], api_key: int) -> tuple[Item, ...]:
    """Return the oldest and the newest version of an API that a table lists and a schema describes."""
    entry = next((each for each in table if each.api_key == api_key), None)
    if entry is None:
        return ()
    name = api_catalogue().name_of(api_key)
    described = api_catalogue().versions_of(api_key)
    listed = [each for each in described if entry.min_version <= each <= entry.max_version]
    return tuple(Item(name, api_key, version) for version in sorted({*listed[:1], *listed[-1:]}))


def _is_served(broker: Broker, item: Item) -> bool:
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        exchanges = connection.converse_in_turn([probe_request(broker.readable_version), request_of(item)])
    return len(exchanges) == 2 and why_unserved(item, exchanges[1]) == ""


def request_of(item: Item, *, correlation_id: int = 7, client_id: str | None = PLAIN_CLIENT_ID) -> Request:
    """Return the minimal request of a version that a schema describes."""
    api = api_of(item)
    return minimal_request(api, item.api_version, correlation_id=correlation_id, client_id=client_id)


def request_without_response(item: Item, *, correlation_id: int = 7) -> Request:
    """Return a request of Produce without records and with acks 0, the only one that gets no response."""
    api = api_of(item)
    request = minimal_request(api, item.api_version, correlation_id=correlation_id, values={"acks": 0})
    return replace(request, has_response=False)


def why_unserved(item: Item, exchange: Exchange) -> str:
    """Return why a request of a version does not count as served; empty if it does."""
    if exchange.outcome is not Outcome.ANSWER or exchange.payload is None:
        return str(exchange.outcome)
    api = api_of(item)
    try:
        correlation_id, _ = api.decode_response(exchange.payload, item.api_version)
    except DecodeError as error:
        return f"its response cannot be decoded: {error}"
    return "" if correlation_id == exchange.request.correlation_id else "another correlation id"


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


def send_tagged(broker: Broker, drawn: TaggedHeader, *, broken: str = "") -> Exchange:
    """Send a request in a flexible version, after ApiVersions, with the drawn tag section in its header.

    Args:
        broker: the target.
        drawn: the request.
        broken: what is wrong with the section; empty if nothing is.
    """
    item = _chosen(broker, drawn)
    api = api_of(item)
    request = encode_request(
        plain_header(item.api_key, item.api_version, client_id=""),
        minimal_body(api, item.api_version),
        layout=api.layout(item.api_version),
        raw_header={TAG_SECTION: drawn.section},
        broken=broken,
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
    return codes_in(_chosen(broker, drawn), send_tagged(broker, drawn))


def codes_in(item: Item, exchange: Exchange) -> frozenset[int]:
    """Return the error codes in the response to a version of another API.

    Raises:
        MalformedAnswer: there is no response, or it does not decode.
    """
    payload = payload_of(exchange)
    try:
        _, response = api_of(item).decode_response(payload, item.api_version)
    except DecodeError as error:
        name = f"{item.name} v{item.api_version}"
        raise MalformedAnswer(exchange, f"not decodable as {name}: {error}") from error
    return frozenset(error_codes_in(response, item.api_version))


def exchange_in_turn(broker: Broker, requests: Iterable[Request]) -> tuple[Exchange, ...]:
    """Send requests on one connection, each after the response to the one before.

    The first request is ApiVersions. Stop at the first request without a response.

    Returns:
        The exchanges without that of ApiVersions.
    """
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        first, *others = connection.converse_in_turn([probe_request(broker.readable_version), *requests])
    payload_of(first)
    return tuple(others)


def assert_served_as_plain(broker: Broker, items: Sequence[Item], build: Callable[[Item], Request]) -> None:
    """Fail unless a request of each version gets the error codes of a plain one; all are sent on one connection.

    Raises:
        MalformedAnswer: a request gets no response, also a plain one after another, or the response does not decode.
    """
    requests = [request for item in items for request in (request_of(item), build(item))]
    twice = [item for item in items for _ in range(2)]
    exchanges = exchange_in_turn(broker, requests)
    codes = [codes_in(*each) for each in zip(twice, exchanges, strict=False)]
    for item, plain, odd in zip(items, codes[::2], codes[1::2], strict=True):
        assert odd == plain, f"the response has other error codes\n{names_of([item])}"


def request_with_body_tags(item: Item, section: bytes) -> Request:
    """Return the minimal request of a flexible version with a tag section at the end of its body."""
    api = api_of(item)
    return encode_request(
        plain_header(item.api_key, item.api_version),
        minimal_body(api, item.api_version, raw={TAG_SECTION: section}),
        layout=api.layout(item.api_version),
    )
