"""The responses with which brokers say that a partition has another leader, and where that one is (KIP-951).

Only the responses are described. Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wire.api_keys import FETCH_KEY, PRODUCE_KEY, SHARE_ACKNOWLEDGE_KEY, SHARE_FETCH_KEY
from wire.message_schemas import Api, api

PRODUCE = api(f"""
    {PRODUCE_KEY} Produce 3-13 9+
    request
    response
        Responses []TopicProduceResponse 0+
            Name string 0-12
            TopicId uuid 13+
            PartitionResponses []PartitionProduceResponse 0+
                Index int32 0+
                ErrorCode int16 0+
                BaseOffset int64 0+
                LogAppendTimeMs int64 2+ default=-1
                LogStartOffset int64 5+ default=-1
                RecordErrors []BatchIndexAndErrorMessage 8+
                    BatchIndex int32 8+
                    BatchIndexErrorMessage string 8+ nullable=8+ default=null
                ErrorMessage string 8+ nullable=8+ default=null
                CurrentLeader LeaderIdAndEpoch 10+ tag=0
                    LeaderId int32 10+ default=-1
                    LeaderEpoch int32 10+ default=-1
        ThrottleTimeMs int32 1+ default=0
        NodeEndpoints []NodeEndpoint 10+ tag=0
            NodeId int32 10+
            Host string 10+
            Port int32 10+
            Rack string 10+ nullable=10+ default=null
    """)

FETCH = api(f"""
    {FETCH_KEY} Fetch 4-18 12+
    request
    response
        ThrottleTimeMs int32 1+
        ErrorCode int16 7+
        SessionId int32 7+ default=0
        Responses []FetchableTopicResponse 0+
            Topic string 0-12
            TopicId uuid 13+
            Partitions []PartitionData 0+
                PartitionIndex int32 0+
                ErrorCode int16 0+
                HighWatermark int64 0+
                LastStableOffset int64 4+ default=-1
                LogStartOffset int64 5+ default=-1
                DivergingEpoch EpochEndOffset 12+ tag=0
                    Epoch int32 12+ default=-1
                    EndOffset int64 12+ default=-1
                CurrentLeader LeaderIdAndEpoch 12+ tag=1
                    LeaderId int32 12+ default=-1
                    LeaderEpoch int32 12+ default=-1
                SnapshotId SnapshotId 12+ tag=2
                    EndOffset int64 0+ default=-1
                    Epoch int32 0+ default=-1
                AbortedTransactions []AbortedTransaction 4+ nullable=4+
                    ProducerId int64 4+
                    FirstOffset int64 4+
                PreferredReadReplica int32 11+ default=-1
                Records records 0+ nullable=0+
        NodeEndpoints []NodeEndpoint 16+ tag=0
            NodeId int32 16+
            Host string 16+
            Port int32 16+
            Rack string 16+ nullable=16+ default=null
    """)


SHARE_FETCH = api(f"""
    {SHARE_FETCH_KEY} ShareFetch 1-2 0+
    request
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
        AcquisitionLockTimeoutMs int32 1+
        Responses []ShareFetchableTopicResponse 0+
            TopicId uuid 0+
            Partitions []PartitionData 0+
                PartitionIndex int32 0+
                ErrorCode int16 0+
                ErrorMessage string 0+ nullable=0+ default=null
                AcknowledgeErrorCode int16 0+
                AcknowledgeErrorMessage string 0+ nullable=0+ default=null
                CurrentLeader LeaderIdAndEpoch 0+
                    LeaderId int32 0+
                    LeaderEpoch int32 0+
                Records records 0+ nullable=0
                AcquiredRecords []AcquiredRecords 0+
                    FirstOffset int64 0+
                    LastOffset int64 0+
                    DeliveryCount int16 0+
        NodeEndpoints []NodeEndpoint 0+
            NodeId int32 0+
            Host string 0+
            Port int32 0+
            Rack string 0+ nullable=0+ default=null
    """)

SHARE_ACKNOWLEDGE = api(f"""
    {SHARE_ACKNOWLEDGE_KEY} ShareAcknowledge 1-2 0+
    request
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
        AcquisitionLockTimeoutMs int32 2+
        Responses []ShareAcknowledgeTopicResponse 0+
            TopicId uuid 0+
            Partitions []PartitionData 0+
                PartitionIndex int32 0+
                ErrorCode int16 0+
                ErrorMessage string 0+ nullable=0+ default=null
                CurrentLeader LeaderIdAndEpoch 0+
                    LeaderId int32 0+
                    LeaderEpoch int32 0+
        NodeEndpoints []NodeEndpoint 0+
            NodeId int32 0+
            Host string 0+
            Port int32 0+
            Rack string 0+ nullable=0+ default=null
    """)

DATA_APIS: Mapping[int, Api] = MappingProxyType(
    {each.api_key: each for each in (PRODUCE, FETCH, SHARE_FETCH, SHARE_ACKNOWLEDGE)}
)
"""The APIs of which a response may name the leader of a partition, by key."""
