"""Messages that KIP-1313 changes, and messages that clients send with header v3.

KIP-1313 changes OffsetDelete and the telemetry of clients.

From v1 on their requests have header v3, which has the client instance id. So the bodies of telemetry no longer have
it. Source: KIP-1313 (under discussion); v0 as in the message schemas of release 4.4.0, a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from proposals.kip_1313.streams_heartbeat import (
    STREAMS_GROUP_HEARTBEAT_KEY,
    STREAMS_GROUP_HEARTBEAT_OF_TODAY,
)
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY, SASL_AUTHENTICATE_KEY
from wire.api_versions import NEWEST_VERSION
from wire.described_messages import CLUSTER_APIS, SASL_AUTHENTICATE
from wire.fields import Versions
from wire.header_versions import HEADER_VERSIONS, INSTANCE_ID_REQUEST_HEADER
from wire.message_schemas import Api, api

OFFSET_DELETE_KEY = 47
CONSUMER_GROUP_HEARTBEAT_KEY = 68
PUSH_TELEMETRY_KEY = 72
SHARE_GROUP_HEARTBEAT_KEY = 76
TELEMETRY_KEYS = (GET_TELEMETRY_SUBSCRIPTIONS_KEY, PUSH_TELEMETRY_KEY)

OFFSET_DELETE = api(f"""
    {OFFSET_DELETE_KEY} OffsetDelete 0-1 1+ 0:1 1+:3
    request
        GroupId string 0+
        Topics []OffsetDeleteRequestTopic 0+
            Name string 0+
            Partitions []OffsetDeleteRequestPartition 0+
                PartitionIndex int32 0+
    response
        ErrorCode int16 0+
        ThrottleTimeMs int32 0+
        Topics []OffsetDeleteResponseTopic 0+
            Name string 0+
            Partitions []OffsetDeleteResponsePartition 0+
                PartitionIndex int32 0+
                ErrorCode int16 0+
    """)

GET_TELEMETRY_SUBSCRIPTIONS = api(f"""
    {GET_TELEMETRY_SUBSCRIPTIONS_KEY} GetTelemetrySubscriptions 0-1 0+ 0:2 1+:3
    request
        ClientInstanceId uuid 0
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ClientInstanceId uuid 0
        SubscriptionId int32 0+
        AcceptedCompressionTypes []int8 0+
        PushIntervalMs int32 0+
        TelemetryMaxBytes int32 0+
        DeltaTemporality bool 0+
        RequestedMetrics []string 0+
    """)

PUSH_TELEMETRY = api(f"""
    {PUSH_TELEMETRY_KEY} PushTelemetry 0-1 0+ 0:2 1+:3
    request
        ClientInstanceId uuid 0
        SubscriptionId int32 0+
        Terminating bool 0+
        CompressionType int8 0+
        Metrics bytes 0+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
    """)

CHANGED_APIS: Mapping[int, Api] = MappingProxyType(
    {each.api_key: each for each in (OFFSET_DELETE, GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY)}
)
"""The APIs by key."""

CONSUMER_GROUP_HEARTBEAT = api(f"""
    {CONSUMER_GROUP_HEARTBEAT_KEY} ConsumerGroupHeartbeat 0-2 0+ 0-1:2 2+:3
    request
        GroupId string 0+
        MemberId string 0+
        MemberEpoch int32 0+
        InstanceId string 0+ nullable=0+ default=null
        RackId string 0+ nullable=0+ default=null
        RebalanceTimeoutMs int32 0+ default=-1
        SubscribedTopicNames []string 0+ nullable=0+ default=null
        SubscribedTopicRegex string 1+ nullable=1+ default=null
        ServerAssignor string 0+ nullable=0+ default=null
        TopicPartitions []TopicPartitions 0+ nullable=0+ default=null
            TopicId uuid 0+
            Partitions []int32 0+
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
        MemberId string 0+ nullable=0+ default=null
        MemberEpoch int32 0+
        HeartbeatIntervalMs int32 0+
        Assignment Assignment 0+ nullable=0+ default=null
            TopicPartitions []TopicPartitions 0+
                TopicId uuid 0+
                Partitions []int32 0+
    """)


_SHARE_GROUP_HEARTBEAT_OF_TODAY = api(f"""
    {SHARE_GROUP_HEARTBEAT_KEY} ShareGroupHeartbeat 1 0+
    request
        GroupId string 0+
        MemberId string 0+
        MemberEpoch int32 0+
        RackId string 0+ nullable=0+ default=null
        SubscribedTopicNames []string 0+ nullable=0+ default=null
    response
        ThrottleTimeMs int32 0+
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
        MemberId string 0+ nullable=0+ default=null
        MemberEpoch int32 0+
        HeartbeatIntervalMs int32 0+
        Assignment Assignment 0+ nullable=0+ default=null
            TopicPartitions []TopicPartitions 0+
                TopicId uuid 0+
                Partitions []int32 0+
    """)


API_VERSIONS_WITH_ID = NEWEST_VERSION + 1
"""The version of ApiVersions with header v3; its body is that of the version before."""
API_VERSIONS = api(f"""
    {API_VERSIONS_KEY} ApiVersions 0-{API_VERSIONS_WITH_ID} 3+ 0-2:1 3-{NEWEST_VERSION}:2 {API_VERSIONS_WITH_ID}+:3
    request
    response
    """)
"""ApiVersions: its versions and their headers. The fields are those of `wire.api_versions`."""


def with_new_version(known: Api) -> Api:
    """Return an API with one version more, which has header v3 and the body of the version before."""
    newest = known.valid_versions.last
    assert newest is not None
    ranges = _header_ranges(known, newest)
    common = {"validVersions": f"{known.valid_versions.first}-{newest + 1}"}
    return Api(
        request_schema={**known.request_schema, **common, HEADER_VERSIONS: ranges},
        response_schema={**known.response_schema, **common},
    )


def _header_ranges(known: Api, newest: int) -> dict[str, str]:
    """Return the property `headerVersions` of an API with one version more."""
    versions_ = range(known.valid_versions.first, newest + 1)
    of_header: dict[int, list[int]] = {}
    for version in versions_:
        of_header.setdefault(known.request_header_version(version), []).append(version)
    ranges = {str(Versions(covered[0], covered[-1])): str(header) for header, covered in of_header.items()}
    return {**ranges, f"{newest + 1}+": str(INSTANCE_ID_REQUEST_HEADER)}


SHARE_GROUP_HEARTBEAT = with_new_version(_SHARE_GROUP_HEARTBEAT_OF_TODAY)
"""ShareGroupHeartbeat, with which a member of a share group says that it is alive."""
STREAMS_GROUP_HEARTBEAT = with_new_version(STREAMS_GROUP_HEARTBEAT_OF_TODAY)
"""StreamsGroupHeartbeat, the same of a member of a streams group."""
SASL_AUTHENTICATE_WITH_ID = with_new_version(SASL_AUTHENTICATE)
"""SaslAuthenticate with one version more; SaslHandshake before it has none."""

CLIENT_APIS: Mapping[int, Api] = MappingProxyType(
    {
        **{key: with_new_version(known) for key, known in CLUSTER_APIS.items()},
        CONSUMER_GROUP_HEARTBEAT_KEY: CONSUMER_GROUP_HEARTBEAT,
        SHARE_GROUP_HEARTBEAT_KEY: SHARE_GROUP_HEARTBEAT,
        STREAMS_GROUP_HEARTBEAT_KEY: STREAMS_GROUP_HEARTBEAT,
        **CHANGED_APIS,
    }
)
"""The APIs that a client may send with header v3, by key: those by which it learns its cluster, heartbeats, and the
changed ones.

ApiVersions, which has message classes of its own, is the further one."""
SASL_APIS: Mapping[int, Api] = MappingProxyType({SASL_AUTHENTICATE_KEY: SASL_AUTHENTICATE_WITH_ID})
"""The API of SASL that has a new version."""

WITH_ID: Mapping[int, Api] = MappingProxyType({**CLIENT_APIS, **SASL_APIS})
"""All of these that have a version with header v3."""
APIS: Mapping[int, Api] = MappingProxyType({**WITH_ID, API_VERSIONS_KEY: API_VERSIONS})
"""The same and ApiVersions."""


def has_instance_id(api_key: int, api_version: int) -> bool:
    """Return whether a client's request has header v3."""
    return api_version == newest_with_id(api_key)


def newest_with_id(api_key: int) -> int | None:
    """Return the version of an API in which a client's request has header v3; None for an API without one."""
    if api_key == API_VERSIONS_KEY:
        return API_VERSIONS_WITH_ID
    known = WITH_ID.get(api_key)
    return None if known is None else known.valid_versions.last
