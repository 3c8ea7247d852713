"""Tests of what is read of the conversation of a stored failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reports.run.conversation import part_as_json
from reports.run.failures import conversation_of
from reports.run.frame_rows import answer_rows, request_rows
from reports.run.hex_dump import conversation_text, row_lines
from reports.run.stored_conversation import read_dump, stored_conversation
from tests.reports.roll_up_tables import REFUSED_REQUEST, WRONG_ANSWER
from tests.reports.test_failures import failure


def test_whole_conversation_reads_back() -> None:
    """Frames keep their bytes, and events between them keep their words."""
    text = "\n".join(
        (
            "connection 0: written in pieces of 3, 33 bytes",
            "connection 0: sent (with a reason)",
            *row_lines(request_rows(REFUSED_REQUEST)),
            "connection 0: answer",
            *row_lines(answer_rows(WRONG_ANSWER, api_version=3)),
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
    assert parts[2].notes == ("the next request: answered",)


def test_text_of_a_dump_reads_back() -> None:
    steps = conversation_of(failure())
    assert read_dump(conversation_text(steps)) == steps
    first = replace(steps[0], ends_step=True, left_out="40 steps are left out here; exchange.pcap has all")
    assert read_dump(conversation_text((first, *steps[1:]))) == (first, *steps[1:])


def test_stored_conversation_comes_before_the_dump() -> None:
    parts = conversation_of(failure())
    stored = {"conversation": [part_as_json(part) for part in parts]}
    assert stored_conversation(stored, "") == parts


@pytest.mark.parametrize("facts", [{}, {"conversation": [7]}], ids=["of-an-older-suite", "damaged"])
def test_without_a_stored_conversation_the_dump_is_read(facts: dict[str, Any]) -> None:
    (part,) = stored_conversation(facts, "connection 3: closed by us")
    assert (part.connection, part.what) == (3, "closed by us")
