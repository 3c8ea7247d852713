"""Tests of a conversation as `failure.json` has it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reports.run.conversation import ByteRow, ConversationPart, part_as_json, parts_from_json, storable
from reports.run.failures import conversation_of, render_facts
from reports.run.frame_rows import answer_rows, request_rows
from tests.reports.roll_up_tables import REFUSED_REQUEST, WRONG_ANSWER
from tests.reports.test_failures import failure

PARTS = (
    ConversationPart(connection=0, what="sent", rows=request_rows(REFUSED_REQUEST), notes=("a note",)),
    ConversationPart(connection=0, what="answer", rows=answer_rows(WRONG_ANSWER[:-3], api_version=3), ends_step=True),
    ConversationPart(connection=1, what="closed by us", left_out="3 steps are left out here"),
)


def test_part_is_stored_with_what_it_has() -> None:
    rows = (
        ByteRow(offset=0, data=b"\0\0\0\1", path="size", value="1"),
        ByteRow(offset=4, data=b"\xff", path="", value="it ends", marked=True),
    )
    assert part_as_json(ConversationPart(connection=2, what="answer", rows=rows, ends_step=True)) == {
        "connection": 2,
        "what": "answer",
        "bytes": "00000001ff",
        "fields": [[0, "size", "1"], [4, "", "it ends"]],
        "fails_at": 1,
        "ends_step": True,
    }


@pytest.mark.parametrize("parts", [PARTS, conversation_of(failure())], ids=["broker", "client"])
def test_stored_parts_read_back(parts: tuple[ConversationPart, ...]) -> None:
    stored = json.loads(json.dumps([part_as_json(part) for part in parts]))
    assert parts_from_json(stored) == parts


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(None, id="none"),
        pytest.param({"connection": 0}, id="no-list"),
        pytest.param([7], id="no-object"),
        pytest.param([{"what": "sent"}], id="no-connection"),
        pytest.param([{"connection": float("inf"), "what": "sent"}], id="no-number"),
        pytest.param([{"connection": 0, "what": "sent", "bytes": "0g"}], id="no-bytes"),
        pytest.param([{"connection": 0, "what": "sent", "bytes": "00", "fields": [[0, "size"]]}], id="no-value"),
        pytest.param(
            [{"connection": 0, "what": "sent", "bytes": "00", "fields": [[2, "a", "b"]]}], id="beyond-the-end"
        ),
        pytest.param([{"connection": 0, "what": "sent", "bytes": "00", "fields": [[-1, "a", "b"]]}], id="before-it"),
    ],
)
def test_foreign_parts_are_refused(stored: object) -> None:
    with pytest.raises(ValueError, match="no conversation"):
        parts_from_json(stored)


def test_file_of_a_failure_has_its_conversation() -> None:
    stored = json.loads(render_facts(failure(), conversation_of(failure())))
    assert parts_from_json(stored["conversation"]) == conversation_of(failure())


def test_failure_without_bytes_has_none() -> None:
    assert "conversation" not in json.loads(render_facts(replace(failure(), role="broker", steps=()), ()))


@pytest.mark.parametrize("limit", [{"max_rows": 11}, {"max_bytes": 44}], ids=str)
def test_long_conversations_are_stored_in_part(limit: dict[str, int]) -> None:
    stored = list(storable(PARTS, **limit))
    assert [len(part.rows) for part in stored] == [9, 2, 0]
    left_out = len(PARTS[1].rows) - 2
    assert stored[1].notes == (f"{left_out} more of its fields are left out here; exchange.txt has more of them",)
    assert stored[2] == PARTS[2]
