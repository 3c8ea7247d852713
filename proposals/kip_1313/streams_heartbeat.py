"""StreamsGroupHeartbeat, whose requests also have a member id.

It follows the message schemas of release 4.4.0. A test compares them.

It stands apart because it is longer than all other messages together.
"""

from __future__ import annotations

from wire.message_schemas import api

STREAMS_GROUP_HEARTBEAT_KEY = 88

_TASKS = """
            SubtopologyId string 0+
            Partitions []int32 0+"""
_TOPICS = """
                Name string 0+
                Partitions int32 0+
                ReplicationFactor int16 0+
                TopicConfigs []KeyValue 0+
                    Key string 0+
                    Value string 0+"""
_OFFSETS = """
            SubtopologyId string 0+
            Partition int32 0+
            Offset int64 0+"""
_PARTITIONS = """
                Topic string 0+
                Partitions []int32 0+"""

STREAMS_GROUP_HEARTBEAT_OF_TODAY = api(f"""
    {STREAMS_GROUP_HEARTBEAT_KEY} StreamsGroupHeartbeat 0-1 0+
    request
        GroupId string 0+
        MemberId string 0+
        MemberEpoch int32 0+
        EndpointInformationEpoch int32 0+
        InstanceId string 0+ nullable=0+ default=null
        RackId string 0+ nullable=0+ default=null
        RebalanceTimeoutMs int32 0+ default=-1
        Topology Topology 0+ nullable=0+ default=null
            Epoch int32 0+
            Subtopologies []Subtopology 0+
                SubtopologyId string 0+
                SourceTopics []string 0+
                SourceTopicRegex []string 0+
                StateChangelogTopics []TopicInfo 0+{_TOPICS.replace(chr(10), chr(10) + "    ")}
                RepartitionSinkTopics []string 0+
                RepartitionSourceTopics []TopicInfo 0+{_TOPICS.replace(chr(10), chr(10) + "    ")}
                CopartitionGroups []CopartitionGroup 0+
                    SourceTopics []int16 0+
                    SourceTopicRegex []int16 0+
                    RepartitionSourceTopics []int16 0+
        ActiveTasks []TaskIds 0+ nullable=0+ default=null{_TASKS}
        StandbyTasks []TaskIds 0+ nullable=0+ default=null{_TASKS}
        WarmupTasks []TaskIds 0+ nullable=0+ default=null{_TASKS}
        ProcessId string 0+ nullable=0+ default=null
        UserEndpoint Endpoint 0+ nullable=0+ default=null
            Host string 0+
            Port uint16 0+
        ClientTags []KeyValue 0+ nullable=0+ default=null
            Key string 0+
            Value string 0+
        TaskOffsets []TaskOffset 0+ nullable=0+ default=null{_OFFSETS}
        TaskEndOffsets []TaskOffset 0+ nullable=0+ default=null{_OFFSETS}
        ShutdownApplication bool 0+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
        MemberId string 0+
        MemberEpoch int32 0+
        HeartbeatIntervalMs int32 0+
        AcceptableRecoveryLagLegacy int32 0
        TaskOffsetIntervalMs int32 0+
        AcceptableRecoveryLag int64 1+ default=-1
        Status []Status 0+ nullable=0+
            StatusCode int8 0+
            StatusDetail string 0+
        ActiveTasks []TaskIds 0+ nullable=0+ default=null{_TASKS}
        StandbyTasks []TaskIds 0+ nullable=0+ default=null{_TASKS}
        WarmupTasks []TaskIds 0+ nullable=0+ default=null{_TASKS}
        TopologyDescriptionRequired bool 1+
        EndpointInformationEpoch int32 0+
        PartitionsByUserEndpoint []EndpointToPartitions 0+ nullable=0+ default=null
            UserEndpoint Endpoint 0+
                Host string 0+
                Port uint16 0+
            ActivePartitions []TopicPartition 0+{_PARTITIONS}
            StandbyPartitions []TopicPartition 0+{_PARTITIONS}
    """)
