"""A stored hex dump reads back as the bytes that were dumped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reports.run.hex_dump import dump_answer, dump_bare, dump_request
from reports.site.byte_tables import first_divergence, in_fields_of, read_dump, rows_of
from tests.reports.roll_up_tables import REFUSED_REQUEST, WRONG_ANSWER


def test_whole_conversation_reads_back() -> None:
    """Frames keep their bytes, and events between them keep their words."""
    text = "\n".join(
        (
            "connection 0: written in pieces of 3, 33 bytes",
            "connection 0: sent (with a reason)",
            *dump_request(REFUSED_REQUEST),
            "connection 0: answer",
            *dump_answer(WRONG_ANSWER, api_version=3),
            "  the next request: answered",
            "",
            "connection 0: closed by us",
        )
    )
    parts = read_dump(text)
    assert [(part.what, part.data) for part in parts] == [
        ("written in pieces of 3, 33 bytes", b""),
        ("sent (with a reason)", REFUSED_REQUEST),
        ("answer", WRONG_ANSWER),
        ("closed by us", b""),
    ]
    assert [part.sent for part in parts] == [False, True, False, False]
    assert parts[2].notes == ["the next request: answered"]


@given(data=st.binary(min_size=4, max_size=80))
def test_any_dump_keeps_every_byte(data: bytes) -> None:
    """Whatever a frame contains, its rows contain the same bytes, each at its offset."""
    for lines in (dump_bare(data, "token"), dump_request(data), dump_answer(data, api_version=3)):
        rows = rows_of(lines)
        assert b"".join(row.data for row in rows) == data
        for row in rows:
            assert data[row.offset : row.offset + len(row.data)] == row.data


def test_row_where_decoding_ends_is_marked() -> None:
    """A frame that ends inside a field is marked there, with the reason as value."""
    rows = rows_of(dump_answer(WRONG_ANSWER[:-3], api_version=3))
    assert [row.marked for row in rows].index(True) == len(rows) - 1
    assert rows[-1].value


@given(length=st.integers(4, len(WRONG_ANSWER)), behind=st.binary(max_size=3))
def test_frame_without_fields_is_cut_like_another_as_far_as_they_agree(
    length: int, behind: bytes
) -> None:
    """The common beginning has the other frame's fields, and the rest is one row; no byte is lost."""
    data = WRONG_ANSWER[:length] + behind
    fields = rows_of(dump_answer(WRONG_ANSWER, api_version=3))
    cut = in_fields_of(fields, rows_of(dump_bare(data, "answer")))
    assert b"".join(row.data for row in cut) == data
    same = [row for row in cut[1:] if row.path]
    assert same == fields[1 : 1 + len(same)]
    assert (first_divergence(fields, cut) is None) == (data == WRONG_ANSWER)


def test_no_row_is_borrowed_from_where_an_answer_does_not_decode() -> None:
    """The mark of a response that ends too early is not copied to another response."""
    fields = rows_of(dump_answer(WRONG_ANSWER[:10], api_version=3))
    assert fields[-1].marked
    cut = in_fields_of(fields, rows_of(dump_bare(WRONG_ANSWER[:10], "answer")))
    assert not any(row.marked for row in cut)


def test_first_divergence_leaves_the_size_aside() -> None:
    """The first field with other bytes counts; a response that only ends too early diverges at its end."""
    right = WRONG_ANSWER[:8] + b"\x00\x2a" + WRONG_ANSWER[10:]
    wanted = rows_of(dump_answer(right, api_version=3))
    rows = rows_of(dump_answer(WRONG_ANSWER, api_version=3))
    index = first_divergence(rows, wanted)
    assert index is not None
    assert rows[index].path == "error_code"
    assert first_divergence(rows, rows) is None
    assert first_divergence(rows[:-1], rows) == len(rows) - 2
