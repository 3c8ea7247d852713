"""The exchange of a finding has the bytes that explain it, as data."""

from __future__ import annotations

from reports.run.conversation import ByteRow, ConversationPart
from reports.run.stored_conversation import read_dump
from tests.reports.roll_up_tables import failure_row
from workflows.compatibility.exchanges import MAX_LINES, MAX_ROW_BYTES, MAX_ROWS, exchange_text, explaining


def row(path: str, value: str = "0", *, offset: int = 4, data: bytes = b"\0", marked: bool = False) -> ByteRow:
    return ByteRow(offset=offset, data=data, path=path, value=value, marked=marked)


def table_of(*keys: int) -> list[ByteRow]:
    return [
        row(f"api_keys[{index}].{name}", str(key) if name == "api_key" else "9", offset=key)
        for index, key in enumerate(keys)
        for name in ("api_key", "min_version", "max_version")
    ]


def message(what: str, *rows: ByteRow, notes: tuple[str, ...] = ()) -> ConversationPart:
    return ConversationPart(connection=0, what=what, rows=rows, notes=notes)


def fields_of(text: str) -> list[str]:
    """Return what a dump says of each row, without offsets and bytes; other lines as they are."""
    return [line[59:] if line[:1] in (" ", ">") and len(line) > 59 else line for line in text.splitlines()]


def test_dump_is_rendered_as_it_was() -> None:
    """Bytes and fields of a short exchange all stay."""
    dump = failure_row("aa", "KIP-511.names-refused", "mybroker-1.0")["hex_dump"]
    lines = [line for line in dump.splitlines() if line]
    assert exchange_text(explaining(read_dump(dump))).splitlines() == lines


def test_rows_that_explain_a_failure_stay() -> None:
    wrong = row("", "wrong", data=b"\x41", marked=True)
    parts = [message("answer", *table_of(0, 1, 3, 12, 60), wrong), message("sent", row("request_api_key", "3"))]
    text = exchange_text(explaining(parts, "Heartbeat v2 is listed"))
    assert fields_of(text) == [
        "connection 0: answer",
        "... (2 other APIs)",
        *(f"api_keys[{index}].{name}" for index, key in ((2, 3), (3, 12))
          for name in (f"api_key = {key}", "min_version = 9", "max_version = 9")),
        "... (1 other API)",
        "<-- wrong",
        "connection 0: sent",
        "request_api_key = 3",
    ]  # fmt: skip
    (failing,) = (line for line in text.splitlines() if line.startswith(">"))
    assert failing.split() == [">", "4", "41", "<--", "wrong"]


def test_long_exchange_keeps_both_ends_and_what_the_message_names() -> None:
    """A client may send hundreds of requests, and the wrong one stands between them."""
    parts = [message("client sent", row("request_api_key", "18"))] * 99
    parts[50] = message("client sent", row("request_api_key", "3"))
    lines = fields_of(exchange_text(explaining(parts, "Metadata v2 was sent")))
    assert len(lines) == MAX_LINES + 2
    assert "request_api_key = 3" in lines
    assert [line for line in lines if "more" in line] == ["... (42 more lines)", "... (36 more lines)"]


def test_long_message_is_cut_but_says_where_decoding_fails() -> None:
    wrong = row("", "wrong", marked=True)
    rows = [row("size", offset=number) for number in range(MAX_ROWS + 9)]
    lines = fields_of(exchange_text(explaining([message("answer", *rows, wrong)])))
    assert lines[-2:] == ["... (9 more lines)", "<-- wrong"]
    assert len(lines) == MAX_ROWS + 3


def test_long_values_and_bytes_are_cut() -> None:
    long = row("topics", "x" * 500, data=b"\1" * (MAX_ROW_BYTES + 5))
    (first, *_, last) = exchange_text(explaining([message("answer", long)])).splitlines()[1:]
    assert first.endswith("x ...")
    assert len(first) < 170
    assert last == "... (5 more bytes)"


def test_remarks_of_a_message_stay() -> None:
    text = exchange_text(explaining([message("answer", notes=("with the bytes of the response",))]))
    assert text.splitlines() == ["connection 0: answer", "  with the bytes of the response"]
