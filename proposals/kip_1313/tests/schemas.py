"""Message schemas for tests, alone and in folders: correct, or with one fault.

Each fault comes with its clause and its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from proposals.kip_1313.messages import OFFSET_DELETE_KEY, PUSH_TELEMETRY_KEY, TELEMETRY_KEYS
from proposals.kip_1313.schema_rules import (
    EVERY_API,
    HEADER,
    HEADER_LAYOUT,
    OFFSET_DELETE,
    RESPONSE_HEADERS,
    SYNTAX,
    TELEMETRY,
    JsonObject,
    claims_proposal,
    is_request_header,
    problems_in,
    problems_in_request_header,
    problems_together,
)
from wire.api_keys import API_VERSIONS_KEY, SASL_HANDSHAKE_KEY
from wire.header_versions import FIRST_FLEXIBLE, HEADER_VERSIONS, REQUEST, RESPONSE

Schema = Mapping[str, Any]
UNKNOWN_KEY = 1001
"""That of an API that no release has, so each of its versions is new."""
_CLIENT_ID, _INSTANCE_ID = 3, 4


class Row(NamedTuple):
    """Schemas and what is wrong with them.

    Attributes:
        name: what they are.
        schemas: the schemas; several are those of one folder.
        wrong: the clause and the place of each fault.
    """

    name: str
    schemas: Sequence[Schema]
    wrong: frozenset[tuple[str, str]]

    def found(self) -> set[tuple[str, str]]:
        """Return the clause and the place of each fault that the rules find."""
        named = [(str(schema.get("name")), schema) for schema in self.schemas]
        problems = [problem for _, problem in problems_together(named)]
        for schema in self.schemas:
            problems += problems_in(schema)
            if is_request_header(schema) and claims_proposal(schema):
                problems += problems_in_request_header(schema)
        return {(problem.clause, problem.where) for problem in problems}


def right(name: str, *schemas: Schema) -> Row:
    """Return schemas without a fault."""
    return Row(name, schemas, frozenset())


def wrong(name: str, clause: str, where: str, *schemas: Schema) -> Row:
    """Return schemas with one fault."""
    return Row(name, schemas, frozenset({(clause, where)}))


def at(key: str) -> str:
    """Return where an entry of the property is."""
    return f'{HEADER_VERSIONS}."{key}"'


def schema_of(
    stated: Any = None,
    kind: str = REQUEST,
    *,
    valid: str = "0-3",
    flexible: str = "0+",
    api_key: int = UNKNOWN_KEY,
) -> Schema:
    """Return the schema of a request or response; without the property if it states none."""
    schema = {
        "apiKey": api_key,
        "type": kind,
        "name": f"Api{api_key}{kind.title()}",
        "validVersions": valid,
        "flexibleVersions": flexible,
        "fields": [],
    }
    return schema if stated is None else {**schema, HEADER_VERSIONS: stated}


def new_version(api_key: int, kind: str, header: int, *, id_versions: str = "0") -> Schema:
    """Return v0 and v1 of an API that KIP-1313 changes.

    Args:
        api_key: the key of OffsetDelete or of telemetry.
        kind: "request" or "response".
        header: the header version of v1.
        id_versions: the versions whose body has the client instance id, if it is one of telemetry.
    """
    is_flexible = api_key != OFFSET_DELETE_KEY
    before = FIRST_FLEXIBLE[kind] - (not is_flexible)
    fields = [{"name": "ThrottleTimeMs", "type": "int32", "versions": "0+"}]
    if is_flexible:
        fields.append({"name": "ClientInstanceId", "type": "uuid", "versions": id_versions})
    stated = {"0": str(before), "1+": str(header)}
    flexible = "0+" if is_flexible else "1+"
    schema = schema_of(stated, kind, valid="0-1", flexible=flexible, api_key=api_key)
    return {**schema, "fields": fields}


def request_header(first: str = "0+", **changes: Any) -> Schema:
    """Return the schema of the request header as the proposal has it.

    Args:
        first: the versions of its oldest fields; v0 no longer exists, so it makes no difference there.
        changes: what differs from it.
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
        **changes,
    }


FIELDS = request_header()["fields"]
OLD_HEADER = request_header(fields=FIELDS[:_INSTANCE_ID], validVersions="1-2")
HANDSHAKE = schema_of(valid="0-1", flexible="none", api_key=SASL_HANDSHAKE_KEY)
NEW = schema_of({"0-1": "1", "2": "2", "3+": "3"}, flexible="2+")
OTHERS = (
    HANDSHAKE,
    schema_of({"0+": "3"}, valid="0", api_key=UNKNOWN_KEY + 2),
    schema_of(valid="none", api_key=UNKNOWN_KEY + 3),
    new_version(OFFSET_DELETE_KEY, RESPONSE, 1),
    schema_of(kind=RESPONSE, flexible="none", api_key=SASL_HANDSHAKE_KEY),
    schema_of(kind=RESPONSE, valid="none", api_key=UNKNOWN_KEY + 3),
    {"type": "data", "name": "Record", "validVersions": "0", "flexibleVersions": "0+"},
    {"type": HEADER, "name": "ResponseHeader", "validVersions": "0", "flexibleVersions": "0+"},
)
"""What may stand next to other schemas in a folder that claims the proposal."""


def with_field(number: int, key: str, value: str) -> Row:
    """Return the request header with a field that differs in one respect."""
    fields = [dict(field) for field in FIELDS]
    fields[number][key] = value
    where = f"fields[{number}].{key}"
    return wrong(f"{where}={value}", HEADER_LAYOUT, where, request_header(fields=fields))


def repeating(text: str) -> Schema:
    """Return a schema whose text has a key twice."""
    schema = f'{{"name": "ARequest", "apiKey": 1, "apiKey": 1, "validVersions": "0-3", {text}}}'
    read: Schema = json.loads(schema, object_pairs_hook=JsonObject)
    return read


def after_v0(stated: Mapping[str, Any]) -> Schema:
    """Return the schema of a request whose v0 is no longer valid."""
    return schema_of(stated, valid="1-3", flexible="2+")


RIGHT = (
    right("without-the-property", schema_of()),
    right("several-ranges", NEW),
    right("any-order", after_v0({"2+": "3", "0-0": "1", "1": "1"})),
    right("from-before-the-first-version", after_v0({"0-1": "1", "2+": "2"})),
    right("beyond-the-last-version", schema_of({"0-4": "2", "5+": "2"})),
    right("numbers", after_v0({"1": 1, "2+": 2})),
    right("no-valid-version", schema_of({"3+": "2"}, valid="none")),
    right("response", schema_of({"0-1": "0", "2+": "1"}, RESPONSE, flexible="2+")),
    right("never-flexible", schema_of({"0+": "1"}, flexible="none")),
    right(
        "telemetry-of-today",
        {**new_version(PUSH_TELEMETRY_KEY, REQUEST, 3), "validVersions": "0"},
    ),
    *(
        right(f"changed-{key}", new_version(key, REQUEST, 3), new_version(key, RESPONSE, 1))
        for key in (OFFSET_DELETE_KEY, *TELEMETRY_KEYS)
    ),
    *(
        right(f"no-message-{type_}", {"type": type_, "name": "SomeHeader", HEADER_VERSIONS: {}})
        for type_ in ("header", "data")
    ),
    *(right(f"header-{first}", request_header(first)) for first in ("0+", "1+", "0-3", "1-3")),
    right("new-version", schema_of({"0-1": "1", "2": "2", "3+": "3"}, flexible="2+", api_key=42)),
    right("folder", NEW, request_header(), *OTHERS),
    right("folder-of-today", schema_of({"0+": "2"}), schema_of(), OLD_HEADER, HANDSHAKE),
    # What is wrong is reported once, and not as a request without header v3 as well.
    wrong("folder-with-a-gap", SYNTAX, at("1+"), schema_of({"1+": "3"}), request_header(), HANDSHAKE),
)  # fmt: skip
NO_OBJECTS: tuple[Any, ...] = ({}, [], "0+", 3)
WRONG_SYNTAX = (
    *(
        wrong(f"no-object-{stated!r}", SYNTAX, HEADER_VERSIONS, schema_of(stated))
        for stated in NO_OBJECTS
    ),
    *(
        wrong(f"key-{key!a}", SYNTAX, at(key), schema_of({key: "2"}))
        for key in ("", "all", "1-", "-1", "1-2-3", "0-+", "1 - 2", "3-1", "none", "\u0663")
    ),
    *(
        wrong(f"{kind}-{value!a}", SYNTAX, at("0+"), schema_of({"0+": value}, kind))
        for kind, values in (
            (REQUEST, (0, -1, 4, 99, "0", "-1", "4", "99")),
            (REQUEST, (None, True, 1.0, ["1"], "", "v1", " 1", "01", "02", "1+", "\u0661")),
            (RESPONSE, (2, 3, -1, "2", "3", "-1")),
        )
        for value in values
    ),
    *(
        wrong(f"ranges-{'-and-'.join(keys)}", SYNTAX, at(where), schema_of(dict.fromkeys(keys, "2")))
        for keys, where in (
            (("1+",), "1+"),
            (("0", "2+"), "2+"),
            (("0-1", "1+"), "1+"),
            (("0+", "3+"), "0+"),
            (("0-3",), "0-3"),
            (("0-1", "2-3"), "2-3"),
        )
    ),
    *(
        wrong(f"repeated-{number}", SYNTAX, where, repeating(text))
        for number, (text, where) in enumerate(
            (
                ('"headerVersions": {"0-1": "1", "2+": "2", "0-1": "2"}', at("0-1")),
                ('"headerVersions": {"0+": "9", "0+": "2"}', at("0+")),
                ('"headerVersions": {"0+": "1"}, "headerVersions": {"0+": "2"}', HEADER_VERSIONS),
            )
        )
    ),
)  # fmt: skip
WRONG_FLEXIBILITY = tuple(
    wrong(
        f"{kind}-{flexible}-{key}",
        RESPONSE_HEADERS if kind == RESPONSE else SYNTAX,
        at(key),
        schema_of(
            {version: str(FIRST_FLEXIBLE[kind] - 1 + more) for version, more in stated.items()},
            kind,
            flexible=flexible,
        ),
    )
    for kind in (REQUEST, RESPONSE)
    for flexible, key, stated in (
        ("0+", "0+", {"0+": 0}),
        ("none", "0+", {"0+": 1}),
        ("2+", "2", {"0-1": 0, "2": 0, "3+": 1}),
        ("3+", "2", {"0-1": 0, "2": 1, "3+": 1}),
    )
)
WRONG_APIS = (
    wrong(
        "api-versions-is-answered-with-the-oldest-header",
        RESPONSE_HEADERS,
        at("3+"),
        schema_of({"0-2": "0", "3+": "1"}, RESPONSE, flexible="3+", api_key=API_VERSIONS_KEY),
    ),
    *(
        wrong(
            f"old-version-{key}-{valid}",
            EVERY_API,
            at(where),
            schema_of(stated, valid=valid, flexible=flexible, api_key=key),
        )
        for key, valid, flexible, stated, where in (
            (42, "0-2", "2+", {"0-1": "1", "2+": "3"}, "2+"),
            (42, "0-3", "2+", {"0-1": "1", "2+": "3"}, "2+"),
            (71, "0", "0+", {"0+": "3"}, "0+"),
        )
    ),
    wrong("offset-delete", OFFSET_DELETE, at("1+"), new_version(OFFSET_DELETE_KEY, REQUEST, 2)),
    *(wrong(f"telemetry-{key}", TELEMETRY, at("1+"), new_version(key, REQUEST, 2)) for key in TELEMETRY_KEYS),
    *(
        wrong(
            f"telemetry-{key}-{kind}-{kept}",
            TELEMETRY,
            "fields[1].versions",
            new_version(key, kind, header, id_versions=kept),
        )
        for key in TELEMETRY_KEYS
        for kind, header in ((REQUEST, 3), (RESPONSE, 1))
        for kept in ("0+", "1", "0-1", "1+")
    ),
)
WRONG_HEADERS = (
    *(
        wrong(f"header-{key}={value}", HEADER_LAYOUT, key, request_header(**{key: value}))
        for key, values in (
            ("validVersions", ("1-2", "2-3", "3", "1-4", "1+")),
            ("flexibleVersions", ("none", "1+", "3+", "2")),
        )
        for value in values
    ),
    *(
        wrong(
            f"header-without-{field['name']}",
            HEADER_LAYOUT,
            "fields",
            request_header(fields=[each for each in FIELDS if each is not field]),
        )
        for field in FIELDS
    ),
    wrong("header-turned", HEADER_LAYOUT, "fields", request_header(fields=FIELDS[::-1])),
    with_field(_INSTANCE_ID, "type", "string"),
    with_field(_INSTANCE_ID, "versions", "2+"),
    with_field(_INSTANCE_ID, "versions", "0+"),
    with_field(_INSTANCE_ID, "nullableVersions", "3+"),
    with_field(_CLIENT_ID, "type", "uuid"),
    with_field(_CLIENT_ID, "versions", "2+"),
    with_field(_CLIENT_ID, "nullableVersions", "none"),
    with_field(_CLIENT_ID, "flexibleVersions", "3+"),
    with_field(_CLIENT_ID, "flexibleVersions", "2+"),
    with_field(0, "type", "int32"),
    with_field(2, "versions", "2+"),
)
NEW_HANDSHAKE = schema_of({"0-1": "1", "2+": "3"}, valid="0-2", flexible="2+", api_key=SASL_HANDSHAKE_KEY)
WRONG_FOLDERS = (
    wrong("folder-without-bump", EVERY_API, "validVersions", schema_of(), request_header(), *OTHERS),
    wrong("folder-with-old-response", RESPONSE_HEADERS, "validVersions", NEW, schema_of(kind=RESPONSE)),
    wrong("folder-with-v2", EVERY_API, HEADER_VERSIONS, schema_of({"0+": "2"}), NEW, *OTHERS),
    wrong("folder-with-new-handshake", EVERY_API, HEADER_VERSIONS, NEW, NEW_HANDSHAKE),
    wrong("folder-with-old-header", HEADER_LAYOUT, "validVersions", NEW, OLD_HEADER, HANDSHAKE),
)  # fmt: skip
ROWS = (*RIGHT, *WRONG_SYNTAX, *WRONG_FLEXIBILITY, *WRONG_APIS, *WRONG_HEADERS, *WRONG_FOLDERS)
