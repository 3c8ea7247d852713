"""Schemas of messages other than ApiVersions: SASL, cluster, administration.

The cluster messages are those by which a client learns the brokers. The administration messages prepare a broker.

The suite prepares the brokers that it started with topics, quotas and SCRAM users.

Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid5

from wire.api_keys import (
    ALTER_CLIENT_QUOTAS_KEY,
    ALTER_USER_SCRAM_CREDENTIALS_KEY,
    CREATE_TOPICS_KEY,
    DESCRIBE_CLUSTER_KEY,
    FIND_COORDINATOR_KEY,
    METADATA_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
    UPDATE_FEATURES_KEY,
)
from wire.error_codes import ErrorCode
from wire.message_schemas import Api, api, message_from

METADATA = api(f"""
    {METADATA_KEY} Metadata 0-13 9+
    request
        Topics []MetadataRequestTopic 0+ nullable=1+
            TopicId uuid 10+
            Name string 0+ nullable=10+
        AllowAutoTopicCreation bool 4+ default=true
        IncludeClusterAuthorizedOperations bool 8-10
        IncludeTopicAuthorizedOperations bool 8+
    response
        ThrottleTimeMs int32 3+
        Brokers []MetadataResponseBroker 0+
            NodeId int32 0+
            Host string 0+
            Port int32 0+
            Rack string 1+ nullable=1+ default=null
        ClusterId string 2+ nullable=2+ default=null
        ControllerId int32 1+ default=-1
        Topics []MetadataResponseTopic 0+
            ErrorCode int16 0+
            Name string 0+ nullable=12+
            TopicId uuid 10+
            IsInternal bool 1+ default=false
            Partitions []MetadataResponsePartition 0+
                ErrorCode int16 0+
                PartitionIndex int32 0+
                LeaderId int32 0+
                LeaderEpoch int32 7+ default=-1
                ReplicaNodes []int32 0+
                IsrNodes []int32 0+
                OfflineReplicas []int32 5+
            TopicAuthorizedOperations int32 8+ default=-2147483648
        ClusterAuthorizedOperations int32 8-10 default=-2147483648
        ErrorCode int16 13+
    """)

FIRST_METADATA_WITH_AN_ERROR = 13
"""The first version of Metadata whose response has an error code of its own (KIP-1102)."""

FIND_COORDINATOR = api(f"""
    {FIND_COORDINATOR_KEY} FindCoordinator 0-6 3+
    request
        Key string 0-3
        KeyType int8 1+ default=0
        CoordinatorKeys []string 4+
    response
        ThrottleTimeMs int32 1+
        ErrorCode int16 0-3
        ErrorMessage string 1-3 nullable=1-3
        NodeId int32 0-3
        Host string 0-3
        Port int32 0-3
        Coordinators []Coordinator 4+
            Key string 4+
            NodeId int32 4+
            Host string 4+
            Port int32 4+
            ErrorCode int16 4+
            ErrorMessage string 4+ nullable=4+
    """)

DESCRIBE_CLUSTER = api(f"""
    {DESCRIBE_CLUSTER_KEY} DescribeCluster 0-2 0+
    request
        IncludeClusterAuthorizedOperations bool 0+
        EndpointType int8 1+ default=1
        IncludeFencedBrokers bool 2+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
        EndpointType int8 1+ default=1
        ClusterId string 0+
        ControllerId int32 0+ default=-1
        Brokers []DescribeClusterBroker 0+
            BrokerId int32 0+
            Host string 0+
            Port int32 0+
            Rack string 0+ nullable=0+ default=null
            IsFenced bool 2+
        ClusterAuthorizedOperations int32 0+ default=-2147483648
    """)

BROKERS, CONTROLLERS = 1, 2
"""The endpoint types of DescribeCluster (KIP-919): what it lists."""

SASL_HANDSHAKE = api(f"""
    {SASL_HANDSHAKE_KEY} SaslHandshake 0-1 none
    request
        Mechanism string 0+
    response
        ErrorCode int16 0+
        Mechanisms []string 0+
    """)

SASL_AUTHENTICATE = api(f"""
    {SASL_AUTHENTICATE_KEY} SaslAuthenticate 0-2 2+
    request
        AuthBytes bytes 0+
    response
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+
        AuthBytes bytes 0+
        SessionLifetimeMs int64 1+ default=0
    """)

SASL_APIS: Mapping[int, Api] = MappingProxyType({api.api_key: api for api in (SASL_HANDSHAKE, SASL_AUTHENTICATE)})
"""The two APIs of SASL, by key."""

CLUSTER_APIS: Mapping[int, Api] = MappingProxyType(
    {api.api_key: api for api in (METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER)}
)
"""The APIs that name the brokers of a cluster, by key."""

_TOPICS = UUID(int=1)
"""The namespace of the ids of topics, which follow from their names."""
NodeAddress = tuple[int, str, int]
"""Node id, host and port of a broker."""


CREATE_TOPICS = api(f"""
    {CREATE_TOPICS_KEY} CreateTopics 2-7 5+
    request
        Topics []CreatableTopic 0+
            Name string 0+
            NumPartitions int32 0+
            ReplicationFactor int16 0+
            Assignments []CreatableReplicaAssignment 0+
                PartitionIndex int32 0+
                BrokerIds []int32 0+
            Configs []CreatableTopicConfig 0+
                Name string 0+
                Value string 0+ nullable=0+
        TimeoutMs int32 0+ default=60000
        ValidateOnly bool 1+ default=false
    response
        ThrottleTimeMs int32 2+
        Topics []CreatableTopicResult 0+
            Name string 0+
            TopicId uuid 7+
            ErrorCode int16 0+
            ErrorMessage string 1+ nullable=0+
            TopicConfigErrorCode int16 5+ tag=0 taggedVersions=5+
            NumPartitions int32 5+ default=-1
            ReplicationFactor int16 5+ default=-1
            Configs []CreatableTopicConfigs 5+ nullable=5+
                Name string 5+
                Value string 5+ nullable=5+
                ReadOnly bool 5+
                ConfigSource int8 5+ default=-1
                IsSensitive bool 5+
    """)
UPDATE_FEATURES = api(f"""
    {UPDATE_FEATURES_KEY} UpdateFeatures 0-2 0+
    request
        TimeoutMs int32 0+ default=60000
        FeatureUpdates []FeatureUpdateKey 0+
            Feature string 0+
            MaxVersionLevel int16 0+
            AllowDowngrade bool 0
            UpgradeType int8 1+ default=1
        ValidateOnly bool 1+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+
        Results []UpdatableFeatureResult 0-1
            Feature string 0+
            ErrorCode int16 0+
            ErrorMessage string 0+ nullable=0+
    """)
ALTER_CLIENT_QUOTAS = api(f"""
    {ALTER_CLIENT_QUOTAS_KEY} AlterClientQuotas 0-1 1+
    request
        Entries []EntryData 0+
            Entity []EntityData 0+
                EntityType string 0+
                EntityName string 0+ nullable=0+
            Ops []OpData 0+
                Key string 0+
                Value float64 0+
                Remove bool 0+
        ValidateOnly bool 0+
    response
        ThrottleTimeMs int32 0+
        Entries []EntryData 0+
            ErrorCode int16 0+
            ErrorMessage string 0+ nullable=0+
            Entity []EntityData 0+
                EntityType string 0+
                EntityName string 0+ nullable=0+
    """)
ALTER_USER_SCRAM_CREDENTIALS = api(f"""
    {ALTER_USER_SCRAM_CREDENTIALS_KEY} AlterUserScramCredentials 0 0+
    request
        Deletions []ScramCredentialDeletion 0+
            Name string 0+
            Mechanism int8 0+
        Upsertions []ScramCredentialUpsertion 0+
            Name string 0+
            Mechanism int8 0+
            Iterations int32 0+
            Salt bytes 0+
            SaltedPassword bytes 0+
    response
        ThrottleTimeMs int32 0+
        Results []AlterUserScramCredentialsResult 0+
            User string 0+
            ErrorCode int16 0+
            ErrorMessage string 0+ nullable=0+
    """)


def cluster_response(
    api: Api, request: Any, *, nodes: list[NodeAddress], cluster_id: str, leader_id: int | None = None
) -> Any:
    """Return the response to one of `CLUSTER_APIS`; the first node is coordinator and controller.

    Args:
        api: the API.
        request: the request.
        nodes: the nodes of the cluster.
        cluster_id: the id of the cluster.
        leader_id: the node that leads the only partition of each topic; None for a cluster without topics.
    """
    (first_id, first_host, first_port), *_ = nodes
    if api.api_key == FIND_COORDINATOR_KEY:
        first = {"node_id": first_id, "host": first_host, "port": first_port, "error_message": None}
        coordinators = [{"key": key, **first} for key in request.coordinator_keys]
        return message_from(api.response, {**first, "coordinators": coordinators})
    id_name = "node_id" if api.api_key == METADATA_KEY else "broker_id"
    brokers = [{id_name: id_, "host": host, "port": port} for id_, host, port in nodes]
    about = {"brokers": brokers, "cluster_id": cluster_id, "controller_id": first_id}
    if api.api_key == DESCRIBE_CLUSTER_KEY:
        return message_from(api.response, about)
    topics = [_topic(each, leader_id) for each in request.topics or ()]
    return message_from(api.response, {**about, "topics": topics})


def _topic(asked: Any, leader_id: int | None) -> dict[str, Any]:
    """Return what Metadata says about a topic; one that is asked for by its id alone is unknown."""
    if leader_id is None or asked.name is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return {"error_code": code, "name": asked.name, "topic_id": asked.topic_id}
    partition = {"leader_id": leader_id, "leader_epoch": 0, "replica_nodes": (leader_id,), "isr_nodes": (leader_id,)}
    return {"name": asked.name, "topic_id": uuid5(_TOPICS, asked.name), "partitions": [partition]}
