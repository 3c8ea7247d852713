"""Schemas of the request header, and folders of schemas, by the rules of KIP-1313: right ones, and ones with one fault."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given

from proposals.kip_1313.folder_rules import (
    HEADER,
    claims_proposal,
    is_request_header,
    problems_in_request_header,
    problems_together,
)
from proposals.kip_1313.tests.header_version_schemas import Schema, WrongSchema
from proposals.kip_1313.tests.proposal_schemas import (
    WrongFolder,
    bumped_request,
    claiming_folders,
    folders_with_new_handshake,
    folders_with_old_header,
    folders_without_bump,
    of_today,
    request_header,
    request_headers,
    wrong_fields_of_header,
    wrong_order_of_header,
    wrong_versions_of_header,
)
from wire.header_versions import HEADER_VERSIONS

Named = Sequence[tuple[str, Schema]]


def assert_found_in_header(wrong: WrongSchema) -> None:
    """Fail unless exactly the fault's clause and place are reported."""
    assert [(each.clause, each.where) for each in problems_in_request_header(wrong.schema)] == [
        (wrong.clause, wrong.where)
    ]


def assert_found_in_folder(wrong: WrongFolder) -> None:
    """Fail unless exactly the fault's schema, clause and place are reported."""
    found = [
        (name, problem.clause, problem.where) for name, problem in problems_together(wrong.schemas)
    ]
    assert found == [(wrong.name, wrong.clause, wrong.where)]


@given(schema=request_headers())
def test_right_request_header_has_no_problem(schema: Schema) -> None:
    """Its oldest fields may be written as those of v0, which no longer exists."""
    assert claims_proposal(schema)
    assert list(problems_in_request_header(schema)) == []


@given(wrong=wrong_versions_of_header())
def test_versions_of_the_header_are_checked(wrong: WrongSchema) -> None:
    """It has v1 to v3, and tags from v2 on."""
    assert_found_in_header(wrong)


@given(wrong=wrong_order_of_header())
def test_order_of_the_header_is_checked(wrong: WrongSchema) -> None:
    """The id stands last, and no field is missing."""
    assert_found_in_header(wrong)


@given(wrong=wrong_fields_of_header())
def test_fields_of_the_header_are_checked(wrong: WrongSchema) -> None:
    """Older brokers read the client id, so that it never is compact; the id is a UUID that header v3 alone has."""
    assert_found_in_header(wrong)


@given(schemas=claiming_folders())
def test_right_folder_has_no_problem(schemas: Named) -> None:
    """Neither SaslHandshake nor a request without valid versions needs header v3."""
    assert list(problems_together(schemas)) == []


@given(schemas=claiming_folders())
def test_folder_of_today_claims_nothing(schemas: Named) -> None:
    """Its requests need no header v3."""
    assert not any(claims_proposal(schema) for _, schema in of_today(schemas))
    assert list(problems_together(of_today(schemas))) == []


@given(wrong=folders_without_bump())
def test_request_without_header_v3_is_found(wrong: WrongFolder) -> None:
    """Whether its schema has the property or not."""
    assert_found_in_folder(wrong)


@given(wrong=folders_with_new_handshake())
def test_new_version_of_sasl_handshake_is_found(wrong: WrongFolder) -> None:
    """It cannot have one."""
    assert_found_in_folder(wrong)


@given(wrong=folders_with_old_header())
def test_request_header_without_v3_is_found(wrong: WrongFolder) -> None:
    """The requests of the folder state that header."""
    assert_found_in_folder(wrong)


@pytest.mark.parametrize(
    ("schema", "claims"),
    [
        (bumped_request(3, 1), True),
        (bumped_request(3, 1, header=2), False),
        ({**bumped_request(3, 1), HEADER_VERSIONS: {"1+": "3"}}, False),
        ({**bumped_request(3, 1), "type": "response", "name": "SomeResponse"}, False),
        ({**request_header(), "validVersions": "1-2"}, True),
        ({**request_header(), "fields": []}, True),
        ({**request_header(), "fields": [], "validVersions": "0-2"}, False),
        ({"type": HEADER, "name": "RequestHeader"}, False),
        ({**request_header(), "name": "ResponseHeader"}, False),
    ],
)
def test_schema_claims_the_proposal_by_header_v3(schema: Schema, claims: bool) -> None:
    """By a request that states it rightly, or by the header that has the version or the id."""
    assert claims_proposal(schema) is claims


def test_wrong_property_is_reported_alone() -> None:
    """Not as a request without header v3 as well."""
    wrong = {**bumped_request(3, 1), HEADER_VERSIONS: {"1+": "3"}}
    assert list(problems_together([("header", request_header()), ("request", wrong)])) == []
    assert not is_request_header(wrong)
