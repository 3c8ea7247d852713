"""Planted faults of the checks of `headerVersions`: each replaces one function, and the test of its clause has to notice it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.wire import test_header_versions as right
from wire import header_versions
from wire.header_versions import (
    EXISTING,
    OFFSET_DELETE,
    REQUEST,
    RESPONSE,
    SYNTAX,
    TELEMETRY,
    Problem,
)

RESPONSE_HEADERS = header_versions.RESPONSE_HEADERS
Find = Callable[..., Iterator[Problem]]


def without(name: str, *, saying: str) -> tuple[str, Find]:
    """Return a function of the module that leaves out the problems whose sentence has these words."""
    find = getattr(header_versions, name)

    def left(*arguments: Any) -> Iterator[Problem]:
        return (each for each in find(*arguments) if saying not in each.sentence)

    return name, left


DERIVED = header_versions.derived_header_version


def _derived_without_exception(schema: Any, api_version: int) -> int:
    return DERIVED({**schema, "apiKey": 0}, api_version)


@dataclass(frozen=True, kw_only=True)
class WrongValidator:
    """A planted fault.

    Attributes:
        breaks: the clause whose violations it overlooks, or sees where there are none.
        replaces: the name of the function or constant, and what replaces it.
        noticed_by: the test that has to fail.
    """

    breaks: str
    replaces: tuple[str, Any]
    noticed_by: Callable[[], None]


WRONG_VALIDATORS = (
    WrongValidator(
        breaks=SYNTAX,
        replaces=without("_problems_of_ranges", saying="leaves out"),
        noticed_by=right.test_wrong_syntax_is_found_at_its_place,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=without("_problems_of_ranges", saying="overlaps"),
        noticed_by=right.test_wrong_syntax_is_found_at_its_place,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=without("_problems_of_ranges", saying="must end with"),
        noticed_by=right.test_wrong_syntax_is_found_at_its_place,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=("EXISTING", {**EXISTING, RESPONSE: range(3)}),
        noticed_by=right.test_wrong_syntax_is_found_at_its_place,
    ),
    WrongValidator(
        breaks=SYNTAX,
        replaces=("EXISTING", {**EXISTING, REQUEST: range(1, 5)}),
        noticed_by=right.test_wrong_syntax_is_found_at_its_place,
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
)


@pytest.mark.parametrize("wrong", WRONG_VALIDATORS, ids=lambda wrong: wrong.breaks)
def test_wrong_validator_is_noticed(wrong: WrongValidator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test passes with the right one, as its own run shows."""
    monkeypatch.setattr(header_versions, *wrong.replaces)
    with pytest.raises(AssertionError):
        wrong.noticed_by()
