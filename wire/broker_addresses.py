"""The addresses of brokers in responses, read, and replaced by others, as a proxy has to do for its clients to come back.

Source: the message schemas of the APIs from which clients learn addresses: Metadata, FindCoordinator and DescribeCluster, and
Produce, Fetch, ShareFetch and ShareAcknowledge, which name the new leader of a partition (KIP-951).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from wire.data_responses import DATA_APIS
from wire.errors import DecodeError
from wire.fields import Field, FieldType
from wire.message_schemas import Api
from wire.startup_messages import CLUSTER_APIS

HostAndPort = tuple[str, int]

ADDRESS_APIS: Mapping[int, Api] = MappingProxyType({**CLUSTER_APIS, **DATA_APIS})
"""The APIs whose responses name brokers, by key."""


def addresses_in(payload: bytes, api_key: int, api_version: int) -> tuple[HostAndPort, ...] | None:
    """Return the addresses of brokers that a response names.

    Returns:
        The addresses in their order, without the empty ones that stand for no broker. None if the API is one that names brokers, but the
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
            for each in getattr(message, field.name) or ():
                yield from _addresses_in(each)


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
