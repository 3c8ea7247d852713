"""The messages with which the suite prepares brokers that it started: topics, quotas and SCRAM users.

Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from wire.api_keys import (
    ALTER_CLIENT_QUOTAS_KEY,
    ALTER_USER_SCRAM_CREDENTIALS_KEY,
    CREATE_TOPICS_KEY,
)
from wire.message_schemas import api

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
