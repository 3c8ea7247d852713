"""`summary.md` of a run folder: a table of verdicts, and why cells lack one."""

from __future__ import annotations

from collections.abc import Iterator

from reference_model.profiles.listeners import PLAINTEXT
from reports.document.blocks import BulletList, Document, ListItem, Sentence, TextTable
from reports.document.markdown_form import markdown
from reports.grid.grid_view import verdict_text
from reports.records import HEADER_FILE, Verdict
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder, remarks, vacuous_clients
from reports.run.terminal_lines import shortened
from reports.wording.verdict_labels import SYMBOLS

_MAX_REASON = 500
"""Characters; `run.json` has the complete reason of each cell."""


def summary_markdown(recorder: RunRecorder) -> str:
    """Return the verdict table as Markdown, with one line per reason why cells are inconclusive."""
    reasons = tuple(_reasons(recorder))
    document = Document(
        title=f"Run {recorder.writer.run_id}",
        blocks=(
            _verdicts(recorder),
            *map(Sentence, (*remarks(recorder), *vacuous_clients(recorder).values())),
            *([BulletList(reasons)] if reasons else []),
            Sentence(f"Load of the machine: {recorder.writer.load_words}."),
        ),
    )
    return markdown(document)


def _verdicts(recorder: RunRecorder) -> TextTable:
    columns = list(dict.fromkeys((key.target, key.listener) for key in recorder.cells))
    rows = []
    for clause in dict.fromkeys(key.clause for key in recorder.cells):
        cells = [recorder.cells.get(CellKey(clause, *column)) for column in columns]
        level = next((cell.level for cell in cells if cell is not None), "")
        texts = (
            ""
            if cell is None
            else verdict_text(cell.verdict, len(cell.violations), crashes=cell.crashes, role=recorder.role)
            for cell in cells
        )
        rows.append((clause, level, *texts))
    return TextTable(columns=("clause", "level", *(_column_name(*column) for column in columns)), rows=tuple(rows))


def _reasons(recorder: RunRecorder) -> Iterator[ListItem]:
    for reason, affected in recorder.problems.items():
        keys = [key for key in affected if recorder.cells[key].verdict is Verdict.INCONCLUSIVE]
        if keys:
            clauses = ", ".join(dict.fromkeys(key.clause for key in keys))
            targets = ", ".join(dict.fromkeys(key.target for key in keys))
            text = shortened(reason, _MAX_REASON, complete_in=HEADER_FILE)
            yield ListItem(text, f"{SYMBOLS[Verdict.INCONCLUSIVE]} {clauses} on {targets}")


def _column_name(target: str, listener: str) -> str:
    """Return the name of a column."""
    return target if listener == PLAINTEXT else f"{target} {listener}"
