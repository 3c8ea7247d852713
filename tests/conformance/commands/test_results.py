"""`diff` and `summary` read run folders and grids, and refuse bad input by name.

Their exit status has a meaning.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.commands.diff import diff
from conformance.commands.summary import summary
from tests.reports.exports.grids import HOSTILE, TERMINAL_ESCAPES, hostile_tables, small_tables
from tests.reports.recorders import failure_of, key_of
from tests.run_folders import (
    DEFAULT_CLAUSE,
    DEFAULT_TARGET,
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.written_failures import write_failure

SIGNATURE = "0123456789abcdef"


def _invoke(command: Any, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def _run(folder: Path, *verdicts: str, **planned: Any) -> Path:
    """Write a run of one cell with an example of each verdict; a violation gets its failure's folder."""
    header = run_header([planned_cell(**planned)], run_id=folder.name)
    rows = [
        example_row(
            header,
            number,
            verdict=verdict,
            failure_signature=SIGNATURE if verdict == "violates" else None,
        )
        for number, verdict in enumerate(verdicts)
    ]
    write_run(folder, header, rows)
    if "violates" in verdicts:
        key = key_of(DEFAULT_CLAUSE, DEFAULT_TARGET)
        write_failure(folder / "failures", failure_of(key, f"{HOSTILE}\nmore", SIGNATURE))
    return folder


@pytest.mark.parametrize(
    ("before", "after", "status", "output"),
    [
        (["conforms"], ["conforms"], 0, "✓ Nothing changed in 1 cell."),
        (["violates"], ["conforms"], 0, "✓ No binding clause regressed (cells: 1 fixed)."),
        (
            ["conforms"],
            ["violates"],
            1,
            "✕ 1 binding clause regressed on 1 target (cells: 1 regressed).",
        ),
        (["conforms"], ["inconclusive"], 10, "can no longer be judged"),
        (["conforms"], [], 10, "can no longer be judged"),
        ([], ["inconclusive"], 0, "✓ No binding clause regressed (cells: 1 otherwise changed)."),
    ],
)
def test_status_says_whether_it_got_worse(
    before: list[str], after: list[str], status: int, output: str, tmp_path: Path
) -> None:
    """0 is equal or better, 1 a regression, 10 a clause that has become inconclusive; the sentence is last."""
    result = _invoke(diff, _run(tmp_path / "a", *before), _run(tmp_path / "b", *after))
    assert result.exit_code == status, result.output
    assert output in result.output.splitlines()[-1]
    assert result.output.splitlines()[0] == "From a to b."


def test_two_releases_are_compared_with_each_other(tmp_path: Path) -> None:
    """Nothing is gone or new, and the text names the releases."""
    old, new = "apache-kafka-4.3.1", "apache-kafka-4.4.0"
    before = _run(tmp_path / "a", "conforms", target=old)
    result = _invoke(diff, before, _run(tmp_path / "b", "violates", target=new))
    assert result.exit_code == 1
    assert result.output.splitlines()[1] == f"{new} is compared with {old}."
    assert "1 binding clause regressed on 1 target (cells: 1 regressed)" in result.output


def test_runs_that_share_nothing_are_not_compared(tmp_path: Path) -> None:
    """For example those of a broker and of a client: nothing is known to be as good as before."""
    before = _run(tmp_path / "a", "conforms")
    result = _invoke(diff, before, _run(tmp_path / "b", "conforms", listener="ssl"))
    assert result.exit_code == 10
    output = "? Nothing could be compared, as no cell is in both (cells: 1 new, 1 gone)."
    assert result.output.splitlines()[-1] == output


def test_piped_text_is_plain(tmp_path: Path) -> None:
    """Without a terminal there is no colour, and each change is one line."""
    result = _invoke(diff, _run(tmp_path / "a", "conforms"), _run(tmp_path / "b", "violates"))
    (line,) = (line for line in result.output.splitlines() if line.startswith(DEFAULT_CLAUSE))
    assert line.split() == [
        *(DEFAULT_CLAUSE, "MUST", DEFAULT_TARGET, "plaintext"),
        *("✓", "conforms", "→", "✕", "violates"),
        *("1", "distinct", "failure", "in", "1", "example"),
    ]
    assert "\x1b" not in result.output


def test_json_has_the_changes_and_the_new_violations(tmp_path: Path) -> None:
    """The listed violations, those to open issues for, are the new ones."""
    old, new = _run(tmp_path / "a", "conforms"), _run(tmp_path / "b", "violates")
    result = _invoke(diff, old, new, "--format", "json", "--pages", "https://pages.example/grid")
    document = json.loads(result.stdout)
    assert (document["comparison_schema_version"], result.exit_code) == (1, 1)
    assert [change["kind"] for change in document["changes"]] == ["regressed"]
    (violation,) = document["violations"]
    assert violation["key"] == f"{DEFAULT_CLAUSE} on {DEFAULT_TARGET}"
    assert violation["link"] == f"https://pages.example/grid/failures/{SIGNATURE}.html"
    assert "  00 12" in violation["body"]
    unchanged = json.loads(_invoke(diff, new, new, "--format", "json").stdout)
    assert (unchanged["changes"], unchanged["violations"]) == ([], [])


def test_two_nights_are_compared(tmp_path: Path) -> None:
    """Grid folders are compared like runs, also with a run."""
    grid = small_tables(tmp_path / "night")
    result = _invoke(diff, grid, grid, "--format", "markdown")
    assert result.exit_code == 0
    assert "**✓ Nothing changed in 5 cells.**" in result.stdout
    mixed = _invoke(diff, grid, _run(tmp_path / "run", "conforms"))
    assert mixed.exit_code == 0
    assert "regressed, but judged cells are gone: KIP-" in mixed.output
    assert "1 otherwise changed, 4 gone" in mixed.output


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_hostile_names_do_not_act(form: str, tmp_path: Path) -> None:
    """No target name can send escape sequences to the terminal."""
    run, grid = _run(tmp_path / "run", "conforms"), hostile_tables(tmp_path / "grid")
    result = _invoke(diff, run, grid, "--format", form)
    assert result.exit_code == 10, "no cell is in both"
    assert not any(character in result.output for character in TERMINAL_ESCAPES)


@pytest.mark.parametrize("command", [diff, summary])
def test_bad_input_is_refused_by_name(command: Any, tmp_path: Path) -> None:
    """The exit status is 4 for no run, several runs, an incomplete run, and damaged tables."""
    good = _run(tmp_path / "runs" / "good", "conforms")
    several = _run(tmp_path / "several" / "one", "conforms").parent
    _run(several / "two", "conforms")
    cut_off = _run(tmp_path / "cut-off", "conforms")
    header = json.loads((cut_off / "run.json").read_text())
    (cut_off / "run.json").write_text(json.dumps({**header, "footer": None}))
    damaged = small_tables(tmp_path / "damaged")
    (damaged / "tables" / "cells.parquet" / "part-0.parquet").write_bytes(b"no table")
    (tmp_path / "empty").mkdir()
    faults = {
        tmp_path / "empty": "is neither a run folder (no run.json) nor a grid's folder",
        tmp_path / "runs": f"is not a run folder, but holds one: {good}",
        several: "holds 2 run folders: give one of them, or roll them up first",
        cut_off: "run.json",
        damaged: "is incomplete or damaged",
    }
    for path, sentence in faults.items():
        paths = (good, path) if command is diff else (path,)
        result = _invoke(command, *paths)
        assert result.exit_code == 4, result.output
        assert sentence in " ".join(result.output.split())
        assert "Traceback" not in result.output


@pytest.mark.parametrize("pages", ["javascript:alert(1)", "https://a.example/)", "ftp://a.example"])
def test_pages_are_an_address(pages: str, tmp_path: Path) -> None:
    """A value that cannot be a link to a page is refused."""
    result = _invoke(summary, _run(tmp_path / "run", "conforms"), "--pages", pages)
    assert result.exit_code == 2
    assert "is not the address of a web page" in result.output


def test_summary_of_a_run_shows_the_bytes(tmp_path: Path) -> None:
    """A run's summary has the same sentence as a grid's, the violated clause and its bytes, but no links."""
    result = _invoke(summary, _run(tmp_path / "run", "violates", "conforms"))
    assert result.exit_code == 0
    assert "**✕ 1 of 1 broker breaks MUST rules: 1 MUST, 1 bug.**" in result.stdout
    assert "  00 12" in result.stdout
    assert "](" not in result.stdout


def test_summary_as_json_lists_every_violation(tmp_path: Path) -> None:
    document = json.loads(_invoke(summary, small_tables(tmp_path / "grid"), "--format", "json").stdout)
    assert document["summary_schema_version"] == 1
    assert document["verdict"] == "violates"
    assert [each["level"] for each in document["violations"]] == ["MUST", "SHOULD"]
