"""The messages that KIP-1313, a proposal, gives a new version: OffsetDelete, and the telemetry of clients.

From v1 on their requests have header v3, which has the client instance id. So the bodies of telemetry no longer have it.
Source: KIP-1313 (under discussion); v0 as in the message schemas of release 4.4.0, a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wire.api_keys import (
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    OFFSET_DELETE_KEY,
    PUSH_TELEMETRY_KEY,
)
from wire.message_schemas import Api
from wire.schema_notation import api, field

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
