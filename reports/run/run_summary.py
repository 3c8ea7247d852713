"""`summary.md` of a run folder: a table of verdicts, and why cells lack one."""

from __future__ import annotations

from collections.abc import Iterator

from reference_model.profiles.listeners import PLAINTEXT
from reports.grid.grid_view import verdict_text
from reports.records import HEADER_FILE, Verdict
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder, remarks, vacuous_clients
from reports.run.terminal_lines import shortened
from reports.wording.escaping import markdown_text
from reports.wording.markdown_table import table_head, table_row
from reports.wording.verdict_labels import SYMBOLS

_MAX_REASON = 500
"""Characters; `run.json` has the complete reason of each cell."""


def summary_markdown(recorder: RunRecorder) -> str:
    """Return the verdict table as Markdown, with one line per reason why cells are inconclusive."""
    columns = list(dict.fromkeys((key.target, key.listener) for key in recorder.cells))
    names = [_column_name(*column) for column in columns]
    lines = [f"# Run {recorder.writer.run_id}", "", *table_head(["clause", "level", *names])]
    for clause in dict.fromkeys(key.clause for key in recorder.cells):
        cells = [recorder.cells.get(CellKey(clause, *column)) for column in columns]
        level = next((cell.level for cell in cells if cell is not None), "")
        texts = (
            ""
            if cell is None
            else verdict_text(cell.verdict, len(cell.violations), crashes=cell.crashes, role=recorder.role)
            for cell in cells
        )
        lines.append(table_row([clause, level, *texts]))
    reasons = [
        *(markdown_text(remark) for remark in remarks(recorder)),
        *(markdown_text(sentence) for sentence in vacuous_clients(recorder).values()),
        *_reason_lines(recorder),
    ]
    load = f"Load of the machine: {recorder.writer.load_words}."
    return "\n".join([*lines, *([""] if reasons else []), *reasons, "", load]) + "\n"


def _reason_lines(recorder: RunRecorder) -> Iterator[str]:
    for reason, affected in recorder.problems.items():
        keys = [key for key in affected if recorder.cells[key].verdict is Verdict.INCONCLUSIVE]
        if keys:
            clauses = ", ".join(dict.fromkeys(key.clause for key in keys))
            targets = ", ".join(dict.fromkeys(key.target for key in keys))
            text = markdown_text(shortened(reason, _MAX_REASON, complete_in=HEADER_FILE))
            yield f"- {SYMBOLS[Verdict.INCONCLUSIVE]} {clauses} on {targets}: {text}"


def _column_name(target: str, listener: str) -> str:
    """Give the name of a column; one that a pipe or a line end would break cannot be a target's or HOST:PORT."""
    return target if listener == PLAINTEXT else f"{target} {listener}"
