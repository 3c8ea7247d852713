"""The verdicts in the terminal and as Markdown: a compact table, and the failures last."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from reports.recorder import Cell, CellKey, RunRecorder
from reports.records import Verdict
from reports.words import SYMBOLS, WORDS

LONGEST_BYTES = 48
FEW_TARGETS = 2
NARROWEST_TABLE = 100
BESIDE_SYMBOLS = 55
"""Characters that the columns of clause and level take."""
SYMBOL_COLUMN = 5
SHOWN_WITH_FAILURES = (
    Verdict.VIOLATES,
    Verdict.FLAKY,
    Verdict.KNOWN_VIOLATION,
    Verdict.INFORMATIONAL,
)


def printable(text: str) -> str:
    """Return a text with everything but printable characters and line ends escaped.

    Messages quote what a target sent; on a terminal a control character would act.
    """
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def cell_text(cell: Cell, *, with_word: bool) -> str:
    """Return a cell as symbol, word and, where it helps, a count."""
    verdict = cell.verdict
    text = SYMBOLS[verdict]
    if with_word:
        text += f" {WORDS[verdict]}"
    if verdict in (Verdict.VIOLATES, Verdict.FLAKY, Verdict.KNOWN_VIOLATION):
        text += f" {len(cell.failures)}"
    return text


def _columns(recorder: RunRecorder) -> list[tuple[str, str]]:
    return list(dict.fromkeys((key.target, key.listener) for key in recorder.cells))


def _column_name(target: str, listener: str) -> str:
    return target if listener == "plaintext" else f"{target} {listener}"


def verdict_table(recorder: RunRecorder, *, width: int) -> Iterator[str]:
    """Give the lines of a table of clauses by targets.

    Many targets are shown by symbol alone, below numbers, in as many tables as the width asks for.
    """
    columns = _columns(recorder)
    width = max(width, NARROWEST_TABLE)
    if len(columns) <= FEW_TARGETS:
        yield from _rendered(_table_with_words(recorder, columns), width)
    else:
        numbered = [(str(number), column) for number, column in enumerate(columns, 1)]
        at_once = (width - BESIDE_SYMBOLS) // SYMBOL_COLUMN
        for start in range(0, len(numbered), at_once):
            part = numbered[start : start + at_once]
            yield from _rendered(_table_of_symbols(recorder, part), width)
            yield ""
        for number, column in numbered:
            yield f"{number:>3} {_column_name(*column)}"
    yield ""
    counts = Counter(cell.verdict for cell in recorder.cells.values())
    yield ", ".join(
        f"{count} {SYMBOLS[verdict]} {WORDS[verdict]}" for verdict, count in counts.most_common()
    )


def _table_with_words(recorder: RunRecorder, columns: Sequence[tuple[str, str]]) -> Table:
    table = _empty_table(_column_name(*column) for column in columns)
    table.add_column("examples", justify="right")
    for clause, row in _rows(recorder, columns):
        examples = sum(cell.verdicts.total() for cell in row if cell is not None)
        table.add_row(*_row_texts(clause, row, with_word=True), str(examples))
    return table


def _table_of_symbols(
    recorder: RunRecorder, columns: Sequence[tuple[str, tuple[str, str]]]
) -> Table:
    table = _empty_table(number for number, _ in columns)
    for clause, row in _rows(recorder, [column for _, column in columns]):
        table.add_row(*_row_texts(clause, row, with_word=False))
    return table


def _empty_table(names: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("clause", "level", *names):
        table.add_column(name, no_wrap=True)
    return table


def _rows(
    recorder: RunRecorder, columns: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, list[Cell | None]]]:
    for clause in dict.fromkeys(key.clause for key in recorder.cells):
        yield clause, [recorder.cells.get(CellKey(clause, *column)) for column in columns]


def _row_texts(clause: str, row: Sequence[Cell | None], *, with_word: bool) -> list[str]:
    level = next((cell.level for cell in row if cell is not None), "")
    texts = ("" if cell is None else cell_text(cell, with_word=with_word) for cell in row)
    return [clause, level, *texts]


def _rendered(table: Table, width: int) -> Iterator[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    yield from (line.rstrip() for line in captured.get().splitlines())


def failure_lines(recorder: RunRecorder) -> Iterator[str]:
    """Give what failed or was not judged: clause, one sentence, the bytes, and how to show it again."""
    for line in _failure_lines(recorder):
        yield printable(line)


def _failure_lines(recorder: RunRecorder) -> Iterator[str]:
    for key, cell in recorder.cells.items():
        if cell.verdict in SHOWN_WITH_FAILURES:
            yield from _failures(recorder, key, cell)
        elif cell.verdict is Verdict.UNEXPECTED_PASS:
            yield ""
            yield f"{SYMBOLS[cell.verdict]} {key.clause} on {key.target}: declared as violated, but it holds"
            yield f"  declared because: {cell.planned.known_violation}"
    yield from _problems(recorder)


def _failures(recorder: RunRecorder, key: CellKey, cell: Cell) -> Iterator[str]:
    for failure in cell.failures.values():
        yield ""
        yield f"{SYMBOLS[cell.verdict]} {key.clause} on {key.target} ({key.listener}): {WORDS[cell.verdict]}"
        if cell.planned.known_violation:
            yield f"  known because: {cell.planned.known_violation}"
        yield f"  the clause: {failure.statement}"
        yield f"  seen: {failure.first_line}"
        if failure.repeats is not None:
            yield f"  repeated alone: {failure.repeats}"
        for step in failure.steps:
            for exchange in step.exchanges:
                sent, received = exchange.request.data.hex(), exchange.received.hex()
                yield f"  sent {_short(sent)}"
                yield f"  got  {_short(received) if received else exchange.outcome.value}"
        place = recorder.writer.folder / "failures" / failure.signature
        yield f"  again: python {place / 'reproducer.py'} HOST:PORT"


def _short(text: str) -> str:
    limit = 2 * LONGEST_BYTES
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) // 2} bytes)"


def _problems(recorder: RunRecorder) -> Iterator[str]:
    affected: dict[str, list[CellKey]] = {}
    for key, cell in recorder.cells.items():
        for problem in cell.problems:
            affected.setdefault(problem, []).append(key)
    for problem, keys in affected.items():
        yield ""
        yield f"{SYMBOLS[Verdict.INCONCLUSIVE]} {len(keys)} cells on {keys[0].target} are inconclusive:"
        yield f"  {problem}"
    for stale in recorder.stale_expectations:
        yield ""
        yield f"! stale expectation: {stale}"


def summary_markdown(recorder: RunRecorder) -> str:
    """Return the verdict table as Markdown."""
    columns = _columns(recorder)
    names = [_column_name(*column) for column in columns]
    lines = [
        f"# Run {recorder.writer.run_id}",
        "",
        "| clause | level | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for clause, row in _rows(recorder, columns):
        lines.append(f"| {' | '.join(_row_texts(clause, row, with_word=True))} |")
    return "\n".join(lines) + "\n"
