"""The messages with which a client begins: SASL, and those by which it learns the brokers of a cluster.

Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from wire.api_keys import (
    DESCRIBE_CLUSTER_KEY,
    FIND_COORDINATOR_KEY,
    METADATA_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.error_codes import ErrorCode
from wire.message_schemas import Api
from wire.schema_notation import api, field

METADATA = api(
    "Metadata",
    METADATA_KEY,
    "0-13",
    "9+",
    [
        field(
            "Topics",
            "[]MetadataRequestTopic",
            "0+",
            field("TopicId", "uuid", "10+"),
            field("Name", "string", "0+", nullable="10+"),
            nullable="1+",
        ),
        field("AllowAutoTopicCreation", "bool", "4+", default="true"),
        field("IncludeClusterAuthorizedOperations", "bool", "8-10"),
        field("IncludeTopicAuthorizedOperations", "bool", "8+"),
    ],
    [
        field("ThrottleTimeMs", "int32", "3+"),
        field(
            "Brokers",
            "[]MetadataResponseBroker",
            "0+",
            field("NodeId", "int32", "0+"),
            field("Host", "string", "0+"),
            field("Port", "int32", "0+"),
            field("Rack", "string", "1+", nullable="1+", default="null"),
        ),
        field("ClusterId", "string", "2+", nullable="2+", default="null"),
        field("ControllerId", "int32", "1+", default="-1"),
        field(
            "Topics",
            "[]MetadataResponseTopic",
            "0+",
            field("ErrorCode", "int16", "0+"),
            field("Name", "string", "0+", nullable="12+"),
            field("TopicId", "uuid", "10+"),
            field("IsInternal", "bool", "1+", default="false"),
            field(
                "Partitions",
                "[]MetadataResponsePartition",
                "0+",
                field("ErrorCode", "int16", "0+"),
                field("PartitionIndex", "int32", "0+"),
                field("LeaderId", "int32", "0+"),
                field("LeaderEpoch", "int32", "7+", default="-1"),
                field("ReplicaNodes", "[]int32", "0+"),
                field("IsrNodes", "[]int32", "0+"),
                field("OfflineReplicas", "[]int32", "5+"),
            ),
            field("TopicAuthorizedOperations", "int32", "8+", default="-2147483648"),
        ),
        field("ClusterAuthorizedOperations", "int32", "8-10", default="-2147483648"),
        field("ErrorCode", "int16", "13+"),
    ],
)

FIND_COORDINATOR = api(
    "FindCoordinator",
    FIND_COORDINATOR_KEY,
    "0-6",
    "3+",
    [
        field("Key", "string", "0-3"),
        field("KeyType", "int8", "1+", default="0"),
        field("CoordinatorKeys", "[]string", "4+"),
    ],
    [
        field("ThrottleTimeMs", "int32", "1+"),
        field("ErrorCode", "int16", "0-3"),
        field("ErrorMessage", "string", "1-3", nullable="1-3"),
        field("NodeId", "int32", "0-3"),
        field("Host", "string", "0-3"),
        field("Port", "int32", "0-3"),
        field(
            "Coordinators",
            "[]Coordinator",
            "4+",
            field("Key", "string", "4+"),
            field("NodeId", "int32", "4+"),
            field("Host", "string", "4+"),
            field("Port", "int32", "4+"),
            field("ErrorCode", "int16", "4+"),
            field("ErrorMessage", "string", "4+", nullable="4+"),
        ),
    ],
)

DESCRIBE_CLUSTER = api(
    "DescribeCluster",
    DESCRIBE_CLUSTER_KEY,
    "0-2",
    "0+",
    [
        field("IncludeClusterAuthorizedOperations", "bool", "0+"),
        field("EndpointType", "int8", "1+", default="1"),
        field("IncludeFencedBrokers", "bool", "2+"),
    ],
    [
        field("ThrottleTimeMs", "int32", "0+"),
        field("ErrorCode", "int16", "0+"),
        field("ErrorMessage", "string", "0+", nullable="0+", default="null"),
        field("EndpointType", "int8", "1+", default="1"),
        field("ClusterId", "string", "0+"),
        field("ControllerId", "int32", "0+", default="-1"),
        field(
            "Brokers",
            "[]DescribeClusterBroker",
            "0+",
            field("BrokerId", "int32", "0+"),
            field("Host", "string", "0+"),
            field("Port", "int32", "0+"),
            field("Rack", "string", "0+", nullable="0+", default="null"),
            field("IsFenced", "bool", "2+"),
        ),
        field("ClusterAuthorizedOperations", "int32", "0+", default="-2147483648"),
    ],
)

BROKERS, CONTROLLERS = 1, 2
"""The endpoint types of DescribeCluster (KIP-919): what it lists."""

SASL_HANDSHAKE = api(
    "SaslHandshake",
    SASL_HANDSHAKE_KEY,
    "0-1",
    "none",
    [field("Mechanism", "string", "0+")],
    [field("ErrorCode", "int16", "0+"), field("Mechanisms", "[]string", "0+")],
)

SASL_AUTHENTICATE = api(
    "SaslAuthenticate",
    SASL_AUTHENTICATE_KEY,
    "0-2",
    "2+",
    [field("AuthBytes", "bytes", "0+")],
    [
        field("ErrorCode", "int16", "0+"),
        field("ErrorMessage", "string", "0+", nullable="0+"),
        field("AuthBytes", "bytes", "0+"),
        field("SessionLifetimeMs", "int64", "1+", default="0"),
    ],
)

SASL_APIS: Mapping[int, Api] = MappingProxyType(
    {api.api_key: api for api in (SASL_HANDSHAKE, SASL_AUTHENTICATE)}
)
"""The two APIs of SASL, by key."""

CLUSTER_APIS: Mapping[int, Api] = MappingProxyType(
    {api.api_key: api for api in (METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER)}
)
"""The APIs that name the brokers of a cluster, by key."""

NodeAddress = tuple[int, str, int]
"""Node id, host and port of a broker."""


def cluster_response(api: Api, request: Any, *, nodes: list[NodeAddress], cluster_id: str) -> Any:
    """Return the response of a cluster that has no topics and whose first node does everything.

    Args:
        api: one of `CLUSTER_APIS`, or the same with more versions.
        request: the decoded request.
        nodes: the brokers.
        cluster_id: the cluster's id.
    """
    (first_id, first_host, first_port), *_ = nodes
    response = api.response
    elements = {each.name: each.element for each in response.FIELDS if each.element is not None}
    if api.api_key == FIND_COORDINATOR_KEY:
        first = {"node_id": first_id, "host": first_host, "port": first_port}
        return response(
            **first,
            coordinators=tuple(
                elements["coordinators"](key=key, error_message=None, **first)
                for key in request.coordinator_keys
            ),
            error_message=None,
        )
    id_name = "node_id" if api.api_key == METADATA_KEY else "broker_id"
    brokers = tuple(
        elements["brokers"](**{id_name: id_, "host": host, "port": port})
        for id_, host, port in nodes
    )
    about = {"brokers": brokers, "cluster_id": cluster_id, "controller_id": first_id}
    if api.api_key == DESCRIBE_CLUSTER_KEY:
        return response(**about)
    unknown = tuple(
        elements["topics"](
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            name=topic.name,
            topic_id=topic.topic_id,
        )
        for topic in request.topics or ()
    )
    return response(**about, topics=unknown)
