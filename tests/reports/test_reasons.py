"""A cell that could not be judged shows its reason in every output.

This also holds if a violation in the cell is declared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from reports.exports.single_run import grid_of_run
from reports.exports.single_run_failures import failures_of_run
from reports.grid import addresses
from reports.grid.addresses import JUNIT, SUMMARY
from reports.grid.history_tables import HistoryTables
from reports.records import Verdict
from reports.run.run_summary import summary_markdown
from reports.run.terminal_failures import failure_lines
from reports.site.build import render_site
from tests.reports.recorders import CLAUSE, TARGET, example_of, facts_of, key_of, recorder_for
from tests.run_folders import clause_entry

DECLARED = "KIP-511.names-accepted"
REASONS = {CLAUSE: "it kept us waiting", DECLARED: "its broker was restarted"}
DECLARATION = "open as KAFKA-1"


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a run printed, its folder, and the site that was made of it."""

    terminal: str
    run: Path
    site: Path


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """The outputs for two inconclusive cells; a violation of the second one is declared, and was seen."""
    folder = tmp_path_factory.mktemp("reasons")
    keys = [key_of(CLAUSE), key_of(DECLARED)]
    recorder = recorder_for(folder, dict.fromkeys(keys, "MUST"))
    recorder.target_started(facts_of())
    recorder.writer.header["clauses"] = [clause_entry(key.clause) for key in keys]
    declared = recorder.cells[keys[1]]
    declared.planned = replace(declared.planned, known_violation=DECLARATION)
    recorder.judged(example_of(Verdict.VIOLATES, keys[1], message="seen"))
    for key in keys:
        recorder.inconclusive(key, "test_something", REASONS[key.clause])
        recorder.write_failures(key)
    run = recorder.writer.folder
    (run / "summary.md").write_text(summary_markdown(recorder))
    recorder.finish(10)
    grid = grid_of_run(run)
    history = HistoryTables(
        **dict.fromkeys((field.name for field in fields(HistoryTables)), None)
        | {"failures": failures_of_run(run, grid)}
    )
    site = folder / "site"
    render_site(grid, history, site)
    lines = (line.text for line in failure_lines(recorder))
    return Outputs("\n".join(lines), run, site)


def _site_file(name: str) -> Callable[[Outputs, str], str]:
    return lambda outputs, clause: (outputs.site / name).read_text()


def _cell_page(outputs: Outputs, clause: str) -> str:
    return (outputs.site / addresses.cell_page(clause, TARGET, "plaintext")).read_text()


def _clause_page(outputs: Outputs, clause: str) -> str:
    return (outputs.site / addresses.clause_page(clause)).read_text()


@pytest.mark.parametrize("clause", REASONS)
@pytest.mark.parametrize(
    "text_of",
    [
        pytest.param(lambda outputs, clause: outputs.terminal, id="terminal"),
        pytest.param(lambda outputs, clause: (outputs.run / "summary.md").read_text(), id="summary-of-run"),
        pytest.param(_site_file(SUMMARY), id="summary-of-site"),
        pytest.param(_site_file("grid.json"), id="grid-json"),
        pytest.param(_site_file("grid.csv"), id="grid-csv"),
        pytest.param(_site_file("exports/cells.json"), id="cells-json"),
        pytest.param(_site_file("exports/cells.csv"), id="cells-csv"),
        pytest.param(_site_file(JUNIT), id="junit"),
        pytest.param(_clause_page, id="clause"),
        pytest.param(_cell_page, id="cell-page"),
    ],
)
def test_reason_of_an_inconclusive_cell_is_in_every_output(
    text_of: Callable[[Outputs, str], str], clause: str, outputs: Outputs
) -> None:
    """The reason stands there, and a declaration for the same cell does not take its place."""
    assert REASONS[clause] in text_of(outputs, clause)


def test_doubt_about_a_violated_clause_leaves_nothing_open(tmp_path: Path) -> None:
    """The cell is not counted among the inconclusive ones; a reason with no other cell is still shown."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST", key_of(DECLARED): "MUST"})
    recorder.judged(example_of(Verdict.VIOLATES))
    for key in recorder.cells:
        recorder.inconclusive(key, "test_something", "BrokerGone: it ended")
    recorder.inconclusive(key_of(), "test_other", "no time left")
    lines = [line.text for line in failure_lines(recorder)]
    assert "? 1 cell on reference inconclusive:" in lines
    assert lines[lines.index("  BrokerGone: it ended") + 1] == f"  clauses: {DECLARED}"
    assert lines[lines.index("  no time left") - 1] == "? 1 cell on reference judged only partly:"
