"""Classes made from schemas: every type and option, defaults, and source order."""

from __future__ import annotations

import pickle
from typing import Any
from uuid import UUID

import pytest

from wire.codec import Trace, decode, encode
from wire.errors import (
    BufferUnderflow,
    DecodeError,
    EncodeError,
    InvalidBoolean,
    TrailingBytes,
    UnexpectedNull,
)
from wire.message_schemas import ApiCatalogue, api, message_class, message_from, snake_case


def field(name: str, type_: str, versions: str = "0+", **others: Any) -> dict[str, Any]:
    """Return one field of a schema."""
    return {"name": name, "type": type_, "versions": versions, **others}


def schema(*fields: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a schema of version 0, which is not flexible, and version 1, which is."""
    return {
        "name": "SomeRequest",
        "validVersions": "0-1",
        "flexibleVersions": "1+",
        "fields": list(fields),
        **others,
    }


PAIR = [field("Left", "int8"), field("Right", "uint16", "1+", tag="0", taggedVersions="1+")]
NULL = {"nullableVersions": "0+", "default": "null"}
EVERY_TYPE = message_class(
    schema(
        field("SomeBytes", "bytes"),
        field("SomeRecords", "records", nullableVersions="0+"),
        field("AFloat", "float64"),
        field("Numbers", "[]int32"),
        field("Names", "[]string"),
        field("AStruct", "Pair"),
        field("Absent", "Other", fields=[field("Deep", "uint32")], **NULL),
        field("Pairs", "[]Pair"),
        field("Tagged", "Pair", "1+", tag=3, taggedVersions="1+"),
        field("ClientId", "string", flexibleVersions="none", **NULL),
        commonStructs=[{"name": "Pair", "versions": "0+", "fields": PAIR}],
    )
)


def value_of_every_type() -> Any:
    """Return a message with a value in every field."""
    values = {
        "some_bytes": b"\x01",
        "some_records": None,
        "a_float": 0.5,
        "numbers": (1, -1),
        "names": ("a",),
        "a_struct": {"left": 1, "right": 2},
        "absent": {"deep": 3},
        "pairs": [{"left": 4}],
        "tagged": {"left": 5},
        "client_id": "c",
    }
    return message_from(EVERY_TYPE, values)


@pytest.mark.parametrize(
    ("version", "written"),
    [
        (
            0,
            "00000001 01 ffffffff 3fe0000000000000 00000002 00000001 ffffffff 00000001 0001 61"
            " 01 01 00000003 00000001 04 0001 63",
        ),
        (
            1,
            "02 01 00 3fe0000000000000 03 00000001 ffffffff 02 02 61 01 01 00 02 00 02"
            " 01 00000003 00 02 04 00 0001 63 01 03 02 05 00",
        ),
    ],
)
def test_every_type_is_written_in_its_place(version: int, written: str) -> None:
    """Each type has its plain and its compact form, and a tagged struct is in the tag section."""
    message = value_of_every_type()
    encoded = encode(message, version=version)
    assert encoded.hex() == written.replace(" ", "")
    trace: Trace = []
    decoded = decode(EVERY_TYPE, encoded, version=version, trace=trace)
    assert encode(decoded, version=version) == encoded
    # The spans follow each other without a gap.
    assert [span.start for span in trace] == [0, *(span.end for span in trace[:-1])]
    assert trace[-1].end == len(encoded)


def test_null_struct_is_one_byte() -> None:
    """A null struct is written as -1, with nothing after it."""
    only = message_class(schema(field("Absent", "Other", fields=[field("Deep", "int8")], **NULL)))
    assert encode(only(), version=0) == b"\xff"
    assert decode(only, b"\xff", version=0) == only(absent=None)
    with pytest.raises(InvalidBoolean):
        decode(only, b"\x00", version=0)


def test_missing_values_are_the_defaults_of_the_schema() -> None:
    """Missing values are the schema's defaults, in the field's type, or the type's zero."""
    made = message_class(
        schema(
            field("Hex", "int32", default="0x7fffffff"),
            field("Flag", "bool", default="true"),
            field("Text", "string", default="x"),
            field("Plain", "int64"),
            field("Id", "uuid"),
            field("Null", "[]string", **NULL),
        )
    )()
    given = (made.hex, made.flag, made.text, made.plain, made.id, made.null)
    assert given == (0x7FFFFFFF, True, "x", 0, UUID(int=0), None)


@pytest.mark.parametrize(
    ("data", "error", "path"),
    [
        ("7fffffff 00", BufferUnderflow, "numbers"),
        ("00000001 0001", BufferUnderflow, "numbers[0]"),
        ("00000000 00000001 ffff", UnexpectedNull, "names[0]"),
        ("00000000 00000000 00", TrailingBytes, ""),
    ],
)
def test_wrong_bytes_are_blamed_by_path(data: str, error: type[DecodeError], path: str) -> None:
    """Bytes that do not fit raise a typed error with the field's path; counts are checked first."""
    made = message_class(schema(field("Numbers", "[]int32"), field("Names", "[]string")))
    with pytest.raises(error) as caught:
        decode(made, bytes.fromhex(data), version=0)
    assert caught.value.field_path == path


def test_value_that_does_not_fit_is_not_written() -> None:
    """An encode error names the field."""
    made = message_class(schema(field("Numbers", "[]int8")))
    with pytest.raises(EncodeError, match="numbers"):
        encode(made(numbers=(300,)), version=0)


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("isKRaftController", "is_k_raft_controller"),
        ("V3AndBelowTransactionalId", "v3_and_below_transactional_id"),
    ],
)
def test_names_are_snake_cased(name: str, snake: str) -> None:
    """Capital letters separate the words of a name."""
    assert snake_case(name) == snake


def api_schemas(key: int, name: str, valid: str, flexible: str = "1+") -> list[dict[str, Any]]:
    """Return request and response schemas of an API."""
    common = {"apiKey": key, "validVersions": valid, "flexibleVersions": flexible, "fields": []}
    halves = ("Request", "Response")
    return [{**common, "name": f"{name}{half}", "type": half.lower()} for half in halves]


def test_earlier_source_counts_where_two_describe_a_version() -> None:
    """Each version comes from the first source that has it; a removed API from the older one."""
    newer = [*api_schemas(3, "New", "2-4"), *api_schemas(5, "Gone", "none")]
    older = [*api_schemas(3, "Old", "0-2"), *api_schemas(5, "Gone", "0"), {"name": "Data"}]
    catalogue = ApiCatalogue([newer, older])
    names = [api.name for version in range(5) if (api := catalogue.find(3, version))]
    assert names == ["Old", "Old", "New", "New", "New"]
    assert catalogue.find(3, 5) is None
    assert catalogue.versions_of(3) == [0, 1, 2, 3, 4]
    assert (catalogue.name_of(3), catalogue.name_of(5), catalogue.name_of(9)) == (
        "New",
        "Gone",
        "key 9",
    )
    assert [api.api_key for api in catalogue] == [3, 3, 5]


@pytest.mark.parametrize(("asked", "name", "found"), [(-5, "Old", 0), (99, "New", 4), (3, "New", 3)])
def test_nearest_version_is_found(asked: int, name: str, found: int) -> None:
    """The nearest version is the described one closest to the requested version."""
    catalogue = ApiCatalogue([api_schemas(3, "New", "2-4"), api_schemas(3, "Old", "0-2")])
    nearest = catalogue.nearest(3, asked)
    assert nearest is not None
    assert (nearest[0].name, nearest[1]) == (name, found)
    assert catalogue.nearest(4, asked) is None


def test_a_class_that_no_module_names_can_be_pickled() -> None:
    """A message and its class reach another process, in which both encode to the same bytes."""
    made = message_class(schema(field("Pairs", "[]Pair", fields=PAIR), field("Name", "string", "1+")))
    pair = made.FIELDS[0].element
    message = made(pairs=(pair(left=1, right=2),), name="n")
    class_there, there = pickle.loads(pickle.dumps((made, message)))
    # Making it takes a millisecond, and processes send messages by the thousand.
    assert class_there is made
    assert class_there.__name__ == "SomeRequest"
    assert encode(there, version=1) == encode(message, version=1)
    assert encode(class_there(), version=1) == encode(made(), version=1)


TALK = api("""
    77 Talk 0-1 1+
    request
        Whom string 0+
        Words []Word 0+
            Text string 0+
            Loud bool 0+
        Mood Mood 1+
            Level int8 1+
    response
        Heard []string 0+
    """)


def test_plain_request_has_the_given_values_and_defaults() -> None:
    """Mappings stand for structs, alone and in arrays; the header is of the version that the request needs."""
    values = {"words": [{"text": "a", "loud": True}, {"text": "b"}], "mood": {"level": 3}}
    request = TALK.plain_request(1, correlation_id=9, client_id="x", **values)
    header = bytes.fromhex("004d 0001 00000009 0001 78 00")
    body = bytes.fromhex("01 03 02 61 01 00 02 62 00 00 03 00 00")
    assert request.data == (len(header) + len(body)).to_bytes(4) + header + body
    assert TALK.plain_request(0).data[14:] == b"kafka-conformance" + bytes(2) + bytes(4)


def test_response_is_read_without_what_follows() -> None:
    """A client ignores bytes that it does not know; what does not decode is an error."""
    payload = bytes.fromhex("00000009 00 02 02 61 00 ffff")
    assert TALK.read_response(payload, 1).heard == ("a",)
    with pytest.raises(TrailingBytes):
        TALK.decode_response(payload, 1)
    with pytest.raises(BufferUnderflow):
        TALK.read_response(payload[:7], 1)
