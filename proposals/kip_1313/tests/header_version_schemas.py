"""Message schemas with the property `headerVersions` of KIP-1313: right ones, and ones with exactly one fault at a known spot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from proposals.kip_1313.header_rules import (
    EXISTING,
    OFFSET_DELETE,
    RESPONSE_HEADERS,
    SYNTAX,
    TELEMETRY,
)
from proposals.kip_1313.messages import OFFSET_DELETE_KEY, PUSH_TELEMETRY_KEY
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.fields import versions
from wire.header_versions import (
    FIRST_FLEXIBLE,
    HEADER_VERSIONS,
    REQUEST,
    RESPONSE,
    derived_header_version,
)
from wire.headers import INSTANCE_ID_REQUEST_HEADER

Schema = Mapping[str, Any]
USUAL_KEYS = (0, 1, 3, API_VERSIONS_KEY, 60)
MOST_VERSIONS = 20


class WrongSchema(NamedTuple):
    """A schema with one fault.

    Attributes:
        schema: the schema.
        clause: the clause that it violates.
        where: where the fault is.
    """

    schema: Schema
    clause: str
    where: str


def as_key(first: int, last: int | None) -> str:
    """Return a range of versions as the property writes it; without a last version it has an open end."""
    if last is None:
        return f"{first}+"
    return str(first) if first == last else f"{first}-{last}"


def at(key: str) -> str:
    """Return where an entry is."""
    return f'{HEADER_VERSIONS}."{key}"'


def with_ranges(schema: Schema, starts: Sequence[int], values: Sequence[int]) -> Schema:
    """Return a schema whose ranges begin at these versions; the last one has an open end."""
    ends = [*(start - 1 for start in starts[1:]), None]
    keys = [as_key(first, last) for first, last in zip(starts, ends, strict=True)]
    return {**schema, HEADER_VERSIONS: dict(zip(keys, map(str, values), strict=True))}


@st.composite
def bare_schemas(draw: st.DrawFn, kinds: Sequence[str] = (REQUEST, RESPONSE)) -> dict[str, Any]:
    """Schemas of requests and responses without the property."""
    kind = draw(st.sampled_from(kinds))
    first = draw(st.integers(0, 3))
    last = draw(st.integers(first, MOST_VERSIONS))
    flexible = draw(st.none() | st.integers(0, last + 2))
    return {
        "apiKey": draw(st.sampled_from(USUAL_KEYS)),
        "type": kind,
        "name": f"Some{kind.title()}",
        "validVersions": as_key(first, last),
        "flexibleVersions": "none" if flexible is None else f"{flexible}+",
        "fields": [],
    }


@st.composite
def right_schemas(
    draw: st.DrawFn, kinds: Sequence[str] = (REQUEST, RESPONSE), least_ranges: int = 1
) -> Schema:
    """Schemas whose property is right."""
    schema = draw(bare_schemas(kinds).filter(lambda each: len(versions_of(each)) >= least_ranges))
    valid = versions_of(schema)
    derived = {version: derived_header_version(schema, version) for version in valid}
    kind = schema["type"]
    changes = {
        version
        for version in valid[1:]
        if (derived[version] >= FIRST_FLEXIBLE[kind])
        != (derived[version - 1] >= FIRST_FLEXIBLE[kind])
    }
    more = draw(st.sets(st.sampled_from(valid), max_size=4))
    # They have to cover the valid versions, and may begin earlier and go on
    first = draw(st.integers(0, valid[0]))
    beyond = draw(st.sets(st.integers(valid[-1] + 1, valid[-1] + 3), max_size=1))
    starts = sorted({first, *changes, *more, *beyond})
    for version in valid:
        if len(starts) >= least_ranges:
            break
        starts = sorted({*starts, version})
    values = []
    for start in starts:
        allowed = [
            value
            for value in EXISTING[kind]
            if (value >= FIRST_FLEXIBLE[kind])
            == (derived[min(max(start, valid[0]), valid[-1])] >= FIRST_FLEXIBLE[kind])
        ]
        values.append(draw(st.sampled_from(allowed)))
    return with_ranges(schema, starts, values)


def versions_of(schema: Schema) -> list[int]:
    """Return the valid versions of a schema."""
    first, _, last = str(schema["validVersions"]).partition("-")
    return list(range(int(first), int(last or first) + 1))


@st.composite
def shuffled_schemas(draw: st.DrawFn) -> Schema:
    """Right schemas whose keys stand in any order: the keys of a JSON object have none."""
    schema = draw(right_schemas(least_ranges=2))
    return {**schema, HEADER_VERSIONS: dict(draw(st.permutations(_entries(schema))))}


def schemas_with_numbers() -> st.SearchStrategy[Schema]:
    """Right schemas that state the header versions as numbers."""
    return right_schemas().map(
        lambda schema: {
            **schema,
            HEADER_VERSIONS: {key: int(value) for key, value in _entries(schema)},
        }
    )


def _entries(schema: Schema) -> list[tuple[str, str]]:
    return list(schema[HEADER_VERSIONS].items())


def _replaced(schema: Schema, number: int, key: str, value: Any) -> Schema:
    entries: list[tuple[str, Any]] = _entries(schema)
    entries[number] = (key, value)
    return {**schema, HEADER_VERSIONS: dict(entries)}


@st.composite
def malformed_keys(draw: st.DrawFn) -> WrongSchema:
    """Schemas with a key that is no range of versions."""
    schema = draw(right_schemas())
    number = draw(st.integers(0, len(_entries(schema)) - 1))
    key = draw(
        st.sampled_from(["", "all", "1-", "-1", "1-2-3", "0-+", "1 - 2", "3-1", "none", "٣"])
    )
    _, value = _entries(schema)[number]
    return WrongSchema(_replaced(schema, number, key, value), SYNTAX, at(key))


@st.composite
def unknown_headers(draw: st.DrawFn) -> WrongSchema:
    """Schemas that state a header version that does not exist."""
    schema = draw(right_schemas())
    number = draw(st.integers(0, len(_entries(schema)) - 1))
    key, _ = _entries(schema)[number]
    missing = (0, -1, 4, 99) if schema["type"] == REQUEST else (2, 3, -1, 99)
    malformed = (None, True, 1.0, ["1"], "", "v1", " 1", "01", "1+", "١")
    wrong = [*missing, *map(str, missing), *malformed]
    return WrongSchema(
        _replaced(schema, number, key, draw(st.sampled_from(wrong))), SYNTAX, at(key)
    )


@st.composite
def gaps(draw: st.DrawFn) -> WrongSchema:
    """Schemas that lack an entry: the next one leaves versions out, or the last one has no open end."""
    schema = draw(right_schemas(least_ranges=2))
    entries = _entries(schema)
    second = int(re.split(r"\D", entries[1][0])[0])
    # Without the first one the others may still cover all valid versions
    number = draw(st.integers(int(second <= versions_of(schema)[0]), len(entries) - 1))
    left = [entry for index, entry in enumerate(entries) if index != number]
    key = left[min(number, len(left) - 1)][0]
    return WrongSchema({**schema, HEADER_VERSIONS: dict(left)}, SYNTAX, at(key))


@st.composite
def overlaps(draw: st.DrawFn) -> WrongSchema:
    """Schemas with a range that begins inside the one before."""
    schema = draw(right_schemas(least_ranges=2))
    entries = _entries(schema)
    number = draw(st.integers(1, len(entries) - 1))
    key, value = entries[number]
    begin = int(key.rstrip("+").partition("-")[0])
    last = None if key.endswith("+") else int(key.partition("-")[2] or key)
    earlier = as_key(begin - 1, last)
    return WrongSchema(_replaced(schema, number, earlier, value), SYNTAX, at(earlier))


@st.composite
def open_ends(draw: st.DrawFn) -> WrongSchema:
    """Schemas with an open end that is not the last one, or none at the end."""
    schema = draw(right_schemas())
    entries = _entries(schema)
    number = draw(st.integers(0, len(entries) - 1))
    key, value = entries[number]
    first = int(key.rstrip("+").partition("-")[0])
    last = max(first, versions_of(schema)[-1])
    wrong = as_key(first, last) if key.endswith("+") else f"{first}+"
    return WrongSchema(_replaced(schema, number, wrong, value), SYNTAX, at(wrong))


def wrong_syntax() -> st.SearchStrategy[WrongSchema]:
    """Schemas that violate the syntax of the property."""
    return malformed_keys() | unknown_headers() | gaps() | overlaps() | open_ends()


@st.composite
def wrong_flexibility(draw: st.DrawFn, kind: str) -> WrongSchema:
    """Schemas with one version whose header has a tag section although it is not flexible, or the other way round."""
    schema = draw(right_schemas((kind,)))
    version = draw(st.sampled_from(versions_of(schema)))
    number, (key, value) = next(
        (number, entry)
        for number, entry in enumerate(_entries(schema))
        if version in versions(entry[0])
    )
    other = [
        each
        for each in EXISTING[kind]
        if (each >= FIRST_FLEXIBLE[kind]) != (int(value) >= FIRST_FLEXIBLE[kind])
    ]
    clause = RESPONSE_HEADERS if kind == RESPONSE else SYNTAX
    return WrongSchema(
        _replaced(schema, number, key, str(draw(st.sampled_from(other)))), clause, at(key)
    )


def new_version(api_key: int, kind: str, header: int, *, id_versions: str = "0") -> Schema:
    """Return v0 and v1 of an API that KIP-1313 changes.

    Args:
        api_key: the key of OffsetDelete or of telemetry.
        kind: "request" or "response".
        header: the header version of v1.
        id_versions: the versions whose body has the client instance id, if it is one of telemetry.
    """
    flexible = "1+" if api_key == OFFSET_DELETE_KEY else "0+"
    first = 1 if api_key == OFFSET_DELETE_KEY else FIRST_FLEXIBLE[REQUEST]
    before = first if kind == REQUEST else int(api_key != OFFSET_DELETE_KEY)
    fields = [{"name": "ThrottleTimeMs", "type": "int32", "versions": "0+"}]
    if api_key != OFFSET_DELETE_KEY:
        fields.append({"name": "ClientInstanceId", "type": "uuid", "versions": id_versions})
    return {
        "apiKey": api_key,
        "type": kind,
        "name": f"Changed{kind.title()}",
        "validVersions": "0-1",
        "flexibleVersions": flexible,
        HEADER_VERSIONS: {"0": str(before), "1+": str(header)},
        "fields": fields,
    }


def changed_apis() -> st.SearchStrategy[Schema]:
    """The APIs that KIP-1313 changes, as it defines them."""
    keys = st.sampled_from((OFFSET_DELETE_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY, PUSH_TELEMETRY_KEY))
    return st.builds(
        lambda key, kind: new_version(
            key, kind, INSTANCE_ID_REQUEST_HEADER if kind == REQUEST else 1
        ),
        keys,
        st.sampled_from((REQUEST, RESPONSE)),
    )


def wrong_offset_delete() -> st.SearchStrategy[WrongSchema]:
    """OffsetDelete with header v2."""
    return st.just(WrongSchema(new_version(OFFSET_DELETE_KEY, REQUEST, 2), OFFSET_DELETE, at("1+")))


def wrong_telemetry() -> st.SearchStrategy[WrongSchema]:
    """Telemetry with header v2, or with the client instance id still in the body."""
    keys = st.sampled_from((GET_TELEMETRY_SUBSCRIPTIONS_KEY, PUSH_TELEMETRY_KEY))
    with_header_2 = keys.map(
        lambda key: WrongSchema(new_version(key, REQUEST, 2), TELEMETRY, at("1+"))
    )
    with_id = st.builds(
        lambda key, kind, kept: WrongSchema(
            new_version(
                key, kind, INSTANCE_ID_REQUEST_HEADER if kind == REQUEST else 1, id_versions=kept
            ),
            TELEMETRY,
            "fields[1].versions",
        ),
        keys,
        st.sampled_from((REQUEST, RESPONSE)),
        st.sampled_from(("0+", "1", "0-1", "1+")),
    )
    return with_header_2 | with_id
