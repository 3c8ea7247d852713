"""Tests of the fields of a frame."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reports.run.conversation import ConversationPart, part_as_json, parts_from_json
from reports.run.frame_rows import answer_rows, bare_rows, request_rows
from tests.reports.roll_up_tables import WRONG_ANSWER


@given(data=st.binary(max_size=80))
def test_rows_keep_every_byte(data: bytes) -> None:
    """Whatever a frame contains, its rows contain the same bytes, each at its offset; as a stored failure has them."""
    for rows in (bare_rows(data, "token"), request_rows(data), answer_rows(data, api_version=3)):
        assert b"".join(row.data for row in rows) == data
        for row in rows:
            assert data[row.offset : row.offset + len(row.data)] == row.data
        part = ConversationPart(connection=0, what="sent", rows=rows)
        assert parts_from_json([part_as_json(part)]) == (part,)


def test_piece_of_a_size_is_named() -> None:
    """A request may come in pieces, and the first one end inside the size."""
    (row,) = request_rows(bytes(3))
    assert (row.path, row.value) == ("size", "3 of 4 bytes")


def test_row_where_decoding_ends_is_marked() -> None:
    """A frame that ends inside a field is marked there, with the reason as value."""
    rows = answer_rows(WRONG_ANSWER[:-3], api_version=3)
    assert [row.marked for row in rows].index(True) == len(rows) - 1
    assert rows[-1].value
