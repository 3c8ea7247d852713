"""Requests in which the length or the bytes of a string in the body are odd: a name, a version or a cluster id.

Kafka parses them in its own way, which the reference model predicts. The `broken` attribute says what is odd.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from strategies.api_versions import build_request
from strategies.odd_requests import NOT_UTF_8, negative_varints, odd_varints
from strategies.weights import one_branch
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NEWEST_VERSION,
)
from wire.exchange import Request, encode_request
from wire.headers import PLAIN_BODY
from wire.primitives import INT16_MAX, write_unsigned_varint

NAMES = ("client_software_name", "client_software_version")
CLUSTER_ID = "cluster_id"
ODD_LENGTH, BEYOND_THE_FRAME, TOO_LONG, NOT_TEXT = (
    "odd length of",
    "length beyond the frame of",
    "more than 32767 bytes of",
    "not UTF-8:",
)
"""The beginnings of `broken`."""
MOST_BYTES = 60_000
_WITH_IDS = replace(
    PLAIN_BODY,
    # Next to a cluster id that is not null, a node id keeps the ids from being half given.
    cluster_id="a",
    node_id=7,
)


def build_with_string(
    version: int, field: str, data: bytes, *, broken: str, ids: bool = False
) -> Request:
    """Return a flexible request in which one string of the body consists of these bytes, length included."""
    body = _WITH_IDS if ids and version >= FIRST_VERSION_WITH_CLUSTER_CHECK else PLAIN_BODY
    return encode_request(
        build_request(version=version).header,
        body,
        raw_body={field: data},
        broken=f"{broken} {field}",
    )


def _fields() -> st.SearchStrategy[tuple[int, str]]:
    """Versions with one of their strings: the names in each flexible version, the cluster id where there is one."""
    named = st.tuples(
        st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
        st.sampled_from(NAMES),
    )
    return named | st.tuples(
        st.integers(FIRST_VERSION_WITH_CLUSTER_CHECK, NEWEST_VERSION), st.just(CLUSTER_ID)
    )


def _requests_with(data: st.SearchStrategy[bytes], broken: str) -> st.SearchStrategy[Request]:
    return st.builds(
        lambda versioned_field, drawn, ids: build_with_string(
            versioned_field[0], versioned_field[1], drawn, broken=broken, ids=ids
        ),
        _fields(),
        data,
        st.booleans(),
    )


def requests_with_odd_string_lengths() -> st.SearchStrategy[Request]:
    """Requests with an odd varint as the length of a string: too long a form, surplus bits, six bytes, or negative."""
    length_of_two = odd_varints(3).map(lambda varint: varint + b"1a")
    return _requests_with(length_of_two | odd_varints(0) | negative_varints(), ODD_LENGTH)


def compact_string(length: int, data: bytes) -> bytes:
    """Return a compact string that announces `length` bytes, whatever follows."""
    return write_unsigned_varint(length + 1) + data


def requests_with_string_overrun() -> st.SearchStrategy[Request]:
    """Requests with a string whose length reaches beyond the frame; those next to 32767, the longest, are drawn often."""
    longest = st.sampled_from((INT16_MAX, INT16_MAX + 1))
    lengths = st.integers(60, 300) | longest | st.integers(60, 2 * INT16_MAX)
    announced = st.builds(compact_string, lengths, st.binary(max_size=4))
    return _requests_with(announced, BEYOND_THE_FRAME)


def requests_with_too_long_string() -> st.SearchStrategy[Request]:
    """Requests with a complete string of more than 32767 bytes; 32768 is drawn often."""
    lengths = st.just(INT16_MAX + 1) | st.integers(INT16_MAX + 1, MOST_BYTES)
    complete = st.builds(
        lambda length, letter: compact_string(length, letter * length),
        lengths,
        st.sampled_from((b"a", b"_")),
    )
    return _requests_with(complete, TOO_LONG)


def texts_that_are_not_utf_8() -> st.SearchStrategy[bytes]:
    """Compact strings whose bytes are not UTF-8: overlong forms, surrogates, cut or impossible characters."""
    around = st.text(st.sampled_from("abc019"), max_size=4).map(str.encode)
    return st.builds(
        # An ASCII byte follows, so that the wrong bytes never become part of a valid character.
        lambda before, wrong, after: compact_string(
            len(before + wrong + b"a" + after), before + wrong + b"a" + after
        ),
        around,
        st.sampled_from(NOT_UTF_8),
        around,
    )


def requests_with_wrong_text() -> st.SearchStrategy[Request]:
    """Requests with a string that is not UTF-8."""
    return _requests_with(texts_that_are_not_utf_8(), NOT_TEXT)


def names_with_wrong_text() -> st.SearchStrategy[Request]:
    """Requests without ids whose software name or version is not UTF-8."""
    return st.builds(
        lambda version, field, data: build_with_string(version, field, data, broken=NOT_TEXT),
        st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
        st.sampled_from(NAMES),
        texts_that_are_not_utf_8(),
    )


def requests_with_odd_strings() -> st.SearchStrategy[Request]:
    """All the kinds of this module."""
    return one_branch(
        st.one_of(
            requests_with_odd_string_lengths(),
            requests_with_string_overrun(),
            requests_with_too_long_string(),
            requests_with_wrong_text(),
        )
    )
