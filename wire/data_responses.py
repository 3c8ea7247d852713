"""The responses with which brokers say that a partition has another leader, and where that one is (KIP-951).

Only the responses are described. Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wire.api_keys import FETCH_KEY, PRODUCE_KEY, SHARE_ACKNOWLEDGE_KEY, SHARE_FETCH_KEY
from wire.message_schemas import Api, Schema
from wire.schema_notation import api, field


def _node_endpoints(versions: str, **others: str) -> Schema:
    return field(
        "NodeEndpoints",
        "[]NodeEndpoint",
        versions,
        field("NodeId", "int32", versions),
        field("Host", "string", versions),
        field("Port", "int32", versions),
        field("Rack", "string", versions, nullable=versions, default="null"),
        **others,
    )


def _tagged_leader(versions: str, tag: str) -> Schema:
    return field(
        "CurrentLeader",
        "LeaderIdAndEpoch",
        versions,
        field("LeaderId", "int32", versions, default="-1"),
        field("LeaderEpoch", "int32", versions, default="-1"),
        tag=tag,
    )


_ERROR = (
    field("ErrorCode", "int16", "0+"),
    field("ErrorMessage", "string", "0+", nullable="0+", default="null"),
)
_LEADER = field(
    "CurrentLeader",
    "LeaderIdAndEpoch",
    "0+",
    field("LeaderId", "int32", "0+"),
    field("LeaderEpoch", "int32", "0+"),
)

PRODUCE = api(
    "Produce",
    PRODUCE_KEY,
    "3-13",
    "9+",
    [],
    [
        field(
            "Responses",
            "[]TopicProduceResponse",
            "0+",
            field("Name", "string", "0-12"),
            field("TopicId", "uuid", "13+"),
            field(
                "PartitionResponses",
                "[]PartitionProduceResponse",
                "0+",
                field("Index", "int32", "0+"),
                field("ErrorCode", "int16", "0+"),
                field("BaseOffset", "int64", "0+"),
                field("LogAppendTimeMs", "int64", "2+", default="-1"),
                field("LogStartOffset", "int64", "5+", default="-1"),
                field(
                    "RecordErrors",
                    "[]BatchIndexAndErrorMessage",
                    "8+",
                    field("BatchIndex", "int32", "8+"),
                    field("BatchIndexErrorMessage", "string", "8+", nullable="8+", default="null"),
                ),
                field("ErrorMessage", "string", "8+", nullable="8+", default="null"),
                _tagged_leader("10+", "0"),
            ),
        ),
        field("ThrottleTimeMs", "int32", "1+", default="0"),
        _node_endpoints("10+", tag="0"),
    ],
)

FETCH = api(
    "Fetch",
    FETCH_KEY,
    "4-18",
    "12+",
    [],
    [
        field("ThrottleTimeMs", "int32", "1+"),
        field("ErrorCode", "int16", "7+"),
        field("SessionId", "int32", "7+", default="0"),
        field(
            "Responses",
            "[]FetchableTopicResponse",
            "0+",
            field("Topic", "string", "0-12"),
            field("TopicId", "uuid", "13+"),
            field(
                "Partitions",
                "[]PartitionData",
                "0+",
                field("PartitionIndex", "int32", "0+"),
                field("ErrorCode", "int16", "0+"),
                field("HighWatermark", "int64", "0+"),
                field("LastStableOffset", "int64", "4+", default="-1"),
                field("LogStartOffset", "int64", "5+", default="-1"),
                field(
                    "DivergingEpoch",
                    "EpochEndOffset",
                    "12+",
                    field("Epoch", "int32", "12+", default="-1"),
                    field("EndOffset", "int64", "12+", default="-1"),
                    tag="0",
                ),
                _tagged_leader("12+", "1"),
                field(
                    "SnapshotId",
                    "SnapshotId",
                    "12+",
                    field("EndOffset", "int64", "0+", default="-1"),
                    field("Epoch", "int32", "0+", default="-1"),
                    tag="2",
                ),
                field(
                    "AbortedTransactions",
                    "[]AbortedTransaction",
                    "4+",
                    field("ProducerId", "int64", "4+"),
                    field("FirstOffset", "int64", "4+"),
                    nullable="4+",
                ),
                field("PreferredReadReplica", "int32", "11+", default="-1"),
                field("Records", "records", "0+", nullable="0+"),
            ),
        ),
        _node_endpoints("16+", tag="0"),
    ],
)


def _share_response(topic: str, lock_timeout_since: str, *of_partition: Schema) -> list[Schema]:
    """Return the fields of a response about the partitions of a share group.

    Args:
        topic: the name of its struct for a topic.
        lock_timeout_since: the versions that have a timeout of locks.
        of_partition: the fields of a partition after its number and its error.
    """
    return [
        field("ThrottleTimeMs", "int32", "0+"),
        *_ERROR,
        field("AcquisitionLockTimeoutMs", "int32", lock_timeout_since),
        field(
            "Responses",
            f"[]{topic}",
            "0+",
            field("TopicId", "uuid", "0+"),
            field(
                "Partitions",
                "[]PartitionData",
                "0+",
                field("PartitionIndex", "int32", "0+"),
                *_ERROR,
                *of_partition,
            ),
        ),
        _node_endpoints("0+"),
    ]


SHARE_FETCH = api(
    "ShareFetch",
    SHARE_FETCH_KEY,
    "1-2",
    "0+",
    [],
    _share_response(
        "ShareFetchableTopicResponse",
        "1+",
        field("AcknowledgeErrorCode", "int16", "0+"),
        field("AcknowledgeErrorMessage", "string", "0+", nullable="0+", default="null"),
        _LEADER,
        field("Records", "records", "0+", nullable="0"),
        field(
            "AcquiredRecords",
            "[]AcquiredRecords",
            "0+",
            field("FirstOffset", "int64", "0+"),
            field("LastOffset", "int64", "0+"),
            field("DeliveryCount", "int16", "0+"),
        ),
    ),
)

SHARE_ACKNOWLEDGE = api(
    "ShareAcknowledge",
    SHARE_ACKNOWLEDGE_KEY,
    "1-2",
    "0+",
    [],
    _share_response("ShareAcknowledgeTopicResponse", "2+", _LEADER),
)

DATA_APIS: Mapping[int, Api] = MappingProxyType(
    {each.api_key: each for each in (PRODUCE, FETCH, SHARE_FETCH, SHARE_ACKNOWLEDGE)}
)
"""The APIs of which a response may name the leader of a partition, by key."""
