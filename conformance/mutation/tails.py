"""The dimensions in which requests vary, and the rare values (tails) of each.

One dimension is the client id. A broker may handle a rare value wrongly.

The tails of a dimension are named conditions on its values. `reached_tails.py` counts which of them a standard run
sends.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from conformance.assertions.model_agreement import has_refused_size
from conformance.mutation.properties import Values
from reference_model.broker.rules.request_parser import is_valid_name
from strategies.api_versions import UnservedRequest, build_request
from strategies.broken_requests import COMPACT_CLIENT_ID, build_truncated
from strategies.cluster_ids import CLUSTER_ID_VARIANTS, EDGES, Ids
from strategies.conversations import Say
from strategies.field_values import (
    BUFFER_SIZES,
    FIRST_TAG_NOBODY_KNOWS,
    FIRST_TWO_BYTE_SIZE,
    KNOWN_CLIENTS,
    MAX_TAG_SECTION,
    MAX_TAGS_SERVED,
    ManyTags,
    Software,
)
from strategies.histories import ConnectionHistory, Earlier
from strategies.odd_frames import OTHER_PROTOCOLS, is_cut_short
from strategies.odd_requests import BEYOND_THE_FRAME, CLUSTER_ID, NOT_TEXT, ODD_LENGTH, TOO_LONG
from strategies.other_apis import TaggedHeader
from wire.api_keys import API_VERSIONS_KEY, SASL_KEYS
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NEWEST_VERSION,
)
from wire.exchange import Request, encode_request
from wire.frames import SIZE_BYTES, read_size
from wire.headers import CLIENT_ID_LENGTH_END
from wire.primitives import INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, NO_TAGS, TaggedField

_V0_BYTES = len(build_request(version=0).data) - SIZE_BYTES
CUT_CLIENT_ID = frozenset(build_truncated(0, kept).broken for kept in range(CLIENT_ID_LENGTH_END, _V0_BYTES))
"""What is wrong with a request of v0 to v2 whose client id is cut off."""

Tails = Mapping[str, Callable[[Any], bool]]
"""Conditions on a value of a dimension, by name."""


_NEXT_TO_BUFFERS = frozenset(size + more for size in BUFFER_SIZES for more in (-1, 0, 1))
_TAGGED_FIELDS: Tails = {
    "number below 100": lambda field: field.tag < FIRST_TAG_NOBODY_KNOWS,
    "number of at least 2^28": lambda field: field.tag >= 2**28,
    "number of at least 2^31": lambda field: field.tag >= 2**31,
    "value of at least 128 bytes": lambda field: len(field.data) >= FIRST_TWO_BYTE_SIZE,
}
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


def _after_frame(data: bytes) -> bytes:
    """Return the bytes after the first frame of some bytes."""
    return data[SIZE_BYTES + read_size(data) :]


def _requests_in(messages: Sequence[object]) -> list[Request]:
    return [each for each in messages if isinstance(each, Request)]


def _has_size_of_buffer(text: str | None) -> bool:
    return len((text or "").encode()) in _NEXT_TO_BUFFERS


def _longest_illegal(software: Software) -> int:
    """Return the number of bytes of the longer of name and version, if that one is illegal; otherwise 0."""
    longest = max(software, key=len)
    return 0 if is_valid_name(longest) else len(longest.encode())


def _has_earlier(kind: Earlier, history: ConnectionHistory) -> bool:
    return kind in history.earlier


def _says(*words: str) -> Callable[[str], bool]:
    """Return a condition on what is wrong with a request: all the words are in it."""
    return lambda broken: all(word in broken for word in words)


DIMENSIONS: Mapping[str, Tails] = {
    "correlation id": {
        "negative": lambda value: value < 0,
        "smallest": lambda value: value == INT32_MIN,
        "largest": lambda value: value == INT32_MAX,
    },
    "version": {
        "negative": lambda value: value < 0,
        "above 255": lambda value: value > 255,
        "smallest": lambda value: value == INT16_MIN,
        "largest": lambda value: value == INT16_MAX,
    },
    "distance above the highest version": {
        "one": lambda value: value == 1,
        "the same low byte": lambda value: value % 256 == 0,
        "to the largest version": lambda value: value >= INT16_MAX - NEWEST_VERSION,
    },
    "client id": {
        "null": lambda value: value is None,
        "empty": lambda value: value == "",
        "at least 128 bytes": lambda value: len((value or "").encode()) >= 128,
        "at least 32,000 bytes": lambda value: len((value or "").encode()) >= 32_000,
        "next to the size of a buffer": _has_size_of_buffer,
    },
    "compact client id": {
        "length in two bytes": lambda value: len(value) + 1 >= FIRST_TWO_BYTE_SIZE,
    },
    "software": {
        "name of one character": lambda value: len(value.name) == 1,
        "name of at least 128 bytes": lambda value: len(value.name.encode()) >= 128,
        "version of at least 128 bytes": lambda value: len(value.version.encode()) >= 128,
        "of a well-known client": lambda value: value in KNOWN_CLIENTS,
        "name next to the size of a buffer": lambda value: _has_size_of_buffer(value.name),
        "illegal one of at least 300 bytes": lambda value: _longest_illegal(value) >= 300,
        "illegal one of 32767 bytes": lambda value: _longest_illegal(value) == INT16_MAX,
    },
    "tag in the header": _TAGGED_FIELDS,
    "tag in the body": _TAGGED_FIELDS,
    "node id": {
        "next to 2^8": lambda value: abs(value) in EDGES[:3],
        "next to 2^16": lambda value: abs(value) in EDGES[3:],
        "above 2^16": lambda value: abs(value) > max(EDGES),
    },
    "cluster id": {variant: partial(operator.eq, variant) for variant in CLUSTER_ID_VARIANTS},
    "trailing bytes": {"any": bool, "64 KiB": lambda value: value >= 1 << 16},
    "tag section": {
        "as many fields as every release takes": lambda value: value.number == MAX_TAGS_SERVED,
        "one field more": lambda value: value.number == MAX_TAGS_SERVED + 1,
        "65,536 bytes": lambda value: len(value.section) == MAX_TAG_SECTION,
    },
    "header of another API": {"with tags": lambda value: value.section != NO_TAGS},
    "correlation id of another API": {
        "of more than 16 bits": lambda value: value > 0xFFFF,
        "negative": lambda value: value < 0,
    },
    "client id of another API": {
        "null": lambda value: value is None,
        "empty": lambda value: value == "",
        "at least 128 bytes": lambda value: len((value or "").encode()) >= 128,
    },
    "tag in the body of another API": {
        "any": bool,
        "value of at least 128 bytes": lambda field: len(field.data) >= FIRST_TWO_BYTE_SIZE,
    },
    "API key with the low byte of ApiVersions": {
        "negative": lambda value: value < 0,
        "positive": lambda value: value > 0,
    },
    "body": {"any bytes in a served version": bool},
    "malformation": {
        **{kind: _says(kind) for kind in (ODD_LENGTH, BEYOND_THE_FRAME, TOO_LONG, NOT_TEXT)},
        **{f"{kind} the cluster id": _says(kind, CLUSTER_ID) for kind in (ODD_LENGTH, NOT_TEXT)},
        **{f"header v{version}": _says(f"with header v{version}") for version in (1, 2, 3)},
        "header v2 on v0": _says("v0 with header v2"),
        "newest version with the body of v3": _says(f"v{NEWEST_VERSION} with", "body of v3"),
        "v3 with the newest body": _says("v3 with", f"body of v{NEWEST_VERSION}"),
        "cut in the client id of v0 to v2": CUT_CLIENT_ID.__contains__,
        "two at once": _says("; "),
        **{protocol: _says(protocol) for protocol in OTHER_PROTOCOLS},
    },
    "cut request": {
        "a frame follows": lambda data: not has_refused_size(_after_frame(data)),
        "a refused size follows": lambda data: has_refused_size(_after_frame(data)),
    },
    "pipeline": {
        "40 requests": lambda sent: sent.length >= 40,
        "equal correlation ids": lambda sent: sent.ids < sent.length,
    },
    "requests of a connection": {"at least 50": lambda count: count >= 50},
    "pause in ms": {
        "at least 300": lambda value: value >= 300,
        "at least 3000": lambda value: value >= 3000,
    },
    "other connections": {
        "at least 20": lambda count: count >= 20,
    },
    "earlier requests": {
        **{kind.value: partial(_has_earlier, kind) for kind in Earlier},
        "in one write with the judged one": lambda history: bool(history.earlier) and history.at_once,
        "several, one by one": lambda history: len(history.earlier) > 1 and not history.at_once,
    },
    "reset": {"any": bool},
    "write": {
        "a malformed request before others": lambda sent: any(
            isinstance(each, Request) and each.broken for each in sent[:-1]
        ),
        "several APIs": lambda sent: len({each.api_key for each in _requests_in(sent)}) > 1,
        "requests and steps of SASL": lambda sent: 0 < len(_requests_in(sent)) < len(sent),
        "a broken step of SASL": lambda sent: any(
            each.broken and each.api_key in SASL_KEYS for each in _requests_in(sent)
        ),
    },
}
"""The dimensions in which requests vary, and the tails of each. A node id is the one sent, or its distance from the
right one."""


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
        for each in value:
            yield from _parts_of(each)
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
