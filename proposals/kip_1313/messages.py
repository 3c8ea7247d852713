"""Messages that KIP-1313 changes: OffsetDelete and the telemetry of clients; and those that clients send with header v3.

From v1 on their requests have header v3, which has the client instance id. So the bodies of telemetry no longer have it.
Source: KIP-1313 (under discussion); v0 as in the message schemas of release 4.4.0, a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wire.api_keys import (
    API_VERSIONS_KEY,
    CONSUMER_GROUP_HEARTBEAT_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    OFFSET_DELETE_KEY,
    PUSH_TELEMETRY_KEY,
    SASL_AUTHENTICATE_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
)
from wire.api_versions import NEWEST_VERSION
from wire.fields import Versions
from wire.header_versions import HEADER_VERSIONS
from wire.headers import INSTANCE_ID_REQUEST_HEADER
from wire.message_schemas import Api
from wire.schema_notation import api, as_stated, field
from wire.startup_messages import CLUSTER_APIS, SASL_AUTHENTICATE

OFFSET_DELETE = api(
    "OffsetDelete",
    OFFSET_DELETE_KEY,
    "0-1",
    "1+",
    [
        field("GroupId", "string", "0+"),
        field(
            "Topics",
            "[]OffsetDeleteRequestTopic",
            "0+",
            field("Name", "string", "0+"),
            field(
                "Partitions",
                "[]OffsetDeleteRequestPartition",
                "0+",
                field("PartitionIndex", "int32", "0+"),
            ),
        ),
    ],
    [
        field("ErrorCode", "int16", "0+"),
        field("ThrottleTimeMs", "int32", "0+"),
        field(
            "Topics",
            "[]OffsetDeleteResponseTopic",
            "0+",
            field("Name", "string", "0+"),
            field(
                "Partitions",
                "[]OffsetDeleteResponsePartition",
                "0+",
                field("PartitionIndex", "int32", "0+"),
                field("ErrorCode", "int16", "0+"),
            ),
        ),
    ],
    request_headers={"0": 1, "1+": 3},
)

GET_TELEMETRY_SUBSCRIPTIONS = api(
    "GetTelemetrySubscriptions",
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    "0-1",
    "0+",
    [field("ClientInstanceId", "uuid", "0")],
    [
        field("ThrottleTimeMs", "int32", "0+"),
        field("ErrorCode", "int16", "0+"),
        field("ClientInstanceId", "uuid", "0"),
        field("SubscriptionId", "int32", "0+"),
        field("AcceptedCompressionTypes", "[]int8", "0+"),
        field("PushIntervalMs", "int32", "0+"),
        field("TelemetryMaxBytes", "int32", "0+"),
        field("DeltaTemporality", "bool", "0+"),
        field("RequestedMetrics", "[]string", "0+"),
    ],
    request_headers={"0": 2, "1+": 3},
)

PUSH_TELEMETRY = api(
    "PushTelemetry",
    PUSH_TELEMETRY_KEY,
    "0-1",
    "0+",
    [
        field("ClientInstanceId", "uuid", "0"),
        field("SubscriptionId", "int32", "0+"),
        field("Terminating", "bool", "0+"),
        field("CompressionType", "int8", "0+"),
        field("Metrics", "bytes", "0+"),
    ],
    [
        field("ThrottleTimeMs", "int32", "0+"),
        field("ErrorCode", "int16", "0+"),
    ],
    request_headers={"0": 2, "1+": 3},
)

CHANGED_APIS: Mapping[int, Api] = MappingProxyType(
    {each.api_key: each for each in (OFFSET_DELETE, GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY)}
)
"""The APIs by key."""

_HEARTBEAT_RESPONSE = [
    field("ThrottleTimeMs", "int32", "0+"),
    field("ErrorCode", "int16", "0+"),
    field("ErrorMessage", "string", "0+", nullable="0+", default="null"),
    field("MemberId", "string", "0+", nullable="0+", default="null"),
    field("MemberEpoch", "int32", "0+"),
    field("HeartbeatIntervalMs", "int32", "0+"),
    field(
        "Assignment",
        "Assignment",
        "0+",
        field(
            "TopicPartitions",
            "[]TopicPartitions",
            "0+",
            field("TopicId", "uuid", "0+"),
            field("Partitions", "[]int32", "0+"),
        ),
        nullable="0+",
        default="null",
    ),
]
"""The fields of a response to a heartbeat; those of both kinds of groups are the same."""

CONSUMER_GROUP_HEARTBEAT = api(
    "ConsumerGroupHeartbeat",
    CONSUMER_GROUP_HEARTBEAT_KEY,
    "0-2",
    "0+",
    [
        field("GroupId", "string", "0+"),
        field("MemberId", "string", "0+"),
        field("MemberEpoch", "int32", "0+"),
        field("InstanceId", "string", "0+", nullable="0+", default="null"),
        field("RackId", "string", "0+", nullable="0+", default="null"),
        field("RebalanceTimeoutMs", "int32", "0+", default="-1"),
        field("SubscribedTopicNames", "[]string", "0+", nullable="0+", default="null"),
        field("SubscribedTopicRegex", "string", "1+", nullable="1+", default="null"),
        field("ServerAssignor", "string", "0+", nullable="0+", default="null"),
        field(
            "TopicPartitions",
            "[]TopicPartitions",
            "0+",
            field("TopicId", "uuid", "0+"),
            field("Partitions", "[]int32", "0+"),
            nullable="0+",
            default="null",
        ),
    ],
    _HEARTBEAT_RESPONSE,
    request_headers={"0-1": 2, "2+": 3},
)


_SHARE_GROUP_HEARTBEAT_OF_TODAY = api(
    "ShareGroupHeartbeat",
    SHARE_GROUP_HEARTBEAT_KEY,
    "1",
    "0+",
    [
        field("GroupId", "string", "0+"),
        field("MemberId", "string", "0+"),
        field("MemberEpoch", "int32", "0+"),
        field("RackId", "string", "0+", nullable="0+", default="null"),
        field("SubscribedTopicNames", "[]string", "0+", nullable="0+", default="null"),
    ],
    _HEARTBEAT_RESPONSE,
)


def with_new_version(known: Api) -> Api:
    """Return an API with one version more, which has header v3 and the body of the version before."""
    newest = known.valid_versions.last
    assert newest is not None
    ranges = _header_ranges(known, newest)
    common = {"validVersions": f"{known.valid_versions.first}-{newest + 1}"}
    return Api(
        request_schema={**known.request_schema, **common, HEADER_VERSIONS: as_stated(ranges)},
        response_schema={**known.response_schema, **common},
    )


def _header_ranges(known: Api, newest: int) -> dict[str, int]:
    """Return the property `headerVersions` of an API with one version more."""
    versions_ = range(known.valid_versions.first, newest + 1)
    of_header: dict[int, list[int]] = {}
    for version in versions_:
        of_header.setdefault(known.request_header_version(version), []).append(version)
    ranges = {
        str(Versions(covered[0], covered[-1])): header for header, covered in of_header.items()
    }
    return {**ranges, f"{newest + 1}+": INSTANCE_ID_REQUEST_HEADER}


SHARE_GROUP_HEARTBEAT = with_new_version(_SHARE_GROUP_HEARTBEAT_OF_TODAY)
"""ShareGroupHeartbeat, with which a member of a share group says that it is alive."""
SASL_AUTHENTICATE_WITH_ID = with_new_version(SASL_AUTHENTICATE)
"""SaslAuthenticate with one version more; SaslHandshake before it has none."""

CLIENT_APIS: Mapping[int, Api] = MappingProxyType(
    {
        **{key: with_new_version(known) for key, known in CLUSTER_APIS.items()},
        CONSUMER_GROUP_HEARTBEAT_KEY: CONSUMER_GROUP_HEARTBEAT,
        SHARE_GROUP_HEARTBEAT_KEY: SHARE_GROUP_HEARTBEAT,
        **CHANGED_APIS,
    }
)
"""The APIs that a client may send with header v3, by key: those by which it learns its cluster, heartbeats, and the changed ones.

ApiVersions, which has a message class of its own, is the further one."""
API_VERSIONS_WITH_ID = NEWEST_VERSION + 1
"""The version of ApiVersions with header v3; its body is that of the version before."""
API_VERSIONS_HEADERS: Mapping[int, int] = MappingProxyType(
    {API_VERSIONS_WITH_ID: INSTANCE_ID_REQUEST_HEADER}
)
"""The header of that version."""
SASL_APIS: Mapping[int, Api] = MappingProxyType({SASL_AUTHENTICATE_KEY: SASL_AUTHENTICATE_WITH_ID})
"""The API of SASL that has a new version."""


def has_instance_id(api_key: int, api_version: int) -> bool:
    """Return whether a client's request has header v3."""
    if api_key == API_VERSIONS_KEY:
        return api_version == API_VERSIONS_WITH_ID
    known = CLIENT_APIS.get(api_key)
    return (
        known is not None
        and api_version in known.valid_versions
        and known.request_header_version(api_version) == INSTANCE_ID_REQUEST_HEADER
    )
