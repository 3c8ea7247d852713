"""The verdicts of a run as a compact terminal table, readable in 80 columns.

The table uses the page's words.

`terminal_failures` has what is above the table. What conforms or does not apply is only counted, unless all is asked
for.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from reference_model.profiles.listeners import CONTROLLER_LISTENERS
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import WITHOUT_FINDING, FoldedCell, FoldedGrid, verdict_text
from reports.records import UNSETTLED_VERDICTS, WORST_FIRST, Verdict
from reports.run.last_line import last_line
from reports.run.live_grid import recorded_grid
from reports.run.recorder import RunRecorder, client_of, vacuous_clients
from reports.run.run_writer import ADDRESS
from reports.run.terminal_lines import MARKUP, Line
from reports.wording.escaping import printable
from reports.wording.verdict_labels import SYMBOLS

OF_A_CONTROLLER = (
    "it lists APIs between controllers and none for clients. It is judged as one: clauses about brokers alone are left "
    "out, and ids are those of the controller. Give the address of a broker's listener to judge a broker."
)
WIDTH_BESIDE_VERDICTS = 51
"""Width in characters of the clause and level columns, for ids as long as those of our catalogue."""
MAX_VERDICT_WIDTH = 14
MAX_UNSETTLED = 10
"""How many clauses that could not be judged have rows of their own, unless all is asked for."""


def verdict_table(
    recorder: RunRecorder,
    *,
    width: int,
    complete: bool = False,
    status: int = 0,
    reason: str = "",
) -> Iterator[Line]:
    """Yield the lines of a table of clauses by targets, the counts per verdict, and the page's sentence.

    A target's listeners share a column, which shows the worst verdict. A single target also has a symbol for each
    listener. If the targets do not fit side by side, each has a line of counts, and a table of symbols below.

    Args:
        recorder: has the cells.
        width: columns of the terminal.
        complete: whether clauses that every target keeps, or that apply to none, have a row as well.
        status: the exit status of the run.
        reason: why it is not 0, as `exit_status.reason_of` returns it.
    """
    folded = FoldedGrid(recorded_grid(recorder))
    names = [column.target for column in folded.columns]
    shown = folded.cells if complete else _noted(folded)
    yield Line("")
    if len(names) == 1:
        yield from _one_target(folded, shown, width)
    elif WIDTH_BESIDE_VERDICTS + sum(max(len(name), MAX_VERDICT_WIDTH) + 1 for name in names) <= width:
        yield from _few_targets(folded, shown, names, width)
    else:
        yield from _many_targets(folded, shown, names, width)
    if shown:
        yield Line("")
    yield from _role_lines(recorder, folded)
    counts = Counter(cell.verdict for cells in folded.cells.values() for cell in cells)
    yield Line(
        ", ".join(
            f"{counts[each]} {verdict_text(each, role=recorder.role)}" for each in reversed(WORST_FIRST) if counts[each]
        )
    )
    if not recorder.clause_set.is_next:
        yield Line(f"Judged by set {recorder.clause_set.name} of clauses; what is newer fails nothing.")
    vacuous = vacuous_clients(recorder)
    for sentence in vacuous.values():
        yield Line(sentence, MARKUP[Verdict.NOT_RUN])
    if len(vacuous) < len({client_of(recorder.role, key) or key.target for key in recorder.cells}):
        text, verdict = last_line(summarise(folded, Path()), status, reason)
        yield Line(printable(text), MARKUP.get(verdict, {}))


def _noted(folded: FoldedGrid) -> Mapping[str, Sequence[FoldedCell]]:
    """Return the rows of clauses that some target does not plainly keep.

    If many could not be judged, for one reason as a rule, the findings say it without a row for each.
    """
    noted = {clause: cells for clause, cells in folded.cells.items() if _worst(cells) not in WITHOUT_FINDING}
    judged = {clause: cells for clause, cells in noted.items() if _worst(cells) not in UNSETTLED_VERDICTS}
    return noted if len(noted) - len(judged) <= MAX_UNSETTLED else judged


def _role_lines(recorder: RunRecorder, folded: FoldedGrid) -> Iterator[Line]:
    """Yield what follows from the role of an address that was given, if that is not a broker's."""
    for column in folded.columns:
        facts = recorder.targets.get(column.target)
        listeners = [entry.listener for entry in column.listeners]
        if facts is not None and facts.launcher == ADDRESS and set(listeners) <= {*CONTROLLER_LISTENERS}:
            yield Line(f"{printable(column.target)} is a KRaft controller: {OF_A_CONTROLLER}")


_Rows = Mapping[str, Sequence[FoldedCell]]


def _one_target(folded: FoldedGrid, shown: _Rows, width: int) -> Iterator[Line]:
    (column,) = folded.columns
    listeners = [entry.listener for entry in column.listeners]
    several = len(listeners) > 1
    numbers = "".join(str(number) for number in range(1, len(listeners) + 1))
    yield Line(printable(column.target), {"bold": True})
    if not shown:
        return
    if several:
        # Without commas, six of them fit into 80 columns.
        yield Line(" ".join(f"{number} {name}" for number, name in enumerate(listeners, 1)))
    yield Line("")
    table = _empty_table(["verdict", *([numbers] if several else []), "examples"])
    table.columns[-1].justify = "right"
    rows = []
    for clause, (cell,) in shown.items():
        symbols = "".join(SYMBOLS[each.verdict] for each in cell.listeners)
        texts = [
            cell.worst.text,
            *([symbols] if several else []),
        ]
        rows.append((clause, [*texts, str(cell.examples)], cell.verdict))
    yield from _table_lines(folded, table, rows, width)


def _few_targets(folded: FoldedGrid, shown: _Rows, names: Sequence[str], width: int) -> Iterator[Line]:
    rows = [
        (
            clause,
            [cell.worst.text for cell in cells],
            _worst(cells),
        )
        for clause, cells in shown.items()
    ]
    yield from _table_lines(folded, _empty_table(names), rows, width)


def _many_targets(folded: FoldedGrid, shown: _Rows, names: Sequence[str], width: int) -> Iterator[Line]:
    for index, name in enumerate(names):
        counts = Counter(cells[index].verdict for cells in folded.cells.values())
        summary = "  ".join(f"{counts[each]} {SYMBOLS[each]}" for each in WORST_FIRST if counts[each])
        worst = next((each for each in WORST_FIRST if counts[each]), Verdict.NOT_RUN)
        yield Line(f"{index + 1:>3} {printable(name):<30} {summary}", MARKUP.get(worst, {}))
    if shown:
        digits = len(str(len(names)))
        at_once = max(1, (max(width, 80) - WIDTH_BESIDE_VERDICTS) // (digits + 1))
        for start in range(0, len(names), at_once):
            yield Line("")
            table = _empty_table(str(start + offset + 1) for offset in range(len(names[start : start + at_once])))
            rows = [
                (
                    clause,
                    [SYMBOLS[cell.verdict] for cell in cells[start : start + at_once]],
                    _worst(cells),
                )
                for clause, cells in shown.items()
            ]
            yield from _table_lines(folded, table, rows, max(width, 80))


def _worst(cells: Sequence[FoldedCell]) -> Verdict:
    return min((cell.verdict for cell in cells), key=WORST_FIRST.index)


def _empty_table(names: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, collapse_padding=True)
    table.add_column("clause", overflow="fold")
    table.add_column("level", no_wrap=True)
    for name in names:
        table.add_column(printable(name), no_wrap=True)
    return table


def _table_lines(
    folded: FoldedGrid,
    table: Table,
    rows: Iterable[tuple[str, Sequence[str], Verdict]],
    width: int,
) -> Iterator[Line]:
    """Render a table; each line has the colour of its row's worst verdict."""
    levels = {clause.clause: clause.level for clause in folded.grid.clauses}
    markup: dict[str, Mapping[str, bool]] = {}
    for clause, texts, worst in rows:
        table.add_row(clause, levels[clause], *texts)
        markup[clause] = {} if worst in WITHOUT_FINDING else MARKUP.get(worst, {})
    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        yield Line(line.rstrip(), markup.get(line.partition(" ")[0], {}))
