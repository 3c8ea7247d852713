"""Planted faults of the checks of message schemas: each replaces one function, and the test of its clause has to notice it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from proposals.kip_1313 import folder_rules, header_rules
from proposals.kip_1313.header_rules import (
    EXISTING,
    OFFSET_DELETE,
    SYNTAX,
    TELEMETRY,
    SchemaProblem,
)
from proposals.kip_1313.tests import test_folder_rules as together
from proposals.kip_1313.tests import test_header_rules as right
from wire.fields import versions
from wire.header_versions import HEADER_VERSIONS, REQUEST, RESPONSE, derived_header_version

EVERY_API = folder_rules.EVERY_API
HEADER_LAYOUT = folder_rules.HEADER_LAYOUT
RESPONSE_HEADERS = header_rules.RESPONSE_HEADERS
Find = Callable[..., Iterator[SchemaProblem]]


def without(name: str, *, saying: str, module: ModuleType = header_rules) -> tuple[str, Find]:
    """Return a function of the module that leaves out the problems whose sentence has these words."""
    find = getattr(module, name)

    def left(*arguments: Any) -> Iterator[SchemaProblem]:
        return (each for each in find(*arguments) if saying not in each.sentence)

    return name, left


DERIVED = derived_header_version


VALUES = header_rules._problems_of_values
RANGES = header_rules._problems_of_ranges
FIELD = folder_rules._problems_of_field


def _only_numbers(schema: Any, stated: Any) -> Iterator[SchemaProblem]:
    """Refuse strings, which all examples of the text have."""
    wrong = {key: value if type(value) is int else "" for key, value in stated.items()}
    return VALUES(schema, wrong)


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


def _without_flexibility_of_fields(
    where: str, field: Any, expected: Any
) -> Iterator[SchemaProblem]:
    return FIELD(
        where, {**field, "flexibleVersions": expected.get("flexibleVersions", "2+")}, expected
    )


def _derived_without_exception(schema: Any, api_version: int) -> int:
    return DERIVED({**schema, "apiKey": 0}, api_version)


@dataclass(frozen=True, kw_only=True)
class WrongValidator:
    """A planted fault.

    Attributes:
        breaks: the clause whose violations it overlooks, or sees where there are none.
        replaces: the name of the function or constant, and what replaces it.
        noticed_by: the test that has to fail.
        module: where it is.
    """

    breaks: str
    replaces: tuple[str, Any]
    noticed_by: Callable[[], None]
    module: ModuleType = header_rules


WRONG_VALIDATORS = (
    WrongValidator(
        breaks=SYNTAX,
        replaces=without("_problems_of_ranges", saying="leaves out"),
        noticed_by=right.test_wrong_syntax_is_found_where_it_is,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=without("_problems_of_ranges", saying="overlaps"),
        noticed_by=right.test_wrong_syntax_is_found_where_it_is,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=without("_problems_of_ranges", saying="must end with"),
        noticed_by=right.test_wrong_syntax_is_found_where_it_is,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=("EXISTING", {**EXISTING, RESPONSE: range(3)}),
        noticed_by=right.test_wrong_syntax_is_found_where_it_is,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=("EXISTING", {**EXISTING, REQUEST: range(1, 5)}),
        noticed_by=right.test_wrong_syntax_is_found_where_it_is,
    ),
    *(
        WrongValidator(
            breaks=SYNTAX, replaces=replaces, noticed_by=right.test_right_schema_has_no_problem
        )
        for replaces in (
            ("_problems_of_values", _only_numbers),
            ("_problems_of_ranges", _in_their_order),
            ("_problems_of_ranges", _from_first_valid),
        )
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=("_repeated_in", lambda _: ()),
        noticed_by=right.test_repeated_key_is_found,
    ),
    WrongValidator(
        breaks=RESPONSE_HEADERS,
        replaces=without("_problems_of_flexibility", saying="that version is not flexible"),
        noticed_by=right.test_wrong_response_header_is_found,
    ),
    WrongValidator(
        breaks=RESPONSE_HEADERS,
        replaces=without("_problems_of_flexibility", saying="that version is flexible"),
        noticed_by=right.test_wrong_response_header_is_found,
    ),
    WrongValidator(
        breaks=RESPONSE_HEADERS,
        replaces=("derived_header_version", _derived_without_exception),
        noticed_by=right.test_api_versions_is_answered_with_the_oldest_header,
    ),
    WrongValidator(
        breaks=OFFSET_DELETE,
        replaces=without("_problems_of_known_apis", saying="and not v3"),
        noticed_by=right.test_offset_delete_never_has_header_2,
    ),
    WrongValidator(
        breaks=TELEMETRY,
        replaces=without("_problems_of_known_apis", saying="still in"),
        noticed_by=right.test_telemetry_leaves_the_id_to_the_header,
    ),
    *(
        WrongValidator(
            breaks=EVERY_API, replaces=replaces, noticed_by=noticed_by, module=folder_rules
        )
        for replaces, noticed_by in (
            (
                without("_problems_of_request", saying="gives no version", module=folder_rules),
                together.test_request_without_header_v3_is_found,
            ),
            (
                without("_problems_of_request", saying="SaslHandshake", module=folder_rules),
                together.test_new_version_of_sasl_handshake_is_found,
            ),
            (("claims_proposal", lambda _: True), together.test_folder_of_today_claims_nothing),
            (("SASL_HANDSHAKE_KEY", -1), together.test_right_folder_has_no_problem),
        )
    ),
    *(
        WrongValidator(
            breaks=HEADER_LAYOUT, replaces=replaces, noticed_by=noticed_by, module=folder_rules
        )
        for replaces, noticed_by in (
            (
                ("_problems_of_field", _without_flexibility_of_fields),
                together.test_fields_of_the_header_are_checked,
            ),
            (("_RANGES", ("versions",)), together.test_fields_of_the_header_are_checked),
            (
                ("_HEADER_VERSIONS", {"validVersions": "0-3", "flexibleVersions": "2+"}),
                together.test_right_request_header_has_no_problem,
            ),
            (
                ("_FIELDS", folder_rules._FIELDS[:-1]),
                together.test_right_request_header_has_no_problem,
            ),
        )
    ),
)


@pytest.mark.parametrize("wrong", WRONG_VALIDATORS, ids=lambda wrong: wrong.breaks)
def test_wrong_validator_is_noticed(wrong: WrongValidator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test passes with the right one, as its own run shows."""
    monkeypatch.setattr(wrong.module, *wrong.replaces)
    with pytest.raises(AssertionError):
        wrong.noticed_by()
