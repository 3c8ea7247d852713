"""What failed or was not judged, for the end of a run, the gravest first.

Each failure has its clause, statement, bytes and command.

Equal failures on several listeners of a target are shown once. Everything that a target sent is escaped, and long
texts are shortened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clauses.catalogue import Level, Role
from clauses.clause_sets import says_not_asked
from reports.grid.bugs import client_cause
from reports.records import (
    FACTS_FILE,
    HEADER_FILE,
    OPERATION,
    VERDICTS_WITH_FAILURES,
    WORST_FIRST,
    Verdict,
)
from reports.repeats import ShownBy
from reports.run.failures import Failure
from reports.run.recorder import Cell, RunRecorder
from reports.run.replay_command import replay_command
from reports.run.run_writer import ADDRESS
from reports.run.terminal_lines import MARKUP, Line, rows_of, shortened
from reports.wording.escaping import printable
from reports.wording.verdict_labels import CRASHES, SYMBOLS, WORDS, counted, doubts_in, some_of

MAX_SHOWN = 60
"""Maximum number of failures shown per verdict: a target that violates everything must not fill the scrollback."""
MAX_ROWS = 12
"""Maximum number of terminal rows per failure, unless the path of its records is extremely long."""
MAX_NOTES = 3
"""Maximum number of notes shown, unless all is asked for: nothing about them is wrong, and they must not hide what
is."""
LEVELS = (Level.MUST, Level.SHOULD, Level.PIN, Level.MAY)
"""The levels of clauses, the gravest first."""
PARTLY = "◐"
"""Stands before what is judged only partly. It is no verdict: what was judged has one of its own."""
MAX_EXCHANGES = 3
"""Maximum number of exchanges shown per failure, if there are rows left for them."""
ROWS_OF_TEXT = 2
"""Maximum number of rows for one text of a failure, such as its message."""
MAX_LINES_OF_PROBLEM = 7
_BESIDE_BYTES = 22
_MIN_BYTES = 16


@dataclass(slots=True)
class _ShownFailure:
    """Failures that are shown as one: the first failure, and all listeners.

    The failures of a target differ only in their listener. The failures of a client have one cause.

    `further` has the clauses of the others, in their order.
    """

    cell: Cell
    failure: Failure
    listeners: list[str]
    further: list[str] = field(default_factory=list)


def failure_lines(recorder: RunRecorder, *, width: int = 80, complete: bool = False) -> Iterator[Line]:
    """Yield the lines, from the most important to the least important.

    Args:
        recorder: has the cells.
        width: columns of the terminal.
        complete: whether they also show every note in full, why cells do not apply, and what is left out of cells that
            conform.
    """
    for verdict in WORST_FIRST:
        if verdict is Verdict.INCONCLUSIVE:
            yield from _problems(recorder, width)
            yield from _without_proof(recorder, width)
        elif verdict is Verdict.UNEXPECTED_PASS:
            yield from _unexpected_passes(recorder, width)
        elif verdict is Verdict.INFORMATIONAL and recorder.role == OPERATION:
            what = "{} that the release does not support"
            yield from _notes(recorder, width, counted_as="operation", what=what, most=MAX_SHOWN)
        elif verdict is Verdict.INFORMATIONAL and not complete:
            yield from _failures(recorder, verdict, width, only_crashes=True)
            what = "{} that no source calls wrong (-v shows the bytes)"
            yield from _notes(recorder, width, counted_as="note", what=what, most=MAX_NOTES)
        elif verdict in VERDICTS_WITH_FAILURES:
            yield from _failures(recorder, verdict, width)
    for stale in recorder.stale_expectations:
        yield from _block(f"! stale expectation: {stale}", [], Verdict.UNEXPECTED_PASS)
    yield from _newer(recorder, width)
    yield from _reasons(recorder, Verdict.NOT_RUN, "not run", width)
    yield from _left_out(recorder, width, complete=complete)
    if complete:
        yield from _reasons(recorder, Verdict.NOT_APPLICABLE, "not applicable", width)


def _block(head: str, lines: Sequence[str], verdict: Verdict) -> Iterator[Line]:
    yield Line("")
    yield Line(printable(head), MARKUP.get(verdict, {}))
    for line in lines:
        yield Line(printable(line))


def _failures(recorder: RunRecorder, verdict: Verdict, width: int, *, only_crashes: bool = False) -> Iterator[Line]:
    shown = [each for each in _alike(recorder, verdict) if each.failure.is_crash or not only_crashes]
    for each in shown[:MAX_SHOWN]:
        failure = each.failure
        head = (
            f"{SYMBOLS[verdict]} {failure.clause} on {failure.target} "
            f"({', '.join(each.listeners)}): {CRASHES if failure.is_crash else WORDS[verdict]}"
        )
        yield from _block(head, _lines_of(recorder, each, head, width), verdict)
    if len(shown) > MAX_SHOWN:
        words = f"{SYMBOLS[verdict]} {len(shown) - MAX_SHOWN} more with the verdict {WORDS[verdict]!r}"
        yield from _block(f"{words}: see {recorder.writer.folder / 'failures'}", [], verdict)


def _notes(recorder: RunRecorder, width: int, *, counted_as: str, what: str, most: int) -> Iterator[Line]:
    """Yield a heading and one line for each note.

    An example is an operation that a release is too old for. There may be hundreds of notes, and nothing is wrong.
    """
    shown = [each for each in _alike(recorder, Verdict.INFORMATIONAL) if not each.failure.is_crash]
    lines = [
        shortened(
            f"  {each.failure.clause} on {each.failure.target}: {each.failure.first_line}",
            ROWS_OF_TEXT * width,
            complete_in=FACTS_FILE,
        )
        for each in shown[:most]
    ]
    if len(shown) > most:
        lines.append(f"  and {len(shown) - most} more: see {recorder.writer.folder / 'failures'}")
    if shown:
        head = f"{SYMBOLS[Verdict.INFORMATIONAL]} {what.format(counted(len(shown), counted_as))}:"
        yield from _block(head, lines, Verdict.INFORMATIONAL)


def _newer(recorder: RunRecorder, width: int) -> Iterator[Line]:
    """Yield what differs in something newer than the run's set of clauses, a line for each failure."""
    lines = [
        shortened(
            f"  {key.clause} on {key.target} ({key.listener}): {seen}", ROWS_OF_TEXT * width, complete_in="failures/"
        )
        for key, cell in recorder.cells.items()
        if cell.is_newer
        for seen in [failure.first_line for failure in cell.failures.values()] or [cell.planned.reason]
    ]
    if lines:
        name = recorder.clause_set.name
        head = f"{SYMBOLS[Verdict.INFORMATIONAL]} newer than set {name} of clauses, fails nothing:"
        more = [f"  and {len(lines) - MAX_SHOWN} more: see failures/"] if len(lines) > MAX_SHOWN else []
        yield from _block(head, [*lines[:MAX_SHOWN], *more], Verdict.INFORMATIONAL)


def _alike(recorder: RunRecorder, verdict: Verdict) -> list[_ShownFailure]:
    groups: dict[tuple[str, str, str, str], _ShownFailure] = {}
    for key, cell in recorder.cells.items():
        for failure in cell.failures.values():
            if cell.verdict_of(failure) is not verdict or cell.is_newer:
                continue
            same = (key.clause, key.target, failure.property_name, failure.first_line)
            if failure.role == Role.CLIENT:
                # A script decides how its broker behaves, so one cause shows in many of them.
                same = ("", key.target, *client_cause(failure.first_line, key.clause))
            alike = groups.setdefault(same, _ShownFailure(cell, failure, []))
            if failure is not alike.failure and failure.role == Role.CLIENT:
                alike.further.append(key.clause)
            else:
                alike.listeners.append(key.listener)
    return sorted(groups.values(), key=lambda each: LEVELS.index(each.cell.level))


def _lines_of(recorder: RunRecorder, shown: _ShownFailure, head: str, width: int) -> list[str]:
    failure = shown.failure
    texts = {
        "known because": failure.known_violation,
        "the clause": failure.statement,
        "seen": failure.first_line,
        "shown by": "time alone" if failure.evidence is ShownBy.TIME else "",
        "but": "; ".join(doubts_in(failure.message)),
        "repeated": "" if failure.repeats is None else str(failure.repeats),
    }
    lines = [
        shortened(f"  {name}: {text}", ROWS_OF_TEXT * width, complete_in=FACTS_FILE)
        for name, text in texts.items()
        if text or name == "seen"
    ]
    if shown.further:
        clauses = ", ".join(dict.fromkeys(shown.further))
        also = f"  {counted(len(shown.further), 'further failure')} like it, of {clauses}"
        lines.append(shortened(also, ROWS_OF_TEXT * width, complete_in="failures/"))
    again = f"  again: {_command(recorder, failure)}"
    rows_left = MAX_ROWS - sum(rows_of(line, width) for line in (head, *lines, again))
    return [*lines, *_exchange_lines(failure, rows_left, width), again]


def _exchange_lines(failure: Failure, rows_left: int, width: int) -> Iterator[str]:
    """Give the last exchanges, two lines each, as far as there is room, and how many there are before them."""
    exchanges = [exchange for step in failure.steps for exchange in step.exchanges]
    shown = min(len(exchanges), MAX_EXCHANGES)
    if 2 * shown + (len(exchanges) > shown) > rows_left:
        shown = max(0, rows_left - 1) // 2
    if len(exchanges) > shown:
        where = " before these" if shown else ""
        yield f"  {counted(len(exchanges) - shown, 'exchange')}{where}: see exchange.txt"
    most_bytes = max(_MIN_BYTES, (width - _BESIDE_BYTES) // 2)
    for exchange in exchanges[len(exchanges) - shown :]:
        received = exchange.received
        yield f"  sent {_short(exchange.request.data, most_bytes)}"
        yield f"  got  {_short(received, most_bytes) if received else exchange.outcome.value}"


def _short(data: bytes, most_bytes: int) -> str:
    if len(data) <= most_bytes:
        return data.hex()
    return f"{data[:most_bytes].hex()}... ({len(data)} bytes)"


def _command(recorder: RunRecorder, failure: Failure) -> str:
    """Return the command that judges it again; the stored script would need a broker that already runs."""
    folder = recorder.writer.folder / "failures" / failure.signature
    origin = dict(failure.origin)
    started = recorder.targets.get(failure.target)
    if started is not None and started.launcher == ADDRESS:
        origin.setdefault("addresses", failure.target)
    facts = {"origin": origin, "client_command": failure.client_command}
    return replay_command(str(folder), facts, recorder.options_of_replay)


def _unexpected_passes(recorder: RunRecorder, width: int) -> Iterator[Line]:
    gone: dict[tuple[str, str, str], None] = {}
    for key, cell in recorder.cells.items():
        if cell.verdict is Verdict.UNEXPECTED_PASS:
            gone[key.clause, key.target, cell.planned.known_violation] = None
    for clause, target, reason in gone:
        head = f"{SYMBOLS[Verdict.UNEXPECTED_PASS]} {clause} on {target}: declared as violated, but not violated"
        declared = f"  declared because: {reason}"
        line = shortened(declared, ROWS_OF_TEXT * width, complete_in=HEADER_FILE)
        yield from _block(head, [line], Verdict.UNEXPECTED_PASS)


def _problems(recorder: RunRecorder, width: int) -> Iterator[Line]:
    for problem, affected in recorder.problems.items():
        # Where another property has found something worse, it is no more than a part that is missing.
        in_doubt = [key for key in affected if recorder.cells[key].verdict is Verdict.INCONCLUSIVE]
        keys, what = (in_doubt, "inconclusive") if in_doubt else (affected, "judged only partly")
        targets = list(dict.fromkeys(key.target for key in keys))
        more = f" and {len(targets) - 1} more targets" if len(targets) > 1 else ""
        head = f"{SYMBOLS[Verdict.INCONCLUSIVE]} {counted(len(keys), 'cell')} on {targets[0]}{more} {what}:"
        clauses = list(dict.fromkeys(key.clause for key in keys))
        lines = [*_problem_lines(problem, width), f"  clauses: {_as_many_as_fit(clauses, width)}"]
        yield from _block(head, lines, Verdict.INCONCLUSIVE)


def _without_proof(recorder: RunRecorder, width: int) -> Iterator[Line]:
    """Name the failures next to others of their cell whose repeats leave open whether the target is at fault."""
    lines_by_target: dict[str, dict[str, None]] = {}
    for key, cell in recorder.cells.items():
        for failure in cell.violations:
            if failure.repeats is None or not failure.repeats.leaves_open or cell.planned.unproven:
                continue
            text = f"  {key.clause}: {failure.first_line}: {failure.repeats.leaves_open}"
            line = shortened(text, ROWS_OF_TEXT * width, complete_in="failures/")
            lines_by_target.setdefault(key.target, {}).setdefault(line)
    for target, lines in lines_by_target.items():
        head = f"{SYMBOLS[Verdict.INCONCLUSIVE]} {counted(len(lines), 'failure')} on {target} that proved nothing:"
        yield from _block(head, list(lines)[:MAX_SHOWN], Verdict.INCONCLUSIVE)


def _problem_lines(problem: str, width: int) -> Iterator[str]:
    first, *others = problem.split("\n")
    yield shortened(f"  {first}", ROWS_OF_TEXT * width, complete_in=HEADER_FILE)
    for line in others[: MAX_LINES_OF_PROBLEM - 1]:
        yield shortened(f"  {line}", width, complete_in=HEADER_FILE)
    if len(others) >= MAX_LINES_OF_PROBLEM:
        yield "  … (complete in run.json)"


def _as_many_as_fit(names: Sequence[str], width: int) -> str:
    """Join names, and count those that do not fit into `ROWS_OF_TEXT` rows."""
    room = ROWS_OF_TEXT * width - len("  clauses:  and 999 more")
    fitting = [
        name
        for count, name in enumerate(names, start=1)
        if count == 1 or sum(len(each) + 2 for each in names[:count]) <= room
    ]
    return some_of(names, len(fitting))


def _reasons(recorder: RunRecorder, verdict: Verdict, words: str, width: int) -> Iterator[Line]:
    """Yield each reason why cells of a target are not judged, once for all of them."""
    reasons: Counter[tuple[str, str]] = Counter(
        (key.target, cell.planned.reason)
        for key, cell in recorder.cells.items()
        if cell.verdict is verdict and cell.planned.reason
    )
    for (target, reason), count in reasons.items():
        head = f"{SYMBOLS[verdict]} {counted(count, 'cell')} on {target} {words}:"
        yield from _block(head, list(_problem_lines(reason, width)), verdict)


def _left_out(recorder: RunRecorder, width: int, *, complete: bool) -> Iterator[Line]:
    """Yield the lines about cells that apply but are judged only in part; those that conform are one line."""
    reasons: dict[tuple[str, str, Verdict], dict[str, list[str]]] = {}
    for key, cell in recorder.cells.items():
        is_judged = cell.verdict is not Verdict.NOT_RUN
        if is_judged and cell.planned.applicable and cell.planned.reason and not says_not_asked(cell.planned.reason):
            of_target = reasons.setdefault((key.clause, key.target, cell.verdict), {})
            of_target.setdefault(cell.planned.reason, []).append(key.listener)
    folded: Counter[str] = Counter()
    for (clause, target, verdict), listeners in reasons.items():
        if verdict is Verdict.CONFORMS and not complete:
            folded[target] += 1
            continue
        names = ", ".join(name for each in listeners.values() for name in each)
        head = f"{PARTLY} {clause} on {target} ({names}) is judged only partly:"
        lines = (
            f"{', '.join(where)}: {reason}" if len(listeners) > 1 else reason for reason, where in listeners.items()
        )
        shown = [shortened(f"  {line}", ROWS_OF_TEXT * width, complete_in=HEADER_FILE) for line in lines]
        yield from _block(head, shown, Verdict.NOT_APPLICABLE)
    for target, number in folded.items():
        clauses = "1 clause is" if number == 1 else f"{number} clauses are"
        head = f"{PARTLY} {clauses} judged only partly on {target}: -v says why"
        yield from _block(head, [], Verdict.NOT_APPLICABLE)
