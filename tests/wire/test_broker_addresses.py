"""The addresses of brokers in responses, replaced by those of a proxy."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.wire.filled_messages import filled_message
from wire.broker_addresses import DATA_APIS, addresses_in, with_addresses
from wire.described_messages import CLUSTER_APIS, FIND_COORDINATOR, METADATA, cluster_response
from wire.message_schemas import Api, message_from
from wire.transaction_messages import PRODUCE

BROKER, PROXY, OTHER = ("broker.example", 9092), ("127.0.0.1", 40001), ("elsewhere", 9093)
CASES = [
    pytest.param(api, version, id=f"{api.name}-v{version}")
    for api in CLUSTER_APIS.values()
    for version in api.valid_versions
]


def payload_of(api: Api, version: int, *nodes: tuple[str, int]) -> bytes:
    """Return the response of a cluster with nodes at these addresses."""
    request: Any = api.request(**({"coordinator_keys": ("a group",)} if api is FIND_COORDINATOR else {}))
    numbered = [(number, *address) for number, address in enumerate(nodes, 1)]
    response = cluster_response(api, request, nodes=numbered, cluster_id="a-cluster")
    return api.response_payload(response, version, correlation_id=7)


@pytest.mark.parametrize(("api", "version"), CASES)
def test_known_addresses_are_replaced(api: Api, version: int) -> None:
    """The result is the response of a cluster at the other addresses, byte for byte."""
    before = payload_of(api, version, BROKER, OTHER)
    after = with_addresses(before, api.api_key, version, {BROKER: PROXY})
    assert after == payload_of(api, version, PROXY, OTHER)


@pytest.mark.parametrize(("api", "version"), CASES)
def test_named_addresses_are_found(api: Api, version: int) -> None:
    """FindCoordinator names one broker, the other responses all; one that is empty, as in an error, is none."""
    payload = payload_of(api, version, BROKER, OTHER)
    expected = (BROKER,) if api is FIND_COORDINATOR else (BROKER, OTHER)
    assert addresses_in(payload, api.api_key, version) == expected
    assert addresses_in(payload_of(api, version, ("", -1)), api.api_key, version) == ()


def test_addresses_that_cannot_be_read_are_not_none_at_all() -> None:
    """An API that names no broker has none, whatever its response is."""
    payload = payload_of(METADATA, 12, BROKER)
    assert addresses_in(payload, METADATA.api_key, 99) is None
    assert addresses_in(payload[:-1], METADATA.api_key, 12) is None
    assert addresses_in(payload, 2, 12) == ()


FIRST_WITH_LEADERS = {0: 10, 1: 16}
LEADERS = [
    pytest.param(api, version, id=f"{api.name}-v{version}")
    for api in DATA_APIS.values()
    for version in api.valid_versions
]


def leaders_of(api: Api, version: int, *leaders: tuple[str, int]) -> bytes:
    """Return a response in which every field has a value; it names new leaders at these addresses if its version
    can."""
    response = filled_message(api.response, version)
    if version >= FIRST_WITH_LEADERS.get(api.api_key, 0):
        named = [{"node_id": 1, "host": host, "port": port} for host, port in leaders]
        with_leaders = message_from(api.response, {"node_endpoints": named})
        response = dataclasses.replace(response, node_endpoints=with_leaders.node_endpoints)
    return api.response_payload(response, version, correlation_id=7)


@pytest.mark.parametrize(("api", "version"), LEADERS)
def test_new_leaders_of_partitions_are_replaced(api: Api, version: int) -> None:
    before = leaders_of(api, version, BROKER, OTHER)
    can_name_them = version >= FIRST_WITH_LEADERS.get(api.api_key, 0)
    found = (BROKER, OTHER) if can_name_them else ()
    assert addresses_in(before, api.api_key, version) == found
    after = leaders_of(api, version, PROXY, OTHER)
    assert with_addresses(before, api.api_key, version, {BROKER: PROXY}) == after
    assert (after == before) is not can_name_them


def test_version_of_the_future_may_name_leaders() -> None:
    """Nothing is known of what it names."""
    assert addresses_in(b"\0\0\0\7", PRODUCE.api_key, 99) is None


@pytest.mark.parametrize(
    ("api_key", "version", "payload"),
    [
        pytest.param(2, 3, b"\0\0\0\7whatever", id="api-without-addresses"),
        pytest.param(0, 9, b"\0\0\0\7whatever", id="version-without-addresses"),
        pytest.param(METADATA.api_key, 99, payload_of(METADATA, 12, BROKER), id="unknown-version"),
        pytest.param(METADATA.api_key, 12, b"\0\0\0\7\0", id="truncated"),
        pytest.param(METADATA.api_key, 12, payload_of(METADATA, 12, OTHER), id="other-address"),
    ],
)
def test_anything_else_stays_as_it_is(api_key: int, version: int, payload: bytes) -> None:
    """What cannot be read is passed on."""
    assert with_addresses(payload, api_key, version, {BROKER: PROXY}) == payload
