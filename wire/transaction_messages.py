"""Schemas of the messages of a transaction.

A producer sends them to its coordinator and to the leaders of partitions.

Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wire.api_keys import (
    ADD_OFFSETS_TO_TXN_KEY,
    ADD_PARTITIONS_TO_TXN_KEY,
    END_TXN_KEY,
    INIT_PRODUCER_ID_KEY,
    PRODUCE_KEY,
    TXN_OFFSET_COMMIT_KEY,
)
from wire.message_schemas import Api, api

PRODUCE = api(f"""
    {PRODUCE_KEY} Produce 3-13 9+
    request
        TransactionalId string 3+ nullable=3+ default=null
        Acks int16 0+
        TimeoutMs int32 0+
        TopicData []TopicProduceData 0+
            Name string 0-12
            TopicId uuid 13+
            PartitionData []PartitionProduceData 0+
                Index int32 0+
                Records records 0+ nullable=0+
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

INIT_PRODUCER_ID = api(f"""
    {INIT_PRODUCER_ID_KEY} InitProducerId 0-6 2+
    request
        TransactionalId string 0+ nullable=0+
        TransactionTimeoutMs int32 0+
        ProducerId int64 3+ default=-1
        ProducerEpoch int16 3+ default=-1
        Enable2Pc bool 6+ default=false
        KeepPreparedTxn bool 6+ default=false
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ProducerId int64 0+ default=-1
        ProducerEpoch int16 0+
        OngoingTxnProducerId int64 6+ default=-1
        OngoingTxnProducerEpoch int16 6+ default=-1
    """)

ADD_PARTITIONS_TO_TXN = api(f"""
    {ADD_PARTITIONS_TO_TXN_KEY} AddPartitionsToTxn 0-5 3+
    request
        Transactions []AddPartitionsToTxnTransaction 4+
            TransactionalId string 4+
            ProducerId int64 4+
            ProducerEpoch int16 4+
            VerifyOnly bool 4+ default=false
            Topics []AddPartitionsToTxnTopic 4+
                Name string 0+
                Partitions []int32 0+
        V3AndBelowTransactionalId string 0-3
        V3AndBelowProducerId int64 0-3
        V3AndBelowProducerEpoch int16 0-3
        V3AndBelowTopics []AddPartitionsToTxnTopic 0-3
            Name string 0+
            Partitions []int32 0+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 4+
        ResultsByTransaction []AddPartitionsToTxnResult 4+
            TransactionalId string 4+
            TopicResults []AddPartitionsToTxnTopicResult 4+
                Name string 0+
                ResultsByPartition []AddPartitionsToTxnPartitionResult 0+
                    PartitionIndex int32 0+
                    PartitionErrorCode int16 0+
        ResultsByTopicV3AndBelow []AddPartitionsToTxnTopicResult 0-3
            Name string 0+
            ResultsByPartition []AddPartitionsToTxnPartitionResult 0+
                PartitionIndex int32 0+
                PartitionErrorCode int16 0+
    """)

ADD_OFFSETS_TO_TXN = api(f"""
    {ADD_OFFSETS_TO_TXN_KEY} AddOffsetsToTxn 0-4 3+
    request
        TransactionalId string 0+
        ProducerId int64 0+
        ProducerEpoch int16 0+
        GroupId string 0+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
    """)

TXN_OFFSET_COMMIT = api(f"""
    {TXN_OFFSET_COMMIT_KEY} TxnOffsetCommit 0-6 3+
    request
        TransactionalId string 0+
        GroupId string 0+
        ProducerId int64 0+
        ProducerEpoch int16 0+
        GenerationIdOrMemberEpoch int32 3+ default=-1
        MemberId string 3+
        GroupInstanceId string 3+ nullable=3+ default=null
        Topics []TxnOffsetCommitRequestTopic 0+
            Name string 0-5
            TopicId uuid 6+
            Partitions []TxnOffsetCommitRequestPartition 0+
                PartitionIndex int32 0+
                CommittedOffset int64 0+
                CommittedLeaderEpoch int32 2+ default=-1
                CommittedMetadata string 0+ nullable=0+
    response
        ThrottleTimeMs int32 0+
        Topics []TxnOffsetCommitResponseTopic 0+
            Name string 0-5
            TopicId uuid 6+
            Partitions []TxnOffsetCommitResponsePartition 0+
                PartitionIndex int32 0+
                ErrorCode int16 0+
    """)

END_TXN = api(f"""
    {END_TXN_KEY} EndTxn 0-5 3+
    request
        TransactionalId string 0+
        ProducerId int64 0+
        ProducerEpoch int16 0+
        Committed bool 0+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ProducerId int64 5+ default=-1
        ProducerEpoch int16 5+ default=-1
    """)

TRANSACTION_APIS: Mapping[int, Api] = MappingProxyType(
    {
        each.api_key: each
        for each in (
            PRODUCE,
            INIT_PRODUCER_ID,
            ADD_PARTITIONS_TO_TXN,
            ADD_OFFSETS_TO_TXN,
            TXN_OFFSET_COMMIT,
            END_TXN,
        )
    }
)
"""The APIs that a transaction takes, besides those that name brokers, by key."""
