"""Tests of a target's response next to that of the reference broker."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from reports.run.frame_rows import answer_rows, bare_rows
from reports.site.byte_comparison import first_divergence, in_fields_of, in_words
from tests.reports.roll_up_tables import WRONG_ANSWER


@given(length=st.integers(4, len(WRONG_ANSWER)), behind=st.binary(max_size=3))
def test_frame_without_fields_is_cut_like_another_as_far_as_they_agree(length: int, behind: bytes) -> None:
    """The common beginning has the other frame's fields, and the rest is one row; no byte is lost."""
    data = WRONG_ANSWER[:length] + behind
    fields = answer_rows(WRONG_ANSWER, api_version=3)
    cut = in_fields_of(fields, bare_rows(data, "answer"))
    assert b"".join(row.data for row in cut) == data
    same = [row for row in cut[1:] if row.path]
    assert same == [*fields[1 : 1 + len(same)]]
    assert (first_divergence(fields, cut) is None) == (data == WRONG_ANSWER)


def test_no_row_is_borrowed_from_where_an_answer_does_not_decode() -> None:
    """The mark of a response that ends too early is not copied to another response."""
    fields = answer_rows(WRONG_ANSWER[:10], api_version=3)
    assert fields[-1].marked
    cut = in_fields_of(fields, bare_rows(WRONG_ANSWER[:10], "answer"))
    assert not any(row.marked for row in cut)


def test_first_divergence_leaves_the_size_aside() -> None:
    """The first field with other bytes counts; a response that only ends too early diverges at its end."""
    right = WRONG_ANSWER[:8] + b"\x00\x2a" + WRONG_ANSWER[10:]
    wanted = answer_rows(right, api_version=3)
    rows = answer_rows(WRONG_ANSWER, api_version=3)
    index = first_divergence(rows, wanted)
    assert index is not None
    assert rows[index].path == "error_code"
    assert first_divergence(rows, rows) is None
    assert first_divergence(rows[:-1], rows) == len(rows) - 2


def test_one_field_is_no_fields() -> None:
    left_out = Counter({"equal {}": 2, "{} that only one response has": 1})
    assert in_words(left_out) == "2 equal fields, 1 field that only one response has"
