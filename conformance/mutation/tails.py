"""The rare values (tails) of each dimension in which requests vary.

One dimension is the client id. A broker may handle a rare value wrongly.

The tails of a dimension are named conditions on its values. `dimensions.py` takes the values out of an example, and
`reached_tails.py` counts which of them a standard run
sends.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from conformance.assertions.model_agreement import has_refused_size
from reference_model.broker.rules.request_parser import is_valid_name
from strategies.api_versions import build_request
from strategies.broken_requests import build_truncated
from strategies.cluster_ids import CLUSTER_ID_VARIANTS, EDGES
from strategies.field_values import (
    BUFFER_SIZES,
    FIRST_TAG_NOBODY_KNOWS,
    FIRST_TWO_BYTE_SIZE,
    KNOWN_CLIENTS,
    MAX_TAG_SECTION,
    MAX_TAGS_SERVED,
    Software,
)
from strategies.histories import ConnectionHistory, Earlier
from strategies.odd_frames import OTHER_PROTOCOLS
from strategies.odd_requests import BEYOND_THE_FRAME, CLUSTER_ID, NOT_TEXT, ODD_LENGTH, TOO_LONG
from wire.api_keys import SASL_KEYS
from wire.api_versions import NEWEST_VERSION
from wire.exchange import Request
from wire.frames import SIZE_BYTES, read_size
from wire.headers import CLIENT_ID_LENGTH_END
from wire.primitives import INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, NO_TAGS

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
