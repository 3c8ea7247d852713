"""Hand-written message descriptions compared with Kafka's schemas and literals.

ApiVersions and headers are among them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from fixtures.artefacts.schema_jars import clients_jar, read_schemas
from reference_model.profiles.profile import NEWEST_RELEASE
from tests.described_apis import described_api
from tests.wire.generated_messages import KAFKA_LAYOUTS, MessageLayout
from wire import api_versions
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from wire.broker_addresses import DATA_APIS
from wire.codec import decode, encode
from wire.described_messages import (
    ALTER_CLIENT_QUOTAS,
    ALTER_USER_SCRAM_CREDENTIALS,
    CLUSTER_APIS,
    CREATE_TOPICS,
    SASL_APIS,
    UPDATE_FEATURES,
    cluster_response,
)
from wire.error_codes import ErrorCode
from wire.fields import Field, versions
from wire.group_messages import GROUP_APIS
from wire.header_versions import Schema
from wire.headers import RequestHeader, ResponseHeader
from wire.message_schemas import Api, message_class, message_from
from wire.transaction_messages import TRANSACTION_APIS


def newest(api: Api) -> int:
    """Return the newest version of an API."""
    assert api.valid_versions.last is not None
    return api.valid_versions.last


ADMINISTRATION = (ALTER_CLIENT_QUOTAS, ALTER_USER_SCRAM_CREDENTIALS, CREATE_TOPICS, UPDATE_FEATURES)
ANSWERED_ONLY = tuple(api for api in DATA_APIS.values() if api.api_key not in TRANSACTION_APIS)
APIS = (
    *CLUSTER_APIS.values(),
    *SASL_APIS.values(),
    *ADMINISTRATION,
    *TRANSACTION_APIS.values(),
    *GROUP_APIS.values(),
    *ANSWERED_ONLY,
)
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
    assert api in ANSWERED_ONLY or rows(api.request) == rows(described.request)
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
    api = CLUSTER_APIS[3]
    message = cluster_response(api, api.request(), nodes=NODES[:1], cluster_id="some")
    broker = bytes.fromhex("00000001") + b"\x00\x03one" + bytes.fromhex("00002384 ffff")
    wanted = bytes.fromhex("00000001") + broker + bytes.fromhex("00000001 00000000")
    assert encode(message, version=1) == wanted


MESSAGES = (ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader)


@cache
def schemas() -> dict[str, Schema]:
    """Return the schemas of the newest release by name."""
    return {each["name"]: each for each in read_schemas(clients_jar(NEWEST_RELEASE))}


def structs_of(message: type[Any]) -> Iterator[type[Any]]:
    """Yield a message and the elements of its arrays."""
    yield message
    for each in message.FIELDS:
        if each.element is not None:
            yield from structs_of(each.element)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: each.__name__)
def test_table_is_the_schema(message: type[Any]) -> None:
    """Names, types, order, versions, nullability, tags, flexible versions, and the defaults of optional attributes."""
    made = message_class(schemas()[message.__name__])
    for ours, theirs in zip(structs_of(message), structs_of(made), strict=True):
        assert (ours.__name__, ours.FLEXIBLE) == (theirs.__name__, theirs.FLEXIBLE)
        for own, described in zip(ours.FIELDS, theirs.FIELDS, strict=True):
            compared = dataclasses.replace(described, default=own.default, element=own.element)
            assert own == compared
        defaults = {each.name: each.default for each in dataclasses.fields(theirs)}
        for each in dataclasses.fields(ours):
            assert each.default in (dataclasses.MISSING, defaults[each.name])


def test_api_key_and_newest_version_are_those_of_the_schemas() -> None:
    """Request and response have our API key, and versions up to our newest one."""
    for message in (ApiVersionsRequest, ApiVersionsResponse):
        schema = schemas()[message.__name__]
        assert schema["apiKey"] == API_VERSIONS_KEY
        assert versions(schema["validVersions"]) == (0, NEWEST_VERSION)


@pytest.mark.parametrize("code", [0, 35, 129, 4242])
def test_error_code_is_read_as_its_member(code: int) -> None:
    """An error code decodes to a member of the error codes, known or not, not to a bare number."""
    decoded = decode(ApiVersionsResponse, code.to_bytes(2) + bytes(4), version=0)
    assert decoded.error_code is ErrorCode(code)


def test_constants_agree_with_the_tables() -> None:
    """The constants for versions agree with the field tables."""
    fields = {each.name: each for each in (*ApiVersionsRequest.FIELDS, *ApiVersionsResponse.FIELDS)}
    first = api_versions.FIRST_VERSION_WITH_CLUSTER_CHECK
    assert fields["cluster_id"].versions.first == fields["node_id"].versions.first == first
    assert fields["throttle_time_ms"].versions.first == api_versions.FIRST_VERSION_WITH_THROTTLE_TIME
    for message in (ApiVersionsRequest, ApiVersionsResponse, ApiVersion):
        assert message.FLEXIBLE.first == api_versions.FIRST_FLEXIBLE_VERSION
    assert MessageLayout(ApiVersionsRequest, api_versions.NEWEST_VERSION) in KAFKA_LAYOUTS


def test_range_of_an_api_is_its_first_entry() -> None:
    """A lookup returns the first entry of an API, and None if the API is not listed."""
    first = ApiVersion(api_key=18, min_version=0, max_version=5)
    second = ApiVersion(api_key=18, min_version=1, max_version=2)
    other = ApiVersion(api_key=0, min_version=3, max_version=13)
    response = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=(other, first, second))
    assert response.range_of(18) is first
    assert response.range_of(0) is other
    assert response.range_of(1) is None
