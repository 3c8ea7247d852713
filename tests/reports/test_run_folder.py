"""A run folder is read completely, or refused by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from clauses.catalogue import catalogue
from reports.records import Verdict
from reports.run.exit_status import ExitStatus, exit_status_of
from reports.run.recorder import RunRecorder
from reports.run.run_folder import read_run_header, run_verdicts
from reports.run.run_writer import RunWriter
from reports.run_folders.refused_runs import RunRefused
from reports.run_schema import run_schema
from tests.broken_run_folders import (
    BROKEN,
    EXPLAINED,
    OTHER_SUITES,
    ROWS,
    UNCOUNTED_FILES,
    write_failure_file,
    write_hashes,
    write_whole_run,
)
from tests.reports.recorders import example_of
from tests.run_folders import write_exchanges


def test_schema_is_valid_draft_2020_12() -> None:
    """The published schema is itself a valid JSON Schema."""
    Draft202012Validator.check_schema(run_schema())


def test_whole_run_is_read(tmp_path: Path) -> None:
    """Reading a valid run returns its header."""
    header = read_run_header(write_whole_run(tmp_path / "run"))
    assert header["run_id"] == "20261121T143000Z-1a2b3c4d"


def test_exchanges_are_counted(tmp_path: Path) -> None:
    """A run whose footer counts its exchanges is read."""
    folder = write_whole_run(tmp_path / "run")
    write_exchanges(folder, [b"\0"] * 2)
    header = json.loads((folder / "run.json").read_text())
    header["footer"]["exchange_rows"] = 2
    (folder / "run.json").write_text(json.dumps(header))
    assert read_run_header(folder)["footer"]["exchange_rows"] == 2


def test_unknown_key_is_ignored(tmp_path: Path) -> None:
    """A key that version 1 does not define does not make the run be refused."""
    folder = write_whole_run(tmp_path / "run")
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**header, "weather": "fine"}))
    assert read_run_header(folder)["weather"] == "fine"


@pytest.mark.parametrize("suite", OTHER_SUITES)
def test_columns_of_other_suites_cost_nothing(suite: str, tmp_path: Path) -> None:
    """A run that lacks a column added later, or has an unknown column, is read."""
    folder = write_whole_run(tmp_path / "run")
    OTHER_SUITES[suite](folder)
    assert read_run_header(folder)["footer"]["example_rows"] == ROWS


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_folder_is_refused_by_name(fault: str, tmp_path: Path) -> None:
    """A folder with a fault is refused with that fault's name, and the sentence names the folder."""
    folder = write_whole_run(tmp_path / "run")
    damage, refusal = BROKEN[fault]
    damage(folder)
    with pytest.raises(RunRefused) as caught:
        read_run_header(folder)
    assert caught.value.refusal is refusal
    assert str(folder) in str(caught.value)


def test_writer_of_run_folders_follows_the_schema(tmp_path: Path) -> None:
    """A run that the suite writes is accepted."""
    writer = RunWriter(tmp_path, catalogue=catalogue(), tier="smoke", seed=None)
    writer.write_header()
    with pytest.raises(RunRefused, match="did not end"):
        read_run_header(writer.folder)
    writer.close(exit_status=0)
    assert read_run_header(writer.folder)["footer"]["exit_status"] == 0


@pytest.mark.parametrize("name", UNCOUNTED_FILES)
def test_verdicts_are_those_of_the_rows_that_the_rules_judged(name: str, tmp_path: Path) -> None:
    """What a run counts without changes no verdict, and ends no command."""
    folder = write_whole_run(tmp_path / "run")
    UNCOUNTED_FILES[name](folder)
    assert set(run_verdicts(folder, read_run_header(folder)).values()) == {Verdict.CONFORMS}


@pytest.mark.parametrize("name", EXPLAINED)
def test_violation_that_does_not_fail_a_run_is_no_contradiction(name: str, tmp_path: Path) -> None:
    """The run's exit status may be any."""
    folder = write_whole_run(tmp_path / "run")
    EXPLAINED[name](folder)
    assert read_run_header(folder)["footer"]["example_rows"] == ROWS


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("a null as verdict", "1 example rows do not follow the record schema"),
        (
            "a row of an unknown clause",
            "it has rows of a clause that its run.json does not list: K",
        ),
        ("a client's row among a broker's", "its clauses are those of brokers, but its rows name"),
        ("rows of clients without a client", "its clauses are those of clients, but it has rows"),
        ("incomplete with a violation", "its exit status is 11, but it has violations of KIP-35."),
        ("a file that the run did not write", "failures/0123456789abcdef/more.txt was added since"),
        ("unknown clause", "it has cells of a clause that its run.json does not list: KIP-0.unknown"),
        ("unknown target", "it has cells of a target that its run.json does not list: unknown-1.0"),
        ("a row of an unknown target", "it has rows of a target that its run.json does not list: unknown-1.0"),
        ("rows cut short", "examples/part-0.parquet: "),
        ("rows of other types", "examples/part-0.parquet: "),
        ("exchanges that are no Parquet", "exchanges/part-0.parquet: "),
        ("other rows than were written", "examples/part-0.parquet has changed since"),
        ("no dump", "failures/0123456789abcdef/exchange.txt is missing or empty since"),
        ("an empty dump", "failures/0123456789abcdef/exchange.txt is missing or empty since"),
        ("an exit status that no column can have", "run.json does not follow its schema: Value 1"),
        ("a text that is long and wrong", "run.json does not follow its schema: $.host: 'xxx"),
    ],
)
def test_reason_says_what_is_wrong(fault: str, reason: str, tmp_path: Path) -> None:
    """In a sentence that names what it found."""
    folder = write_whole_run(tmp_path / "run")
    BROKEN[fault][0](folder)
    with pytest.raises(RunRefused) as caught:
        read_run_header(folder)
    assert caught.value.detail.startswith(reason)
    assert len(caught.value.detail) < 300


def test_seed_may_have_any_size(tmp_path: Path) -> None:
    folder = write_whole_run(tmp_path / "run")
    header = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**header, "seed": 10**30}))
    assert read_run_header(folder)["seed"] == 10**30


def test_file_that_cannot_be_read_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_bytes = Path.read_bytes

    def read_no_rows(path: Path) -> bytes:
        if path.suffix == ".parquet":
            raise PermissionError
        return read_bytes(path)

    folder = write_whole_run(tmp_path / "run")
    monkeypatch.setattr(Path, "read_bytes", read_no_rows)
    with pytest.raises(RunRefused, match="not readable as Parquet"):
        read_run_header(folder)


def test_file_that_was_written_empty_is_no_missing_one(tmp_path: Path) -> None:
    folder = write_whole_run(tmp_path / "run")
    write_failure_file(folder).touch()
    write_hashes(folder)
    assert read_run_header(folder)["footer"]["files"]


def test_rows_of_unlisted_clauses_are_named_once_per_run(tmp_path: Path) -> None:
    """One file of them is enough: a run may have any number."""
    folder = write_whole_run(tmp_path / "run")
    rows = folder / "examples" / "part-0.parquet"
    BROKEN["a row of an unknown clause"][0](folder)
    shutil.copy(rows, rows.with_name("part-1.parquet"))
    header = json.loads((folder / "run.json").read_text())
    header["footer"]["example_rows"] = 2 * ROWS
    (folder / "run.json").write_text(json.dumps(header))
    with pytest.raises(RunRefused, match=r"does not list: KIP-0\.unknown$"):
        read_run_header(folder)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.write_bytes(b"forged"), "part-00000.parquet has changed"),
        (lambda rows: rows.with_name("more.parquet").write_bytes(b""), "more.parquet was added"),
        (lambda rows: rows.with_name(".more").touch(), ".more was added"),
        (lambda rows: rows.with_name("_more").symlink_to("/etc"), "_more was added"),
        (Path.unlink, "part-00000.parquet is missing"),
    ],
    ids=["changed", "added", "hidden", "linked", "removed"],
)
def test_client_that_writes_into_the_run_folder_is_found_out(
    change: Callable[[Path], object], fault: str, recorder: RunRecorder
) -> None:
    """The run says so and ends as with a fault of the suite, and readers refuse it."""
    recorder.judged(example_of(Verdict.CONFORMS))
    recorder.writer.flush()
    change(recorder.writer.folder / "examples" / "part-00000.parquet")
    recorder.finish(0)
    assert f"perhaps the client: examples/{fault}" in recorder.writer.fault
    assert exit_status_of(recorder, pytest_status=0, strict=False) == ExitStatus.HARNESS_ERROR
    with pytest.raises(RunRefused):
        read_run_header(recorder.writer.folder)
