"""The addresses of brokers in responses, replaced by others, as a proxy has to do for its clients to come back.

Source: the message schemas of Metadata, FindCoordinator and DescribeCluster, the APIs from which clients learn addresses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from wire.codec import encode
from wire.errors import DecodeError
from wire.headers import ResponseHeader
from wire.startup_messages import CLUSTER_APIS

HostAndPort = tuple[str, int]


def with_addresses(
    payload: bytes, api_key: int, api_version: int, addresses: Mapping[HostAndPort, HostAndPort]
) -> bytes:
    """Return the payload of a response with other addresses of brokers.

    Args:
        payload: the payload.
        api_key: the API key of its request.
        api_version: the version of its request.
        addresses: maps each address that is replaced to the new one.

    Returns:
        The payload itself if it has no address, or if the version is not known or does not decode.
    """
    api = CLUSTER_APIS.get(api_key)
    if api is None or api_version not in api.valid_versions:
        return payload
    try:
        correlation_id, message = api.decode_response(payload, api_version)
    except DecodeError:
        return payload
    version = api.response_header_version(api_version)
    header = encode(ResponseHeader(correlation_id=correlation_id), version=version)
    return header + encode(_replaced(message, addresses), version=api_version)


def _replaced(message: Any, addresses: Mapping[HostAndPort, HostAndPort]) -> Any:
    changes: dict[str, Any] = {
        field.name: tuple(_replaced(each, addresses) for each in getattr(message, field.name))
        for field in message.FIELDS
        if field.element is not None and getattr(message, field.name)
    }
    if hasattr(message, "host"):
        place = (message.host, message.port)
        changes["host"], changes["port"] = addresses.get(place, place)
    return dataclasses.replace(message, **changes)
