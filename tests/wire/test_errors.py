"""Tests of decode errors: the field and bytes that each kind blames.

They also check the data of errors.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.wire.generated_messages import EveryType
from wire.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.errors import (
    BufferUnderflow,
    DecodeError,
    DuplicateTag,
    EncodeError,
    InvalidBoolean,
    InvalidUtf8,
    NegativeLength,
    TrailingBytes,
    UnexpectedNull,
    VarintTooLong,
)
from wire.headers import RequestHeader, ResponseHeader
from wire.primitives import TaggedField

_TAGGED = "0000 01 00000000 "
"""A response of a flexible version up to its tag section, which begins at offset 7."""

REFUSED: tuple[tuple[str, type[Any], int, str, type[DecodeError], str, int, int], ...] = (
    ("nothing", ApiVersionsResponse, 0, "", BufferUnderflow, "error_code", 0, 0),
    ("half-a-number", ApiVersionsResponse, 0, "00", BufferUnderflow, "error_code", 0, 1),
    ("count-beyond-the-bytes", ApiVersionsResponse, 0, "0000 00000002 00", BufferUnderflow, "api_keys", 6, 7),
    ("element-cut", ApiVersionsResponse, 0, "0000 00000002 0012 0000 0005 0000 00", BufferUnderflow, "api_keys[1].min_version", 14, 15),
    ("element-missing", ApiVersionsResponse, 0, "0000 00000002 0012 0000 0005", BufferUnderflow, "api_keys[1].api_key", 12, 12),
    ("huge-count", ApiVersionsResponse, 1, "0000 7fffffff", BufferUnderflow, "api_keys", 6, 6),
    ("throttle-missing", ApiVersionsResponse, 1, "0000 00000000", BufferUnderflow, "throttle_time_ms", 6, 6),
    ("huge-compact-count", ApiVersionsResponse, 3, "0000 ffffffff0f", BufferUnderflow, "api_keys", 7, 7),
    ("negative-count", ApiVersionsResponse, 0, "0000 fffffffe", NegativeLength, "api_keys", 2, 6),
    ("null-array", ApiVersionsResponse, 0, "0000 ffffffff", UnexpectedNull, "api_keys", 2, 6),
    ("null-compact-array", ApiVersionsResponse, 3, "0000 00", UnexpectedNull, "api_keys", 2, 3),
    ("null-long-varint", ApiVersionsResponse, 3, "0000 8000", UnexpectedNull, "api_keys", 2, 4),
    ("count-of-33-bits", ApiVersionsResponse, 4, "0000 8080808010", VarintTooLong, "api_keys", 2, 7),
    ("element-without-tag-section", ApiVersionsResponse, 3, "0000 02 0012 0000 0005", BufferUnderflow, "api_keys[0].tagged_fields", 9, 9),
    ("no-tag-section", ApiVersionsResponse, 3, _TAGGED, BufferUnderflow, "tagged_fields", 7, 7),
    ("tag-missing", ApiVersionsResponse, 3, _TAGGED + "01", BufferUnderflow, "tagged_fields", 8, 8),
    ("tag-size-beyond-the-bytes", ApiVersionsResponse, 3, _TAGGED + "01 05 02 00", BufferUnderflow, "tagged_fields", 10, 11),
    ("tag-of-33-bits", ApiVersionsResponse, 3, _TAGGED + "01 ffffffff1f 00", VarintTooLong, "tagged_fields", 8, 13),
    ("known-tag-twice", ApiVersionsResponse, 3, _TAGGED + "02 03 01 01 03 01 01", DuplicateTag, "tagged_fields", 11, 12),
    ("unknown-tag-twice", ApiVersionsResponse, 5, _TAGGED + "03 09 00 03 01 01 09 00", DuplicateTag, "tagged_fields", 13, 14),
    (
        "tag-too-small-for-its-value",
        ApiVersionsResponse,
        3,
        _TAGGED + "02 01 04 00000000 09 04 00000000",
        BufferUnderflow,
        "finalized_features_epoch",
        10,
        14,
    ),
    ("tag-larger-than-its-value", ApiVersionsResponse, 3, _TAGGED + "01 03 03 010000", TrailingBytes, "zk_migration_ready", 11, 13),
    ("tag-without-data", ApiVersionsResponse, 3, _TAGGED + "01 00 00", BufferUnderflow, "supported_features", 10, 10),
    (
        "tagged-array-beyond-its-tag",
        ApiVersionsResponse,
        3,
        _TAGGED + "02 00 02 0300 09 04 00000000",
        BufferUnderflow,
        "supported_features",
        11,
        12,
    ),
    ("null-tagged-array", ApiVersionsResponse, 3, _TAGGED + "01 02 01 00", UnexpectedNull, "finalized_features", 10, 11),
    ("boolean-neither", ApiVersionsResponse, 3, _TAGGED + "01 03 01 02", InvalidBoolean, "zk_migration_ready", 10, 11),
    (
        "feature-name-not-utf8",
        ApiVersionsResponse,
        3,
        _TAGGED + "01 00 10 03 02 61 0000 0000 00 03 61ff 0000 0000 00",
        InvalidUtf8,
        "supported_features[1].name",
        20,
        21,
    ),
    (
        "feature-name-null",
        ApiVersionsResponse,
        3,
        _TAGGED + "01 02 07 02 00 0000 0000 00",
        UnexpectedNull,
        "finalized_features[0].name",
        11,
        12,
    ),
    (
        "feature-tag-twice",
        ApiVersionsResponse,
        3,
        _TAGGED + "01 02 0c 02 02 61 0000 0000 02 01 00 01 00",
        DuplicateTag,
        "finalized_features[0].tagged_fields",
        20,
        21,
    ),
    ("trailing", ApiVersionsResponse, 3, _TAGGED + "00 00ff", TrailingBytes, "", 8, 10),
    ("trailing-after-nothing", ApiVersionsRequest, 0, "00", TrailingBytes, "", 0, 1),
    ("name-null", ApiVersionsRequest, 3, "00 01 00", UnexpectedNull, "client_software_name", 0, 1),
    ("version-cut", ApiVersionsRequest, 3, "01 0361", BufferUnderflow, "client_software_version", 2, 3),
    ("node-id-cut", ApiVersionsRequest, 5, "01 01 00 000000", BufferUnderflow, "node_id", 3, 6),
    ("cluster-id-not-utf8", ApiVersionsRequest, 5, "01 01 02c0", InvalidUtf8, "cluster_id", 3, 4),
    ("client-id-negative", RequestHeader, 2, "0012 0003 00000007 fffe 00", NegativeLength, "client_id", 8, 10),
    ("client-id-not-utf8", RequestHeader, 1, "0012 0003 00000007 0002 61c3", InvalidUtf8, "client_id", 11, 12),
    ("header-v1-for-v2", RequestHeader, 2, "0012 0003 00000007 0000", BufferUnderflow, "tagged_fields", 10, 10),
    ("response-header-v0-for-v1", ResponseHeader, 1, "00000007", BufferUnderflow, "tagged_fields", 4, 4),
    (
        "element-of-a-tagged-array-cut",
        EveryType,
        2,
        f"00 00 {16 * '0'} {32 * '0'} 01 00 01 01 c801 05 02 7f 01 8001 00",
        BufferUnderflow,
        "a_tagged_array[0].tagged_fields",
        38,
        38,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("message", "version", "data", "kind", "path", "start", "end"),
    [pytest.param(*each, id=name) for name, *each in REFUSED],
)
def test_wrong_bytes_are_blamed_on_their_field(
    message: type[Any],
    version: int,
    data: str,
    kind: type[DecodeError],
    path: str,
    start: int,
    end: int,
) -> None:
    """An error of the right kind names the field and the bytes to blame."""
    with pytest.raises(DecodeError) as caught:
        decode(message, bytes.fromhex(data), version=version)
    error = caught.value
    assert type(error) is kind
    assert (error.field_path, error.start, error.end) == (path, start, end)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param("0000 00000009 ffffff", "9 elements announced, 3 bytes left", id="array"),
        pytest.param("0000 00000000 ffffff", "3 bytes are left", id="trailing"),
    ],
)
def test_sentence_of_a_decode_error_has_the_figures(data: str, problem: str) -> None:
    """The message says what the bytes announce and how many bytes are left."""
    with pytest.raises(DecodeError) as caught:
        decode(ApiVersionsResponse, bytes.fromhex(data), version=0)
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    ("message", "version", "sentence"),
    [
        pytest.param(
            ApiVersionsRequest(client_software_name="n" * 40000),
            3,
            "client_software_name: a string of 40000 bytes is longer than 32767",
            id="too-long",
        ),
        pytest.param(
            ApiVersionsRequest(client_software_version=None),  # type: ignore[arg-type]
            3,
            "client_software_version is not nullable in version 3",
            id="null",
        ),
        pytest.param(
            RequestHeader(request_api_key=40000, request_api_version=0, correlation_id=0),
            1,
            "request_api_key: 40000 does not fit an int16",
            id="number",
        ),
        pytest.param(
            ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=None),  # type: ignore[arg-type]
            0,
            "api_keys is not nullable in version 0",
            id="null-array",
        ),
        pytest.param(
            ApiVersionsResponse(error_code=ErrorCode.NONE, finalized_features_epoch=2**63),
            3,
            "finalized_features_epoch: 9223372036854775808 does not fit an int64",
            id="tagged",
        ),
        pytest.param(
            ApiVersionsResponse(error_code=ErrorCode.NONE, unknown_tagged_fields=(TaggedField(3, b"\x01"),)),
            3,
            "tag 3 is a known one or occurs twice",
            id="known-tag",
        ),
        pytest.param(
            ApiVersionsRequest(unknown_tagged_fields=(TaggedField(9, b""), TaggedField(9, b"\x01"))),
            3,
            "tag 9 is a known one or occurs twice",
            id="tag-twice",
        ),
        pytest.param(
            ApiVersionsResponse(
                error_code=ErrorCode.NONE,
                api_keys=(ApiVersion(api_key=2**15, min_version=0, max_version=0),),
            ),
            0,
            "api_keys: api_key: 32768 does not fit an int16",
            id="element",
        ),
    ],
)
def test_value_that_does_not_fit_is_an_encode_error(message: Any, version: int, sentence: str) -> None:
    """An encode error names the field and the value."""
    with pytest.raises(EncodeError) as caught:
        encode(message, version=version)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        (["name"], "name"),
        (["[2]", "api_keys"], "api_keys[2]"),
        (["min_version", "[2]", "api_keys"], "api_keys[2].min_version"),
        (["c", "[0]", "[1]", "b", "a"], "a.b[1][0].c"),
    ],
)
def test_path_grows_from_the_inside(fields: list[str], path: str) -> None:
    """Each enclosing field goes in front of the path."""
    error = DecodeError("wrong", start=1, end=2)
    for field in fields:
        assert error.within(field) is error
    assert error.field_path == path


def test_sentence_of_a_decode_error_has_everything() -> None:
    """The message names the field, if there is one, the problem and the bytes."""
    assert str(DecodeError("wrong", start=1, end=2)) == "wrong (bytes 1 to 2)"
    named = DecodeError("wrong", start=1, end=2, field_path="api_keys[0]")
    assert str(named) == "api_keys[0]: wrong (bytes 1 to 2)"


@pytest.mark.parametrize("kind", DecodeError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_decode_error_survives_copies_and_processes(kind: type[DecodeError]) -> None:
    """A copied or pickled error has the same kind, message and data."""
    error = kind("wrong", start=1, end=2, field_path="node_id")
    for again in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is kind
        assert (again.problem, again.start, again.end) == ("wrong", 1, 2)
        assert str(again) == str(error)
