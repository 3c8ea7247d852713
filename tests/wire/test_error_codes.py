"""Error codes: the table, and codes that it lacks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.golden_bytes import load_vectors
from wire.error_codes import ErrorCode

CODES = load_vectors("kafka-clients-4.4.0.json")["error_codes"]
UNKNOWN = st.integers(-(2**15), 2**15 - 1).filter(lambda code: code not in CODES.values())


def test_table_is_that_of_the_clients_library() -> None:
    """Names and numbers are exactly those of release 4.4.0, in its order."""
    assert list({each.name: int(each) for each in ErrorCode}.items()) == list(CODES.items())


@given(UNKNOWN)
def test_unknown_code_is_kept_with_its_number(code: int) -> None:
    """A code that the table lacks is always the same member, and equals its number."""
    member = ErrorCode(code)
    assert member is ErrorCode(code)
    assert member == code
    assert (member.name, member.value) == (f"CODE_{code}", code)
    assert isinstance(member, ErrorCode)
    assert repr(member) == f"CODE_{code} ({code})"


@given(UNKNOWN)
def test_unknown_code_survives_copies_and_processes(code: int) -> None:
    """A copied or pickled unknown code is the same member."""
    member = ErrorCode(code)
    assert copy.deepcopy(member) is member
    assert pickle.loads(pickle.dumps(member)) is member


@pytest.mark.parametrize("value", ["NONE", None, 0.5])
def test_what_is_no_number_is_no_code(value: Any) -> None:
    """Only numbers are accepted as codes."""
    with pytest.raises(ValueError, match="is not a valid ErrorCode"):
        ErrorCode(value)
