"""Tests of the page of a failure.

It shows the bytes as a table, both responses side by side, and the other evidence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from reports.grid import addresses
from reports.run.conversation import ByteRow, ConversationPart, part_as_json
from reports.run.failures import READS_FACTS
from reports.run.frame_rows import BARE_ANSWER, answer_rows, answer_rows_of, bare_rows, request_rows
from reports.run.hex_dump import conversation_text
from reports.run.stored_conversation import read_dump
from reports.site.byte_comparison import compare
from reports.site.drill_down import write_cells
from reports.site.expected_answers import ExpectedAnswer
from reports.site.failure_pages import shown_rows, write_failures
from reports.site.role_grids import write_role_grids
from strategies.api_versions import build_request
from strategies.minimal_requests import minimal_request
from tests.described_apis import described_api
from tests.reports.roll_up_tables import WRONG_ANSWER, cell_row, failure_row
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import (
    DECLARED,
    FLAKY_SIGNATURE,
    HOSTILE,
    KNOWN_SIGNATURE,
    NAMES,
    NEW,
    NOTE,
    SIGNATURE,
    cells_with,
    failures_with,
    site_tables,
    write_small_pages,
    write_small_site,
)


@pytest.fixture(scope="module")
def page(small_site: Path) -> Element:
    """The page of a failure of an Apache Kafka release."""
    return parse(small_site / "failures" / f"{KNOWN_SIGNATURE}.html")


def _page_with(out_dir: Path, **changes: Any) -> Element:
    """Write the page of that failure, with some of its columns replaced."""
    row = failure_row(KNOWN_SIGNATURE, NAMES, NEW, known_violation=DECLARED, **changes)
    write_small_pages(out_dir, write_failures, failures=failures_with(row))
    return parse(out_dir / "failures" / f"{KNOWN_SIGNATURE}.html")


def _rows(page: Element, caption: str) -> list[list[str]]:
    for table in all_of(page, "table"):
        if caption in text_of(next(all_of(table, "caption"))):
            return [[text_of(cell) for cell in row] for row in all_of(table, "tr")][1:]
    raise LookupError(caption)


def _sent_and_answered(request: tuple[ByteRow, ...], answer: tuple[ByteRow, ...]) -> list[ConversationPart]:
    return [
        ConversationPart(connection=0, what=what, rows=rows) for what, rows in (("sent", request), ("answer", answer))
    ]


@pytest.mark.parametrize(("evidence", "is_said"), [("time", True), ("bytes", False), (7, False)])
def test_page_says_that_only_time_shows_a_failure(evidence: Any, is_said: bool, tmp_path: Path) -> None:
    """A machine that was too busy may be the cause; bytes need no word."""
    page = _page_with(tmp_path, facts=json.dumps({"evidence": evidence}))
    assert ("Only time shows this" in text_of(page)) is is_said


def test_bytes_are_a_table(page: Element) -> None:
    """The table has offset, bytes, field path and value of everything that was sent."""
    rows = _rows(page, "sent, 36 bytes")
    assert rows[0] == ["0", "00 00 00 20", "size", "32"]
    client_id = "00 11 6b 61 66 6b 61 2d 63 6f 6e 66 6f 72 6d 61 6e 63 65"
    assert ["12", client_id, "client_id", "'kafka-conformance'"] in rows
    assert rows[-2] == ["33", "02 31", "client_software_version", "'1'"]


def test_stored_conversation_makes_the_same_page(tmp_path: Path) -> None:
    row = failure_row(KNOWN_SIGNATURE, NAMES, NEW, known_violation=DECLARED)
    parts = [part_as_json(part) for part in read_dump(row["hex_dump"])]
    facts = json.loads(row["facts"]) | {"conversation": parts}
    texts = []
    for folder, changes in (("dump", {}), ("stored", {"facts": json.dumps(facts), "hex_dump": "connection 0: kept"})):
        (tmp_path / folder).mkdir()
        _page_with(tmp_path / folder, **changes)
        texts.append((tmp_path / folder / "failures" / f"{KNOWN_SIGNATURE}.html").read_text())
    assert texts[0] == texts[1]


def test_first_divergence_is_marked(page: Element) -> None:
    """The first field of the response that differs from the reference broker's is marked in words."""
    rows = _rows(page, "answer, 23 bytes")
    assert [row[2] for row in rows if "divergence" in row[2]] == ["error_code ▶ first divergence"]


def test_long_conversations_are_cut_but_not_before_a_mark() -> None:
    """The first rows of all messages are shown, and those of a marked message up to the mark."""
    rows = tuple(ByteRow(offset=offset, data=b"0", path="", value="") for offset in range(10))
    parts = [ConversationPart(connection=0, what="sent", rows=rows) for _ in range(3)]
    shown = shown_rows(zip(parts, (None, None, 4), strict=True), 12)
    assert [len(each) for _, _, each in shown] == [10, 2, 5]


def test_answers_stand_side_by_side(page: Element) -> None:
    """The page shows expected and actual bytes and values of each field that differs."""
    rows = _rows(page, "field by field")
    assert ["error_code ≠ differs", "00 2a", "INVALID_REQUEST (42)", "00 00", "NONE (0)"] in rows
    assert ["api_keys[0].api_key ≠ differs", "absent", "00 12", "18"] in rows
    assert "The reference broker: answer, INVALID_REQUEST (42)" in text_of(page)
    assert "Apache Kafka 4.4.0: answer, NONE (0)" in text_of(page)


def test_release_with_zookeeper_is_compared_with_its_own_profile(tmp_path: Path) -> None:
    """Version 4 is unknown to 2.4.1, whatever the newest release answers."""
    request = build_request(version=4).data.hex()
    row = failure_row(
        *(KNOWN_SIGNATURE, NAMES, NEW),
        facts=json.dumps({"sent": [{"connection": 0, "data": request}]}),
    )
    targets = [each | {"release": "2.4.1"} for each in site_tables()["targets"]]
    failures = failures_with(row)
    out_dir = write_small_pages(tmp_path, write_failures, failures=failures, targets=targets)
    text = text_of(parse(out_dir / "failures" / f"{KNOWN_SIGNATURE}.html"))
    assert "The reference broker: answer, UNSUPPORTED_VERSION (35)" in text


def test_answer_of_another_api_is_compared_as_far_as_its_fields_agree(tmp_path: Path) -> None:
    """The reference broker's response is split into the fields of the target's: an error code and no groups."""
    api = described_api(16, 0)
    request = minimal_request(api, 0)
    answer = bytes.fromhex("00000006 00000007 000f")
    page = _page_with(
        tmp_path,
        facts=json.dumps({"sent": [{"connection": 0, "data": request.data.hex()}]}),
        hex_dump=conversation_text(
            _sent_and_answered(request_rows(request.data, request.layout), answer_rows_of(answer, api.layout(0)))
        ),
    )
    assert "The reference broker, by its own table of versions: answer" in text_of(page)
    rows = _rows(page, "field by field")
    assert rows[1] == ["correlation_id", "00 00 00 07", "7", "00 00 00 07", "7"]
    coordinator = ["00 0f", "COORDINATOR_NOT_AVAILABLE (15)"]
    assert ["error_code ≠ differs", "not decoded", *coordinator] in rows


def test_bare_answers_are_compared_as_they_are() -> None:
    """If no field of the target's response is known either, both are shown as bytes."""
    parts = _sent_and_answered(bare_rows(b"\0\0\0\1s", "token"), bare_rows(b"\0\0\0\2ab", BARE_ANSWER))
    wanted = bare_rows(b"\0\0\0\2ac", BARE_ANSWER)
    (found,) = compare(parts, [ExpectedAnswer(what="answer", rows=wanted)])
    assert [row.path for row in found.rows] == ["size", BARE_ANSWER]


def test_field_that_the_whole_expected_answer_lacks_is_not_there() -> None:
    """Once every byte of the reference broker's response has its field, no byte of it is left unread."""
    answer = answer_rows(WRONG_ANSWER, api_version=3)
    parts = _sent_and_answered(answer[:1], answer)
    for length, is_bare in ((10, False), (9, True)):
        bare = bare_rows(WRONG_ANSWER[:length], BARE_ANSWER)
        (found,) = compare(parts, [ExpectedAnswer(what="answer", rows=bare)])
        assert found.expected.is_bare == is_bare


def test_note_beside_a_violation_is_no_failure(tmp_path: Path) -> None:
    """The note is not counted as a failure, and its page calls it a note."""
    found = [(NOTE, "informational"), SIGNATURE]
    cells = [row for row in site_tables()["cells"] if row["target"] != HOSTILE]
    cells.append(cell_row(NAMES, HOSTILE, "violates", failures=found))
    rows = failures_with(failure_row(NOTE, NAMES, HOSTILE, verdict="informational"))
    out_dir = write_small_pages(tmp_path, write_failures, write_role_grids, cells=cells, failures=rows)
    words = {
        signature: text_of(next(all_of(parse(out_dir / "failures" / f"{signature}.html"), "h1")))
        for signature in (SIGNATURE, NOTE)
    }
    assert words[SIGNATURE].startswith("✕ violates ")
    assert words[NOTE].startswith("≈ informational ")
    brokers = parse(out_dir / "brokers.html")
    cell = addresses.cell_page(NAMES, HOSTILE, "plaintext")
    (link,) = all_of(brokers, "a", href=cell)
    assert text_of(link) == "✕ violates 1"
    assert "violates, 1 distinct failure, 1 note" in link.get("aria-label", "")


def test_message_example_and_script_are_shown(page: Element) -> None:
    """The page has the assertion's first line, the example for Hypothesis, the reproducer and the expectation."""
    text = text_of(page)
    for part in (
        "assert NONE (0) is INVALID_REQUEST (42)",
        "@example(**{'name': ''})",
        "print('again')",
        "Declared because It is so on purpose. (KAFKA-1)",
    ):
        assert part in text, part


def test_declaration_stands_under_the_failure_that_it_describes(tmp_path: Path) -> None:
    """Not under every failure of a cell that has several declarations."""
    cells = cells_with(NAMES, NEW, known_violation=f"Produce is closed on; {DECLARED}")
    write_small_pages(tmp_path, write_failures, cells=cells)
    text = text_of(parse(tmp_path / "failures" / f"{KNOWN_SIGNATURE}.html"))
    assert "Declared because It is so on purpose. (KAFKA-1)" in text
    assert "Produce is closed on" not in text


LONG_FACTS = json.dumps({"sent": [], "steps": ["00" * 2**19]})


@pytest.mark.parametrize(
    ("reproducer", "facts", "is_there"),
    [
        pytest.param(f"json = Path(__file__){READS_FACTS}", "{}", True, id="reads-short-facts"),
        pytest.param(f"json = Path(__file__){READS_FACTS}", LONG_FACTS, False, id="reads-long"),
        pytest.param("print('again')", LONG_FACTS, True, id="stands-alone"),
    ],
)
def test_script_is_offered_with_the_bytes_that_it_reads(
    reproducer: str, facts: str, is_there: bool, tmp_path: Path
) -> None:
    """A script without the failure.json that it needs is no use; the page says where both are."""
    text = text_of(_page_with(tmp_path, reproducer=reproducer, facts=facts))
    files = tmp_path / "failures" / KNOWN_SIGNATURE
    assert (files / "reproducer.py").exists() == is_there
    assert (files / "failure.json").exists() == (facts != LONG_FACTS)
    assert (reproducer in text) == is_there
    assert ("is too large for this site. The run folder has both." in text) == (not is_there)


def test_failure_that_never_recurred_is_no_violation(tmp_path: Path) -> None:
    """Another failure may make its cell a violation; this one's page says that it leaves the verdict open."""
    open_ = {"repeats": {"class": "flaky", "rate": {"failed": 0, "repeats": 3}}}
    for facts, word in (({}, "violates"), (open_, "inconclusive")):
        row = failure_row(SIGNATURE, NAMES, HOSTILE, facts=json.dumps(facts))
        write_small_pages(tmp_path / word, write_failures, failures=failures_with(row))
        page = parse(tmp_path / word / "failures" / f"{SIGNATURE}.html")
        assert word in text_of(next(all_of(page, "h1")))


def test_other_targets_are_grouped_by_answer(small_site: Path) -> None:
    """Targets with the same outcome, error code and verdict are listed together."""
    page = parse(small_site / "failures" / f"{SIGNATURE}.html")
    groups = [
        (text_of(term), text_of(entry)) for term, entry in zip(all_of(page, "dt"), all_of(page, "dd"), strict=True)
    ]
    assert groups[0] == (
        "✓ conforms answer, error code 42",
        "Apache Kafka 4.4.0, Apache Kafka 3.9.2",
    )
    assert groups[1] == ("✕ violates answer, error code 0", f"{HOSTILE} (with this target)")


def test_files_stand_beside_the_page(small_site: Path) -> None:
    """Evidence that was kept can be downloaded as files; for missing evidence there is no file."""
    files = {path.name for path in (small_site / "failures" / SIGNATURE).iterdir()}
    assert files == {
        "reproducer.py",
        "exchange.txt",
        "exchange.pcap",
        "example.txt",
        "failure.json",
    }
    without = {path.name for path in (small_site / "failures" / KNOWN_SIGNATURE).iterdir()}
    assert without == files - {"exchange.pcap"}


def test_packets_are_linked_where_they_were_kept(small_site: Path, page: Element) -> None:
    """Next to the bytes the page links the capture that contains them, if there is one."""
    kept = parse(small_site / "failures" / f"{SIGNATURE}.html")
    assert "As packets, which Wireshark decodes as Kafka: exchange.pcap." in text_of(kept)
    assert "Wireshark" not in text_of(page)


@pytest.mark.parametrize(
    "changes",
    [
        {"hex_dump": "connection 0: closed", "facts": "", "reproducer": "", "message": ""},
        {"hex_dump": "no dump at all\n\x00", "facts": "[1, 2]"},
        {"facts": '{"sent": [{"connection": 0, "data": "zz"}]}'},
        {"facts": '{"sent": [{"connection": 0, "data": "ffff"}]}'},
        {"facts": '{"sent": []}'},
    ],
    ids=["hardly anything", "foreign", "no hex", "half a frame", "no request"],
)
def test_page_is_written_whatever_was_kept(changes: dict[str, str], tmp_path: Path) -> None:
    """With broken or missing evidence the page is written without a comparison."""
    assert NEW.rpartition("-")[2] in text_of(_page_with(tmp_path, **changes))


def test_page_without_an_example_shows_none(tmp_path: Path) -> None:
    """A failure in which nothing was sent has no bytes and no example, and its page says so."""
    nothing = {"facts": '{"sent": []}', "hex_dump": "\n", "example": ""}
    text = text_of(_page_with(tmp_path, **nothing))
    assert "nothing was sent" in text
    assert "None was drawn." in text
    assert "@example" not in text


def test_signature_is_no_path(tmp_path: Path) -> None:
    """A signature that is not a plain name gets no page and no folder."""
    signatures = ("..", "../../escape", "a/b", "", "x" * 200)
    rows = [failure_row(signature, NAMES, NEW) for signature in signatures]
    seen = cell_row(NAMES, NEW, failures=signatures)["failures"]
    out_dir = write_small_site(
        tmp_path / "out",
        failures=[*site_tables()["failures"], *rows],
        cells=cells_with(NAMES, NEW, failures=seen),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    plain = {SIGNATURE, FLAKY_SIGNATURE, NOTE}
    assert {path.stem for path in (out_dir / "failures").glob("*.html")} == plain


def test_a_crash_has_its_own_word(tmp_path: Path) -> None:
    """A failure in which the target ended says "crashes", on its own page and on that of its cell."""
    crash = failures_with(failure_row(SIGNATURE, NAMES, HOSTILE, kind="TargetEnded"))
    out_dir = write_small_pages(tmp_path, write_failures, write_cells, failures=crash)
    for page in (
        f"failures/{SIGNATURE}.html",
        addresses.cell_page(NAMES, HOSTILE, "plaintext"),
    ):
        heading = text_of(next(all_of(parse(out_dir / page), "h1")))
        assert heading.startswith("✕ crashes")
