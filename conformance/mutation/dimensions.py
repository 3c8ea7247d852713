"""Values of an example, each with the dimension in which requests vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from conformance.mutation.properties import Values
from strategies.api_versions import UnservedRequest
from strategies.broken_requests import COMPACT_CLIENT_ID
from strategies.cluster_ids import Ids
from strategies.conversations import Say
from strategies.field_values import ManyTags, Software
from strategies.histories import ConnectionHistory
from strategies.odd_frames import is_cut_short
from strategies.other_apis import TaggedHeader
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK, NEWEST_VERSION
from wire.exchange import Request, encode_request
from wire.primitives import TaggedField

_DIMENSION_OF_PARAMETER: Mapping[str, str] = {
    "client_id": "client id",
    "other_client_id": "client id of another API",
    "correlation_id": "correlation id of another API",
    "tags": "tag in the body of another API",
    "key": "API key with the low byte of ApiVersions",
    "offset": "node id",
    "variant": "cluster id",
    "version": "version",
    "pauses_ms": "pause in ms",
    "idle_ms": "pause in ms",
    "unused": "other connections",
    "unfinished": "other connections",
    "served": "other connections",
    "resets": "reset",
    "versions": "version",
}
"""What parameters of properties are, of which the property itself makes requests."""
_DIMENSION_OF_KIND: Mapping[type, str] = {
    Software: "software",
    ManyTags: "tag section",
    TaggedHeader: "header of another API",
    ConnectionHistory: "earlier requests",
}
"""What values of these classes are."""
_ROWS = (Software, Ids, UnservedRequest, ManyTags, TaggedField, ConnectionHistory)
"""Named tuples, which are one value each."""


class Pipeline(NamedTuple):
    """Requests in one write: how many, and how many correlation ids they have."""

    length: int
    ids: int


def values_of(example: Values) -> Iterator[tuple[str, Any]]:
    """Yield what an example consists of, value by value, each with its dimension."""
    yield from _counts_in(example)
    for parameter, value in example.items():
        yield from (("write", each.messages) for each in _writes_in(value))
        for part in _parts_of(value):
            if isinstance(part, Request):
                yield from _values_of_request(part)
            elif isinstance(part, UnservedRequest):
                yield "distance above the highest version", part.distance
            elif isinstance(part, Ids):
                yield "node id", part.node_id
            elif type(part) in _DIMENSION_OF_KIND:
                yield _DIMENSION_OF_KIND[type(part)], part
            elif parameter in _DIMENSION_OF_PARAMETER:
                yield _DIMENSION_OF_PARAMETER[parameter], part


def _counts_in(example: Values) -> Iterator[tuple[str, Any]]:
    """Yield how many requests an example has a connection carry, at once or one after the other."""
    versions = example.get("versions", ())
    # In other properties these are the ids of a cluster.
    if isinstance(example.get("ids"), int):
        yield "pipeline", Pipeline(len(versions), example["ids"])
    elif versions:
        yield "requests of a connection", len(versions)


def _writes_in(value: object) -> Iterator[Say]:
    if isinstance(value, tuple):
        yield from (each for each in value if isinstance(each, Say))


def _parts_of(value: object) -> Iterator[object]:
    if isinstance(value, Say):
        value = value.messages
    if isinstance(value, list | tuple) and not isinstance(value, _ROWS):
        for part in value:
            yield from _parts_of(part)
    else:
        yield value


def _values_of_request(sent: Request) -> Iterator[tuple[str, Any]]:
    """Yield the values that a request contains.

    Most values of a malformed request are left out, because its bytes differ from what was intended.
    """
    header, body = sent.header, sent.body
    if sent.broken == COMPACT_CLIENT_ID:
        yield "compact client id", header.client_id
    if is_cut_short(sent):
        yield "cut request", sent.data
    if sent.broken:
        yield "malformation", sent.broken
    if sent.broken or sent.api_key != API_VERSIONS_KEY:
        return
    yield "correlation id", sent.correlation_id
    yield "version", sent.api_version
    yield "client id", header.client_id
    is_flexible = sent.api_version >= FIRST_FLEXIBLE_VERSION
    if is_flexible:
        yield from (("tag in the header", each) for each in header.unknown_tagged_fields)
    if body is None:
        yield "body", FIRST_FLEXIBLE_VERSION <= sent.api_version <= NEWEST_VERSION
        return
    if is_flexible:
        yield "software", Software(body.client_software_name, body.client_software_version)
        yield from (("tag in the body", each) for each in body.unknown_tagged_fields)
    if sent.api_version >= FIRST_VERSION_WITH_CLUSTER_CHECK:
        yield "node id", body.node_id
    yield "trailing bytes", len(sent.data) - len(encode_request(header, body).data)
