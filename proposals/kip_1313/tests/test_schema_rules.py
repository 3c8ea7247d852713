"""Tests of the rules of KIP-1313 for message schemas.

They judge correct schemas and schemas with one fault. Faults are also planted in the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clauses.catalogue import Clause, Role, catalogue
from conformance.mutation.score import defects_asked_of
from proposals.kip_1313 import PROPOSAL, schema_rules
from proposals.kip_1313.released_schemas import BODIES
from proposals.kip_1313.schema_rules import (
    EVERY_API,
    EXISTING,
    HEADER,
    HEADER_LAYOUT,
    OFFSET_DELETE,
    RESPONSE_HEADERS,
    SYNTAX,
    TELEMETRY,
    SchemaProblem,
    claims_proposal,
    has_numbers_as_values,
    is_request_header,
    problems_in,
)
from proposals.kip_1313.tests.schemas import (
    FIELDS,
    NEW,
    ROWS,
    Row,
    Schema,
    request_header,
    schema_of,
)
from proposals.kip_1313.tests.test_released_schemas import WRONG_COMPARISONS
from wire.api_keys import API_VERSIONS_KEY
from wire.fields import versions
from wire.header_versions import FIRST_FLEXIBLE, HEADER_VERSIONS, REQUEST, RESPONSE, derived_header_version


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_exactly_what_is_wrong_is_found(row: Row) -> None:
    """Each fault where it is, with its clause, and nothing in what is right."""
    assert row.found() == row.wrong


@st.composite
def right_schemas(draw: st.DrawFn) -> Schema:
    """Schemas whose property is right: ranges of any length, in any order."""
    kind = draw(st.sampled_from(sorted(EXISTING)))
    first = draw(st.integers(0, 3))
    last = draw(st.integers(first, 20))
    flexible = draw(st.integers(0, last + 2))
    cuts = draw(st.sets(st.integers(first + 1, last + 3), max_size=4))
    starts = sorted({draw(st.integers(0, first)), *cuts, max(flexible, first)})
    ends = [*(f"-{start - 1}" for start in starts[1:]), "+"]
    entries = []
    for start, end in zip(starts, ends, strict=True):
        is_flexible = max(start, first) >= flexible
        allowed = [each for each in EXISTING[kind] if (each >= FIRST_FLEXIBLE[kind]) is is_flexible]
        entries.append((f"{start}{end}", str(draw(st.sampled_from(allowed)))))
    stated = dict(draw(st.permutations(entries)))
    return schema_of(stated, kind, valid=f"{first}-{last}", flexible=f"{flexible}+")


@given(schema=right_schemas())
def test_right_schema_has_no_problem(schema: Schema) -> None:
    """However it divides its versions into ranges."""
    assert problems_in(schema) == []


@pytest.mark.parametrize(
    ("stated", "has_numbers"),
    [({"0-1": "1", "2+": 2}, True), ({"0+": "2"}, False), ("0+", False), (None, False)],
)
def test_numbers_are_recognised(stated: object, has_numbers: bool) -> None:
    assert has_numbers_as_values(schema_of(stated)) is has_numbers


def test_sentence_says_why_api_versions_is_an_exception() -> None:
    """A client reads its response before it knows what the broker supports."""
    schema = schema_of({"0+": "1"}, RESPONSE, valid="0-5", api_key=API_VERSIONS_KEY)
    assert "before the client knows" in str(problems_in(schema)[0])


@pytest.mark.parametrize(
    ("schema", "claims"),
    [
        (NEW, True),
        (schema_of({"0+": "2"}), False),
        (schema_of({"1+": "3"}), False),
        (schema_of({"0+": "1"}, RESPONSE), False),
        (request_header(validVersions="1-2"), True),
        (request_header(fields=[]), True),
        (request_header(fields=[], validVersions="0-2"), False),
        ({"type": HEADER, "name": "RequestHeader"}, False),
        (request_header(name="ResponseHeader"), False),
    ],
)
def test_schema_claims_the_proposal_by_header_v3(schema: Schema, claims: bool) -> None:
    """By a request that states it rightly, or by the header that has the version or the id."""
    assert claims_proposal(schema) is claims
    assert is_request_header(schema) is (schema["name"] == "RequestHeader")


Find = Callable[..., Iterator[SchemaProblem]]
VALUES = schema_rules._problems_of_values
RANGES = schema_rules._problems_of_ranges
FLEXIBILITY = schema_rules._problems_of_flexibility
KNOWN_APIS = schema_rules._problems_of_known_apis
FIELD = schema_rules._problems_of_field
OF_REQUEST = schema_rules._problems_of_request


def without(find: Find, saying: str) -> Find:
    """Return a function that leaves out the problems whose sentence has these words."""
    return lambda *arguments: (each for each in find(*arguments) if saying not in each.sentence)


def _only_numbers(schema: Any, stated: Any) -> Iterator[SchemaProblem]:
    """Refuse strings, which all examples of the text have."""
    return VALUES(schema, {key: each if type(each) is int else "" for key, each in stated.items()})


def _in_their_order(schema: Any, stated: Any) -> Iterator[SchemaProblem]:
    """Want the keys in ascending order, although they are those of a JSON object."""
    starts = [versions(key).first for key in stated]
    if starts != sorted(starts):
        yield SchemaProblem(clause=SYNTAX, where=HEADER_VERSIONS, sentence="are in another order")
    yield from RANGES(schema, stated)


def _from_first_valid(schema: Any, stated: Any) -> Iterator[SchemaProblem]:
    """Refuse ranges that begin before the first valid version, although they cover it."""
    first = versions(schema["validVersions"]).first
    if min(versions(key).first for key in stated) < first:
        yield SchemaProblem(clause=SYNTAX, where=HEADER_VERSIONS, sentence="begin too early")
    yield from RANGES(schema, stated)


def _without_flexibility(where: str, field: Any, expected: Any) -> Iterator[SchemaProblem]:
    wanted = expected.get("flexibleVersions", "2+")
    return FIELD(where, {**field, "flexibleVersions": wanted}, expected)


def _derived_without_exception(schema: Any, api_version: int) -> int:
    return derived_header_version({**schema, "apiKey": 0}, api_version)


class WrongValidator(NamedTuple):
    """A planted fault of the rules.

    Attributes:
        breaks: the clause whose violations it overlooks, or sees where there are none.
        name: what it replaces.
        by: what replaces it.
    """

    breaks: str
    name: str
    by: Any

    def __str__(self) -> str:
        return self.breaks


OLD_VERSIONS = {"validVersions": "0-3", "flexibleVersions": "2+"}
WRONG_VALIDATORS = tuple(
    WrongValidator(breaks, name, by)
    for breaks, name, by in (
        (SYNTAX, "_problems_of_ranges", without(RANGES, "leaves out")),
        (SYNTAX, "_problems_of_ranges", without(RANGES, "overlaps")),
        (SYNTAX, "_problems_of_ranges", without(RANGES, "must end with")),
        (SYNTAX, "_problems_of_ranges", _in_their_order),
        (SYNTAX, "_problems_of_ranges", _from_first_valid),
        (SYNTAX, "_problems_of_values", _only_numbers),
        (SYNTAX, "_repeated_in", lambda _: ()),
        (SYNTAX, "EXISTING", {**EXISTING, RESPONSE: range(3)}),
        (SYNTAX, "EXISTING", {**EXISTING, REQUEST: range(1, 5)}),
        (RESPONSE_HEADERS, "_problems_of_flexibility", without(FLEXIBILITY, "version is not flexible")),
        (RESPONSE_HEADERS, "_problems_of_flexibility", without(FLEXIBILITY, "version is flexible")),
        (RESPONSE_HEADERS, "derived_header_version", _derived_without_exception),
        (OFFSET_DELETE, "_problems_of_known_apis", without(KNOWN_APIS, "and not v3")),
        (TELEMETRY, "_problems_of_known_apis", without(KNOWN_APIS, "still in")),
        (EVERY_API, "_problems_of_request", without(OF_REQUEST, "gives no version")),
        (EVERY_API, "_problems_of_request", without(OF_REQUEST, "SaslHandshake")),
        (EVERY_API, "claims_proposal", lambda _: True),
        (EVERY_API, "SASL_HANDSHAKE_KEY", -1),
        (EVERY_API, "known_apis", dict),
        (RESPONSE_HEADERS, "_problems_of_response", lambda _: ()),
        (HEADER_LAYOUT, "_problems_of_field", _without_flexibility),
        (HEADER_LAYOUT, "_RANGES", ("versions",)),
        (HEADER_LAYOUT, "_HEADER_VERSIONS", OLD_VERSIONS),
        (HEADER_LAYOUT, "_FIELDS", schema_rules._FIELDS[: len(FIELDS) - 1]),
    )
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_VALIDATORS, ids=str)
def test_wrong_validator_is_noticed(wrong: WrongValidator, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rows above: it finds something else than the right one."""
    monkeypatch.setattr(schema_rules, wrong.name, wrong.by)
    misjudged = {clause for row in ROWS for clause, _ in row.found() ^ row.wrong}
    assert wrong.breaks in misjudged


OWN = [clause for clause in catalogue() if clause.source == PROPOSAL.source]
ABOUT_SCHEMAS = [clause for clause in OWN if Role.SCHEMA in clause.roles]
JUDGED_BY_NOTHING = {
    "KIP-1313.accessors-without-timeout",
    "KIP-1313.header-id-is-telemetry-id",
}
"""Clauses that nothing judges, for the reason that they give."""


@pytest.mark.parametrize("clause", ABOUT_SCHEMAS, ids=lambda clause: clause.id)
def test_clause_is_broken_by_enough_wrong_validators(clause: Clause) -> None:
    """By three if it is a MUST and no property judges it; otherwise by one, along with the faults of models."""
    wrong = [*(each.breaks for each in WRONG_VALIDATORS), *(BODIES for _ in WRONG_COMPARISONS)]
    assert wrong.count(clause.id) >= (defects_asked_of(clause.level) if clause.not_tested else 1)


def test_clauses_that_nothing_judges_are_known() -> None:
    untested = {clause.id for clause in OWN if clause.not_tested}
    assert untested - {clause.id for clause in ABOUT_SCHEMAS} == JUDGED_BY_NOTHING
