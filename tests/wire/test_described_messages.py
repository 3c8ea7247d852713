"""The messages that are described by hand: of clients' beginnings, of administration, and of new leaders, compared with Kafka's own schemas and with literals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.described_apis import described_api
from wire.broker_addresses import DATA_APIS
from wire.codec import decode, encode
from wire.described_messages import (
    ALTER_CLIENT_QUOTAS,
    ALTER_USER_SCRAM_CREDENTIALS,
    CLUSTER_APIS,
    CREATE_TOPICS,
    SASL_APIS,
    cluster_response,
)
from wire.error_codes import ErrorCode
from wire.fields import Field
from wire.message_schemas import Api, message_from


def newest(api: Api) -> int:
    """Return the newest version of an API."""
    assert api.valid_versions.last is not None
    return api.valid_versions.last


ADMINISTRATION = (ALTER_CLIENT_QUOTAS, ALTER_USER_SCRAM_CREDENTIALS, CREATE_TOPICS)
APIS = (*CLUSTER_APIS.values(), *SASL_APIS.values(), *ADMINISTRATION, *DATA_APIS.values())
EACH_API = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
NODES = [(1, "one", 9092), (2, "two", 9093)]


def rows(message: type[Any]) -> list[Any]:
    """Return everything that the field tables of a message and of its elements say."""
    return [message.__name__, message.FLEXIBLE, *(_row(each) for each in message.FIELDS)]


def _row(each: Field) -> tuple[Any, ...]:
    element = None if each.element is None else rows(each.element)
    # The default of a struct is one of its own class, so only its values can be compared.
    default = each.default if element is None else repr(each.default)
    return (
        *(each.name, each.type, each.versions, each.nullable, each.flexible, each.tag),
        *(default, each.items, each.convert, element),
    )


@EACH_API
def test_messages_are_those_of_the_schemas(api: Api) -> None:
    """Names, types, versions, tags, defaults and valid versions are those of the release's own schemas."""
    described = described_api(api.api_key, newest(api))
    assert api.name == described.name
    assert api.valid_versions == described.valid_versions
    # Of these only the responses are described.
    assert api in DATA_APIS.values() or rows(api.request) == rows(described.request)
    assert rows(api.response) == rows(described.response)
    for version in range(newest(api) + 1):
        assert api.request_header_version(version) == described.request_header_version(version)
        assert api.response_header_version(version) == described.response_header_version(version)


def answered(api_key: int, version: int, **request: Any) -> Any:
    """Return the response to a request as it is read from its bytes."""
    api = CLUSTER_APIS[api_key]
    asked = message_from(api.request, request)
    message = cluster_response(api, asked, nodes=NODES, cluster_id="some")
    return decode(api.response, encode(message, version=version), version=version)


@pytest.mark.parametrize("version", range(14))
def test_metadata_lists_all_nodes_and_no_topic(version: int) -> None:
    """Every version lists the nodes; the first one is the controller, and the cluster has its id, where they exist."""
    response = answered(3, version)
    assert [(each.node_id, each.host, each.port) for each in response.brokers] == NODES
    assert response.topics == ()
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == ("some" if version >= 2 else None)


@pytest.mark.parametrize("version", [0, 9, 13])
def test_metadata_knows_no_topic_that_is_named(version: int) -> None:
    """A topic that a request names is unknown."""
    (topic,) = answered(3, version, topics=[{"name": "a"}]).topics
    assert (topic.error_code, topic.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "a")


@pytest.mark.parametrize("version", [0, 3])
def test_one_coordinator_is_the_first_node(version: int) -> None:
    """Up to v3 a response names one coordinator."""
    response = answered(10, version, key="group")
    assert (response.error_code, response.node_id, response.host) == (ErrorCode.NONE, 1, "one")


@pytest.mark.parametrize("version", [4, 6])
def test_each_key_has_its_coordinator(version: int) -> None:
    """From v4 on a response names a coordinator for each key."""
    response = answered(10, version, coordinator_keys=("a", "b"))
    found = [(each.key, each.node_id, each.port) for each in response.coordinators]
    assert found == [("a", 1, 9092), ("b", 1, 9092)]


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster_lists_all_nodes(version: int) -> None:
    """Every version lists the nodes and the cluster id."""
    response = answered(60, version)
    assert [(each.broker_id, each.host, each.port) for each in response.brokers] == NODES
    assert (response.cluster_id, response.controller_id) == ("some", 1)


def test_metadata_v1_has_its_literal_bytes() -> None:
    """One node: id, host, port, null rack; then the controller and no topics."""
    api = CLUSTER_APIS[3]
    message = cluster_response(api, api.request(), nodes=NODES[:1], cluster_id="some")
    broker = bytes.fromhex("00000001") + b"\x00\x03one" + bytes.fromhex("00002384 ffff")
    wanted = bytes.fromhex("00000001") + broker + bytes.fromhex("00000001 00000000")
    assert encode(message, version=1) == wanted
