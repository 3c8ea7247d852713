"""Packs of real runs of the reference broker, whole and tampered with."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clauses.clause_sets import clause_set
from conformance.commands.diff import diff
from conformance.commands.grid import grid
from conformance.commands.pack import pack
from conformance.commands.summary import summary
from conformance.packs import judging_again
from conformance.packs.judging_again import INCONCLUSIVE
from conformance.packs.stated_header import NOT_STORED_REPEATS, OWN_DECLARATION, OWN_WORD
from conformance.packs.stored_run import MAX_ROWS_OF_TABLE
from conformance.packs.taking_in import take_in
from reports.records import DUMP_FILE, FACTS_FILE, HEADER_FILE, Verdict
from reports.run.run_folder import read_run_header, run_verdicts
from reports.run_folders.refused_runs import REFUSED_FILE, RunRefused
from reports.run_folders.run_limits import MAX_FILE_BYTES
from reports.run_folders.run_pack import MANIFEST
from tests.conformance.packs.packed_runs import Members, Row, read_members, with_changed_rows
from tests.conformance.suite_runs import run_suite

pytestmark = pytest.mark.slow

BROKEN = "KIP-482.tags-ascending-in-answers"
KEPT = "KIP-35.keys-unique"
PROPERTIES = "test_tags or key_stands or correlation"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a reference broker whose tags descend, with few properties."""
    options = ("--broker", "reference+tags-descend", "--tier", "smoke", "-k", PROPERTIES)
    return run_suite(*options, runs=tmp_path_factory.mktemp("runs")).folder


@pytest.fixture(scope="module")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its pack."""
    file = tmp_path_factory.mktemp("packs") / "run.pack"
    result = CliRunner().invoke(pack, [str(run), "--out", str(file)])
    assert result.exit_code == 0, result.output
    assert "of 5 verdicts judged again from stored bytes" in result.output
    return file


def test_a_pack_has_the_verdicts_of_its_run(run: Path, packed: Path, tmp_path: Path) -> None:
    reasons = take_in(packed, tmp_path / "run")
    assert {key.clause for key, reason in reasons.items() if not reason} >= {BROKEN, KEPT}
    header = read_run_header(tmp_path / "run")
    assert run_verdicts(tmp_path / "run", header) == run_verdicts(run, read_run_header(run))
    (target,) = header["targets"]
    assert target["judged_by_owner"] == f"{[*reasons.values()].count('')} of 5 verdicts judged again from stored bytes"


def test_dumps_are_written_again_and_scripts_stay_behind(run: Path, packed: Path, tmp_path: Path) -> None:
    take_in(packed, tmp_path / "run")
    (failure,) = (run / "failures").iterdir()
    written = tmp_path / "run" / "failures" / failure.name
    assert (written / DUMP_FILE).read_text() == (failure / DUMP_FILE).read_text()
    assert {path.name for path in written.iterdir()} == {"failure.json", DUMP_FILE}


def test_a_run_makes_the_same_bytes_each_time(run: Path, packed: Path, tmp_path: Path) -> None:
    CliRunner().invoke(pack, [str(run), "--out", str(tmp_path / "again")])
    assert (tmp_path / "again").read_bytes() == packed.read_bytes()


def test_cells_that_bytes_do_not_show_say_so(packed: Path, tmp_path: Path) -> None:
    reasons = take_in(packed, tmp_path / "run")
    noted = {cell["clause"]: cell["reason"] for cell in read_run_header(tmp_path / "run")["planned_cells"]}
    for key, why in reasons.items():
        assert noted[key.clause] == (f"judged by its owner, and not judged again: {why}" if why else "")


Tamper = Callable[[Members], None]


def _is_broken(row: Row) -> bool:
    return bool(row["clause"] == BROKEN)


def _is_kept(row: Row) -> bool:
    return bool(row["clause"] == KEPT)


def _change_a_byte_of_a_response(members: Members) -> None:
    """Give a response of the kept clause a key twice: its first entry becomes its second one."""
    exchanges = members.rows("exchanges")
    (answer,) = {each["answer_sha256"] for each in exchanges if _is_kept(each) and each["example_number"] == 1}
    received = next(each["received"] for each in members.rows("answers") if each["answer_sha256"] == answer)
    # Size, correlation id, error code and count are before the entries, which have six bytes each.
    changed = received[:14] + received[20:26] + received[20:]
    digest = hashlib.sha256(changed).hexdigest()
    members.write_rows("answers", [*members.rows("answers"), {"answer_sha256": digest, "received": changed}])
    first = with_changed_rows(
        exchanges, lambda row: _is_kept(row) and row["answer_sha256"] == answer, {"answer_sha256": digest}
    )
    members.write_rows("exchanges", first)
    members.hash_again()


def _state_another_response_hash(members: Members) -> None:
    answers = members.rows("answers")
    members.write_rows("answers", [{**answers[0], "received": answers[0]["received"] + b"\0"}, *answers[1:]])
    members.hash_again()


def _claim_that_it_conforms(members: Members) -> None:
    changes = {"verdict": "conforms", "failure_signature": None}
    members.write_rows("examples", with_changed_rows(members.rows("examples"), _is_broken, changes))
    members.drop_failures()
    members.hash_again(exit_status=0)


def _claim_that_it_violates(members: Members) -> None:
    members.write_rows("examples", with_changed_rows(members.rows("examples"), _is_kept, {"verdict": "violates"}))
    members.hash_again()


def _remove_the_failing_row(members: Members) -> None:
    members.write_rows("examples", [row for row in members.rows("examples") if not _is_broken(row)])
    members.drop_failures()
    members.hash_again(exit_status=0)


def _remove_a_row_and_its_exchanges(members: Members) -> None:
    for table in ("examples", "exchanges"):
        kept = [row for row in members.rows(table) if not (_is_kept(row) and row["example_number"] == 1)]
        members.write_rows(table, kept)
    members.hash_again()


def _add_a_row(members: Members) -> None:
    rows = members.rows("examples")
    members.write_rows("examples", [*rows, next(filter(_is_kept, rows))])
    members.hash_again()


def _remove_the_failure(members: Members) -> None:
    members.drop_failures()
    members.hash_again()


def _change_the_sentence_of_the_failure(members: Members) -> None:
    (name,) = (each for each in members if each.endswith(FACTS_FILE))
    members.write_json(name, {**members.json(name), "message": "the broker may do this"})
    members.hash_again()


def _spoil_the_conversation_of_the_failure(members: Members) -> None:
    (name,) = (each for each in members if each.endswith(FACTS_FILE))
    facts = members.json(name)
    members.write_json(name, {**facts, "conversation": [{**part, "bytes": "00"} for part in facts["conversation"]]})
    members.hash_again()


def _exceed_the_rows(members: Members) -> None:
    rows = members.rows("answers")
    members.write_rows("answers", rows * (MAX_ROWS_OF_TABLE // len(rows) + 1))
    members.hash_again()


def _change_a_hash_of_the_manifest(members: Members) -> None:
    manifest = members.json(MANIFEST)
    manifest["members"][HEADER_FILE] = "0" * 64
    members.write_json(MANIFEST, manifest)


def _change_the_suite(members: Members) -> None:
    header = members.json(HEADER_FILE)
    members.write_json(HEADER_FILE, {**header, "suite": {**header["suite"], "version": "9.9.9"}})
    members.list_again()


def _change_the_clauses(members: Members) -> None:
    header = members.json(HEADER_FILE)
    members.write_json(HEADER_FILE, {**header, "suite": {**header["suite"], "catalogue_sha256": "ab" * 32}})
    members.list_again()


def _make_it_one_of_clients(members: Members) -> None:
    header = members.json(HEADER_FILE)
    clauses = [{**clause, "role": "client"} for clause in header["clauses"]]
    members.write_json(HEADER_FILE, {**header, "clauses": clauses})
    members.list_again()


def _lead_out(members: Members) -> None:
    members["../escaped"] = b"escaped"
    members.list_again()


def _make_a_bomb(members: Members) -> None:
    members["answers/bomb.parquet"] = bytes(MAX_FILE_BYTES + 1)
    members.list_again()


def _remove_a_table(members: Members) -> None:
    del members["exchanges/part-00000.parquet"]


def _remove_a_table_from_the_list_too(members: Members) -> None:
    del members["exchanges/part-00000.parquet"]
    members.list_again()


def _add_a_script(members: Members) -> None:
    members["failures/0123456789abcdef/reproducer.py"] = b"print('run me')"
    members.list_again()


def _add_a_member(members: Members) -> None:
    members["answers/more.parquet"] = b"{}"


def _add_a_machine(members: Members) -> None:
    members["machines/001.json"] = b"{}"
    members.hash_again()


def _number_an_example_hugely(members: Members) -> None:
    rows = members.rows("examples")
    kept = next(filter(_is_kept, rows))
    members.write_rows("examples", [*rows, {**kept, "example_number": 2**31 - 1}])
    members.hash_again()


def _change_the_release_of_rows(members: Members) -> None:
    members.write_rows("examples", with_changed_rows(members.rows("examples"), _is_kept, {"release": "9.9"}))
    members.hash_again()


def _change_an_error_code(members: Members) -> None:
    members.write_rows("examples", with_changed_rows(members.rows("examples"), _is_kept, {"error_code": 35}))
    members.hash_again()


def _make_the_failure_a_note(members: Members) -> None:
    (name,) = (each for each in members if each.endswith(FACTS_FILE))
    members.write_json(name, {**members.json(name), "verdict": "informational"})
    members.hash_again()


def _with_header(change: Callable[[Any], object]) -> Tamper:
    def tamper(members: Members) -> None:
        header = members.json(HEADER_FILE)
        change(header)
        members.write_json(HEADER_FILE, header)
        members.hash_again()

    return tamper


def _cell_of(header: Any, clause: str) -> dict[str, Any]:
    found: dict[str, Any] = next(cell for cell in header["planned_cells"] if cell["clause"] == clause)
    return found


def _declare_that_it_does_not_apply(members: Members) -> None:
    _with_header(lambda header: _cell_of(header, BROKEN).update(applicable=False))(members)
    members.hash_again(exit_status=0)


def _say_that_all_was_judged(members: Members) -> None:
    _with_header(lambda header: header.update(whole=True))(members)


def _change_the_format(members: Members) -> None:
    members.write_json(MANIFEST, {**members.json(MANIFEST), "pack_format": 2})


def _remove_the_manifest(members: Members) -> None:
    del members[MANIFEST]


def _spoil_the_manifest(members: Members) -> None:
    members.write_json(MANIFEST, [])


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (_change_a_byte_of_a_response, "example 1 conforms, but its stored bytes show that it violates"),
        (_state_another_response_hash, "have another SHA-256"),
        (
            _claim_that_it_conforms,
            f"{BROKEN} on reference+tags-descend, plaintext, test_tags_in_answers_ascend: example 1 ",
        ),
        (_claim_that_it_violates, "example 1 violates, but its stored bytes show that it conforms"),
        (_remove_the_failing_row, "exchanges are stored of example 1, which has no row"),
        (_remove_a_row_and_its_exchanges, "test_no_key_stands_twice: example 1 is missing"),
        (_add_a_row, "test_no_key_stands_twice: an example stands twice"),
        (_remove_the_failure, "of example 1 is not stored"),
        (_change_the_sentence_of_the_failure, "describes another failure"),
        (_spoil_the_conversation_of_the_failure, "does not describe a failure"),
        (_exceed_the_rows, "the table answers has too many rows; the limit is 100,000"),
        (_change_a_hash_of_the_manifest, "run.json has another SHA-256 than pack.json lists"),
        (_change_the_suite, "it was judged by version 9.9.9 with the clauses "),
        (
            _change_the_clauses,
            f"with the clauses abababababab and this is {version('kafka-conformance')} with the clauses",
        ),
        (_make_it_one_of_clients, "it is about client; a pack has a run of brokers"),
        (_lead_out, "the name '../escaped' leads out of its folder"),
        (_make_a_bomb, "answers/bomb.parquet has 16,777,217 bytes; the limit is 16,777,216 bytes"),
        (_remove_a_table, "'exchanges/part-00000.parquet' is missing, which pack.json lists"),
        (
            _remove_a_table_from_the_list_too,
            "the footer counts 24 example rows and 44 exchange rows, but only 24 and 0 are readable",
        ),
        (_add_a_machine, "'machines/001.json' is none of the files of a run"),
        (_number_an_example_hugely, "test_no_key_stands_twice: example 4 is missing"),
        (_change_the_release_of_rows, "its rows have another release than run.json"),
        (_change_an_error_code, "the response to example 1 has the error code 0, and not 35"),
        (_make_the_failure_a_note, "the failure 6555d3e95ed118ca has another verdict than example 1"),
        (_declare_that_it_does_not_apply, "it has examples, but run.json says that it does not apply"),
        (_say_that_all_was_judged, "run.json says that everything was judged, but KIP-"),
        (_add_a_script, "'failures/0123456789abcdef/reproducer.py' is none of the files of a run"),
        (_add_a_member, "answers/more.parquet is there, but pack.json does not list it"),
        (_change_the_format, "its pack_format is 2; this version of the suite reads only 1"),
        (_remove_the_manifest, "it is no pack, because it has no pack.json"),
        (_spoil_the_manifest, "pack.json is no list of members"),
    ],
    ids=lambda each: each.__name__.strip("_").replace("_", "-") if callable(each) else None,
)
def test_a_tampered_pack_is_refused(packed: Path, tmp_path: Path, tamper: Tamper, sentence: str) -> None:
    members = read_members(packed)
    tamper(members)
    assert sentence in _refusal(members.zipped(), tmp_path)


def _refusal(content: bytes, folder: Path) -> str:
    """Return why a pack is refused; nothing but its folder may be written then."""
    (folder / "pack").write_bytes(content)
    with pytest.raises(RunRefused) as refused:
        take_in(folder / "pack", folder / "run")
    assert {path.name for path in folder.iterdir()} <= {"pack", "run"}
    assert str(refused.value).startswith(f"{folder / 'pack'}: ")
    return refused.value.detail


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _nothing(_: bytes) -> bytes:
    return b""


def _text(_: bytes) -> bytes:
    return b"not a pack"


def _announcing_less(content: bytes) -> bytes:
    """Return an archive whose list says that run.json has one byte."""
    at = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 4)
    return content[: at + 24] + (1).to_bytes(4, "little") + content[at + 28 :]


def _with_flipped_data(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 0xFF]) + content[201:]


def _with_a_member_twice(content: bytes) -> bytes:
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(HEADER_FILE, b"{}")
    return buffer.getvalue()


def _with_a_member_before_the_file(content: bytes) -> bytes:
    """Return an archive whose list says that its first member begins 255 bytes before the file."""
    end = content.rindex(b"PK\x05\x06")
    return (
        content[: end + 16]
        + (int.from_bytes(content[end + 16 : end + 20], "little") + 255).to_bytes(4, "little")
        + content[end + 20 :]
    )


def _too_large(content: bytes) -> bytes:
    return content + bytes(MAX_FILE_BYTES)


def _with_a_link(content: bytes) -> bytes:
    buffer = io.BytesIO(content)
    link = zipfile.ZipInfo("answers/link.parquet")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, b"/etc/passwd")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (
            _half,
            "it is cut off, or damaged at its end: give a file that `kafka-conformance pack` wrote, or a run folder",
        ),
        (_nothing, "it is no pack: give a file that"),
        (_text, "it is no pack: give a file that"),
        (_announcing_less, "run.json is damaged, or larger than it announces"),
        (_with_flipped_data, "pack.json is damaged, or larger than it announces"),
        (_with_a_member_before_the_file, "pack.json is damaged, or larger than it announces"),
        (_too_large, " bytes; the limit is 16,777,216 bytes"),
        (_with_a_member_twice, "it has run.json twice"),
        (_with_a_link, "answers/link.parquet is a link or another special file, and no plain file"),
    ],
    ids=lambda each: each.__name__.strip("_").replace("_", "-") if callable(each) else None,
)
def test_a_tampered_archive_is_refused(
    packed: Path, tmp_path: Path, tamper: Callable[[bytes], bytes], sentence: str
) -> None:
    assert sentence in _refusal(tamper(packed.read_bytes()), tmp_path)


def _claim_a_flaky_failure(cell: dict[str, Any]) -> None:
    cell["flaky"] = {"failed": 1, "repeats": 20, "rate": 0.05, "low": 0.0, "high": 0.2}


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        (lambda cell: cell.update(known_violation="wanted so"), Verdict.KNOWN_VIOLATION, OWN_DECLARATION),
        (lambda cell: cell.update(unproven="noise"), Verdict.INCONCLUSIVE, NOT_STORED_REPEATS),
        (_claim_a_flaky_failure, Verdict.FLAKY, NOT_STORED_REPEATS),
    ],
    ids=["declared", "unproven", "flaky"],
)
def test_an_excuse_of_the_owner_is_not_judged_again(
    packed: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], verdict: Verdict, reason: str
) -> None:
    members = read_members(packed)
    _with_header(lambda header: change(_cell_of(header, BROKEN)))(members)
    members.hash_again(exit_status=0)
    assert _taken_in(members, tmp_path) == (verdict, reason)


def test_an_inconclusive_example_is_not_judged_again(packed: Path, tmp_path: Path) -> None:
    members = read_members(packed)
    changes = {"verdict": "inconclusive", "failure_signature": None}
    members.write_rows("examples", with_changed_rows(members.rows("examples"), _is_broken, changes))
    members.drop_failures()
    members.hash_again()
    assert _taken_in(members, tmp_path) == (Verdict.INCONCLUSIVE, INCONCLUSIVE)


def _taken_in(members: Members, folder: Path) -> tuple[Verdict, str]:
    """Return the verdict of the broken clause in the grid, and why it was not judged again."""
    (folder / "pack").write_bytes(members.zipped())
    reasons = take_in(folder / "pack", folder / "run")
    header = read_run_header(folder / "run")
    (reason,) = (reason for key, reason in reasons.items() if key.clause == BROKEN)
    assert _cell_of(header, BROKEN)["reason"] == f"judged by its owner, and not judged again: {reason}"
    (verdict,) = (each for key, each in run_verdicts(folder / "run", header).items() if key.clause == BROKEN)
    return verdict, reason


def test_that_a_cell_does_not_apply_is_the_word_of_its_owner(packed: Path, tmp_path: Path) -> None:
    members = read_members(packed)
    for table in ("examples", "exchanges"):
        members.write_rows(table, [row for row in members.rows(table) if not _is_broken(row)])
    members.drop_failures()
    _with_header(lambda header: _cell_of(header, BROKEN).update(applicable=False, reason="no tags"))(members)
    members.hash_again(exit_status=0)
    (tmp_path / "pack").write_bytes(members.zipped())
    take_in(tmp_path / "pack", tmp_path / "run")
    noted = _cell_of(read_run_header(tmp_path / "run"), BROKEN)["reason"]
    assert noted == f"no tags; judged by its owner, and not judged again: {OWN_WORD}"


def test_what_is_newer_than_the_set_of_a_run_is_a_note_when_it_is_judged_again(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = clause_set("0.1")
    without = replace(asked, clauses={name: each for name, each in asked.clauses.items() if name != BROKEN})
    monkeypatch.setattr(judging_again, "set_of", lambda _: without)
    members = read_members(packed)
    _make_the_failure_a_note(members)
    changes = {"verdict": "informational"}
    members.write_rows("examples", with_changed_rows(members.rows("examples"), _is_broken, changes))
    members.hash_again(exit_status=0)
    assert _taken_in_again(members, tmp_path)[BROKEN] == ""


def _taken_in_again(members: Members, folder: Path) -> dict[str, str]:
    (folder / "pack").write_bytes(members.zipped())
    return {key.clause: reason for key, reason in take_in(folder / "pack", folder / "run").items()}


def test_a_pack_that_takes_too_many_tries_is_refused(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging_again, "MAX_TRIES", 20)
    refusal = _refusal(packed.read_bytes(), tmp_path)
    assert refusal.startswith("its stored examples take too many tries; the limit is 20: ")


def test_a_pack_corrects_no_run(packed: Path, tmp_path: Path) -> None:
    members = read_members(packed)
    members.write_json(HEADER_FILE, {**members.json(HEADER_FILE), "corrects": "20261121T143000Z-1a2b3c4d"})
    members.list_again()
    (tmp_path / "pack").write_bytes(members.zipped())
    take_in(tmp_path / "pack", tmp_path / "run")
    assert read_run_header(tmp_path / "run")["corrects"] is None


def test_commands_read_a_pack_like_its_run(run: Path, packed: Path) -> None:
    shown = CliRunner().invoke(summary, [str(packed)])
    assert "reference\\+tags-descend: judged by its owner; " in shown.output
    compared = CliRunner().invoke(diff, [str(run), str(packed)])
    assert compared.exit_code == 0
    assert "✓ No binding clause regressed (cells: 1 same verdict, other reason).\n" in compared.output


def test_commands_refuse_what_is_no_pack_or_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("text")
    for command in (summary, pack):
        target = tmp_path / "notes.txt" if command is summary else tmp_path
        result = CliRunner().invoke(command, [str(target), *(["--out", str(tmp_path / "out")] * (command is pack))])
        assert result.exit_code == 4
        assert not (tmp_path / "out").exists()


def test_a_grid_marks_packs_and_lists_those_that_it_refuses(packed: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pack"
    bad.write_bytes(_half(packed.read_bytes()))
    out = tmp_path / "grid"
    result = CliRunner().invoke(grid, [str(packed), str(bad), "--out", str(out)])
    assert result.exit_code == 0, result.output
    (refused,) = json.loads((out / REFUSED_FILE).read_text())
    assert (refused["folder"], refused["refusal"]) == (str(bad), "invalid_pack")
    mark = "reference+tags-descend: judged by its owner; "
    assert mark in (out / "brokers.html").read_text()
    assert mark.replace("+", "\\+") in (out / "grid.md").read_text()
    (target,) = json.loads((out / "grid.json").read_text())["targets"]
    assert target["judged_by_owner"].endswith("judged again from stored bytes")


def test_a_grid_of_refused_packs_alone_has_no_run(tmp_path: Path) -> None:
    (tmp_path / "bad.pack").write_bytes(b"")
    result = CliRunner().invoke(grid, [str(tmp_path / "bad.pack"), "--out", str(tmp_path / "grid")])
    assert result.exit_code == 1
