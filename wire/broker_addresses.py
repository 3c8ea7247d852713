"""Reader and replacer of the addresses of brokers in responses.

A proxy replaces addresses so that its clients come back to it.

Clients learn addresses from Metadata, FindCoordinator and DescribeCluster, and from Produce, Fetch, ShareFetch and
ShareAcknowledge, which name the new leader of a partition (KIP-951). Of the last three only the responses are
described here. Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from wire.api_keys import FETCH_KEY, SHARE_ACKNOWLEDGE_KEY, SHARE_FETCH_KEY
from wire.described_messages import CLUSTER_APIS
from wire.errors import DecodeError
from wire.fields import Field, FieldType
from wire.message_schemas import Api, api
from wire.transaction_messages import PRODUCE

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


HostAndPort = tuple[str, int]

ADDRESS_APIS: Mapping[int, Api] = MappingProxyType({**CLUSTER_APIS, **DATA_APIS})
"""The APIs whose responses name brokers, by key."""


def addresses_in(payload: bytes, api_key: int, api_version: int) -> tuple[HostAndPort, ...] | None:
    """Return the addresses of brokers that a response names.

    Returns:
        The addresses in their order, without the empty ones that stand for no broker. None if the API is one that names
        brokers, but the
        version is not known, or the response does not decode.
    """
    if not _may_name_brokers(api_key, api_version):
        return ()
    decoded = _decoded(ADDRESS_APIS[api_key], payload, api_version)
    return None if decoded is None else tuple(_addresses_in(decoded[1]))


def with_addresses(
    payload: bytes, api_key: int, api_version: int, addresses: Mapping[HostAndPort, HostAndPort]
) -> bytes:
    """Return the payload of a response in which each broker's address that `addresses` has as a key becomes its value.

    Returns:
        The payload itself if it has no address, or if the version is not known or does not decode.
    """
    if not _may_name_brokers(api_key, api_version):
        return payload
    api = ADDRESS_APIS[api_key]
    decoded = _decoded(api, payload, api_version)
    if decoded is None:
        return payload
    correlation_id, message = decoded
    replaced = _replaced(message, addresses)
    if replaced == message:
        return payload
    return api.response_payload(replaced, api_version, correlation_id)


@functools.lru_cache
def _may_name_brokers(api_key: int, api_version: int) -> bool:
    """Whether a response of this version has a place for the address of a broker."""
    api = ADDRESS_APIS.get(api_key)
    return api is not None and _has_host(api.response, api_version)


def _has_host(message: type[Any], version: int) -> bool:
    """Whether a version of a message, or of an element of its arrays, has a host."""
    return any(
        field.name == "host" or (_is_array_of_structs(field) and _has_host(field.element, version))
        for field in message.FIELDS
        if version in field.versions
    )


def _is_array_of_structs(field: Field) -> bool:
    return field.type is FieldType.ARRAY and field.element is not None


def _decoded(api: Api, payload: bytes, api_version: int) -> tuple[int, Any] | None:
    if api_version not in api.valid_versions:
        return None
    try:
        return api.decode_response(payload, api_version)
    except DecodeError:
        return None


def _addresses_in(message: Any) -> Iterator[HostAndPort]:
    if getattr(message, "host", ""):
        yield message.host, message.port
    for field in message.FIELDS:
        if _is_array_of_structs(field):
            for part in getattr(message, field.name) or ():
                yield from _addresses_in(part)


def _replaced(message: Any, addresses: Mapping[HostAndPort, HostAndPort]) -> Any:
    changes: dict[str, Any] = {
        field.name: tuple(_replaced(each, addresses) for each in getattr(message, field.name))
        for field in message.FIELDS
        if _is_array_of_structs(field) and getattr(message, field.name)
    }
    if hasattr(message, "host"):
        address = (message.host, message.port)
        changes["host"], changes["port"] = addresses.get(address, address)
    return dataclasses.replace(message, **changes)
