"""What KIP-1313, a proposal, says of schemas beyond `headerVersions`: right ones, and ones with exactly one fault at a known spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from proposals.kip_1313.folder_rules import EVERY_API, HEADER, HEADER_LAYOUT
from proposals.kip_1313.tests.header_version_schemas import Schema, WrongSchema, as_key, new_version
from wire.api_keys import SASL_HANDSHAKE_KEY
from wire.header_versions import HEADER_VERSIONS, REQUEST, RESPONSE
from wire.headers import INSTANCE_ID_REQUEST_HEADER

_CLIENT_ID, _INSTANCE_ID = 3, 4


class WrongFolder(NamedTuple):
    """Schemas that claim the proposal, with one fault.

    Attributes:
        schemas: the schemas and their names.
        clause: the clause that they violate.
        name: the name of the schema with the fault.
        where: where the fault is.
    """

    schemas: Sequence[tuple[str, Schema]]
    clause: str
    name: str
    where: str


def request_header(first: str = "0+") -> Schema:
    """Return the schema of the request header as the proposal has it.

    Args:
        first: the versions of its oldest fields; v0 no longer exists, so it makes no difference there.
    """
    names = (("RequestApiKey", "int16"), ("RequestApiVersion", "int16"), ("CorrelationId", "int32"))
    client_id = {"name": "ClientId", "type": "string", "versions": "1+", "nullableVersions": "1+"}
    return {
        "type": HEADER,
        "name": "RequestHeader",
        "validVersions": "1-3",
        "flexibleVersions": "2+",
        "fields": [
            *({"name": name, "type": type_, "versions": first} for name, type_ in names),
            {**client_id, "flexibleVersions": "none"},
            {"name": "ClientInstanceId", "type": "uuid", "versions": "3+"},
        ],
    }


def request_headers() -> st.SearchStrategy[Schema]:
    """Right schemas of the request header."""
    return st.sampled_from(("0+", "1+", "0-3", "1-3")).map(request_header)


def _with_field(schema: Schema, number: int, **changes: Any) -> Schema:
    fields = [dict(field) for field in schema["fields"]]
    fields[number].update(changes)
    return {**schema, "fields": fields}


def _without_field(schema: Schema, number: int) -> Schema:
    fields = [field for index, field in enumerate(schema["fields"]) if index != number]
    return {**schema, "fields": fields}


def wrong_versions_of_header() -> st.SearchStrategy[WrongSchema]:
    """Request headers with other versions, or other flexible ones."""
    wrong = st.sampled_from(
        [("validVersions", text) for text in ("1-2", "2-3", "3", "1-4", "1+")]
        + [("flexibleVersions", text) for text in ("none", "1+", "3+", "2")]
    )
    return wrong.map(
        lambda each: WrongSchema({**request_header(), each[0]: each[1]}, HEADER_LAYOUT, each[0])
    )


@st.composite
def wrong_order_of_header(draw: st.DrawFn) -> WrongSchema:
    """Request headers that lack a field, or have one in another place."""
    schema = request_header()
    missing = st.integers(0, _CLIENT_ID).map(lambda number: _without_field(schema, number))
    moved = (
        st.permutations(schema["fields"])
        .filter(lambda fields: fields != schema["fields"])
        .map(lambda fields: {**schema, "fields": fields})
    )
    return WrongSchema(draw(missing | moved), HEADER_LAYOUT, "fields")


def wrong_fields_of_header() -> st.SearchStrategy[WrongSchema]:
    """Request headers with a field of another type, or in other versions, nullable ones or flexible ones."""
    wrong: list[tuple[int, str, str]] = [
        (_INSTANCE_ID, "type", "string"),
        (_INSTANCE_ID, "versions", "2+"),
        (_INSTANCE_ID, "versions", "0+"),
        (_INSTANCE_ID, "nullableVersions", "3+"),
        (_CLIENT_ID, "type", "uuid"),
        (_CLIENT_ID, "versions", "2+"),
        (_CLIENT_ID, "nullableVersions", "none"),
        (_CLIENT_ID, "flexibleVersions", "3+"),
        (_CLIENT_ID, "flexibleVersions", "2+"),
        (0, "type", "int32"),
        (2, "versions", "2+"),
    ]
    return st.sampled_from(wrong).map(
        lambda each: WrongSchema(
            _with_field(request_header(), each[0], **{each[1]: each[2]}),
            HEADER_LAYOUT,
            f"fields[{each[0]}].{each[1]}",
        )
    )


def bumped_request(api_key: int, newest: int, header: int = INSTANCE_ID_REQUEST_HEADER) -> Schema:
    """Return a request whose newest version has another header than the ones before it, which are flexible."""
    ranges = {as_key(0, newest - 1): "2"} if newest else {}
    return {
        "apiKey": api_key,
        "type": REQUEST,
        "name": f"Api{api_key}Request",
        "validVersions": as_key(0, newest),
        "flexibleVersions": "0+",
        HEADER_VERSIONS: {**ranges, as_key(newest, None): str(header)},
        "fields": [],
    }


def _named(schemas: Sequence[Schema]) -> list[tuple[str, Schema]]:
    return [(f"{schema['name']}.json", schema) for schema in schemas]


def _sasl_handshake(**changes: Any) -> Schema:
    schema = {
        "apiKey": SASL_HANDSHAKE_KEY,
        "type": REQUEST,
        "name": "SaslHandshakeRequest",
        "validVersions": "0-1",
        "flexibleVersions": "none",
        "fields": [],
    }
    return {**schema, **changes}


def _others() -> list[Schema]:
    """Return what stands next to requests in a folder, and needs no header v3."""
    removed = {**bumped_request(4, 0, header=2), "validVersions": "none", "name": "OldRequest"}
    del removed[HEADER_VERSIONS]
    response = {**new_version(47, RESPONSE, 1), "name": "OffsetDeleteResponse"}
    data = {"type": "data", "name": "Record", "validVersions": "0", "flexibleVersions": "0+"}
    return [removed, response, data, {**data, "type": HEADER, "name": "ResponseHeader"}]


@st.composite
def claiming_folders(draw: st.DrawFn) -> Sequence[tuple[str, Schema]]:
    """Right folders of schemas that claim the proposal."""
    keys = draw(st.sets(st.sampled_from((0, 1, 3, 18, 60)), min_size=1))
    requests = [bumped_request(key, draw(st.integers(0, 5))) for key in sorted(keys)]
    shuffled = st.permutations([*requests, _sasl_handshake(), request_header(), *_others()])
    return _named(draw(shuffled))


def _replaced(
    schemas: Sequence[tuple[str, Schema]], name: str, schema: Schema
) -> Sequence[tuple[str, Schema]]:
    return [(each, schema if each == name else known) for each, known in schemas]


@st.composite
def folders_without_bump(draw: st.DrawFn) -> WrongFolder:
    """Folders that claim the proposal by their request header, with one request that has no header v3."""
    schemas = draw(claiming_folders())
    name, schema = draw(
        st.sampled_from([each for each in schemas if each[1].get("apiKey") in (0, 1, 3, 18, 60)])
    )
    valid = {key: value for key, value in schema.items() if key != HEADER_VERSIONS}
    old: Mapping[str, Schema] = {
        "validVersions": valid,
        HEADER_VERSIONS: {**valid, HEADER_VERSIONS: {"0+": "2"}},
    }
    where = draw(st.sampled_from(sorted(old)))
    return WrongFolder(_replaced(schemas, name, old[where]), EVERY_API, name, where)


@st.composite
def folders_with_new_handshake(draw: st.DrawFn) -> WrongFolder:
    """Folders in which SaslHandshake has a version with header v3 as well."""
    schemas, name = draw(claiming_folders()), "SaslHandshakeRequest.json"
    stated = {"validVersions": "0-2", "flexibleVersions": "2+"}
    new = _sasl_handshake(**stated, **{HEADER_VERSIONS: {"0-1": "1", "2+": "3"}})
    return WrongFolder(_replaced(schemas, name, new), EVERY_API, name, HEADER_VERSIONS)


@st.composite
def folders_with_old_header(draw: st.DrawFn) -> WrongFolder:
    """Folders whose requests state header v3, which the request header itself lacks."""
    schemas, name = draw(claiming_folders()), "RequestHeader.json"
    old = {**_without_field(request_header(), _INSTANCE_ID), "validVersions": "1-2"}
    return WrongFolder(_replaced(schemas, name, old), HEADER_LAYOUT, name, "validVersions")


def of_today(schemas: Sequence[tuple[str, Schema]]) -> Sequence[tuple[str, Schema]]:
    """Return schemas without what the proposal adds."""
    old = {**_without_field(request_header(), _INSTANCE_ID), "validVersions": "1-2"}
    return [
        (name, old if name == "RequestHeader.json" else _without_property(schema))
        for name, schema in schemas
    ]


def _without_property(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != HEADER_VERSIONS}
