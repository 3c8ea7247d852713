"""The notation of versions."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wire.fields import NO_VERSIONS, Versions, versions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3+", Versions(3, None)),
        ("0-2", Versions(0, 2)),
        ("4", Versions(4, 4)),
        ("10-12", Versions(10, 12)),
        ("none", NO_VERSIONS),
    ],
)
def test_notation_is_read_and_written(text: str, expected: Versions) -> None:
    """Kafka's notation is parsed, and formatted as it was."""
    assert versions(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", "3-", "-3", "-1+", "5-3", "3+4", "1-2+", "0x1", " 3+", "3 +", "None", "\u0663"],
)
def test_other_notation_is_refused(text: str) -> None:
    """Notation that Kafka's schemas do not use is an error."""
    with pytest.raises(ValueError, match=r"begins|range"):
        versions(text)


@example(first=3, length=2, version=3)
@example(first=3, length=2, version=5)
@example(first=3, length=2, version=6)
@example(first=3, length=None, version=2)
@given(first=st.integers(0, 9), length=st.none() | st.integers(0, 9), version=st.integers(-2, 25))
def test_both_ends_belong_to_a_range(first: int, length: int | None, version: int) -> None:
    """A range contains its ends and everything between; an open one contains everything that follows."""
    last = None if length is None else first + length
    expected = version >= first if last is None else version in range(first, last + 1)
    assert (version in Versions(first, last)) is expected
    assert version not in NO_VERSIONS


def test_only_numbers_belong_to_a_range() -> None:
    """No range contains a string."""
    text: object = "3"
    assert not versions("0+").__contains__(text)
