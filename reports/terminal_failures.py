"""What failed or was not judged, for the end of a run: the gravest last, with clause, statement, bytes and command.

Equal failures on several listeners of a target are shown once. Everything that a target sent is escaped.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.failures import Failure
from reports.grid_view import WORST_FIRST
from reports.recorder import Cell, CellKey, RunRecorder
from reports.records import Verdict
from reports.terminal import MARKUP, Line, printable
from reports.words import CRASHES, SYMBOLS, WORDS, counted

MOST_TOLD = 60
"""Maximum number of failures shown per verdict: a target that violates everything must not fill the scrollback."""
MOST_EXCHANGES = 3
"""Maximum number of exchanges shown per failure, so that a failure takes at most twelve lines."""
ADDRESS = "address"
"""The launcher of a target that the suite did not start: it can be judged again only at its address."""
_BESIDE_BYTES = 22
_FEWEST_BYTES = 16
_WITH_FAILURES = (
    *(Verdict.VIOLATES, Verdict.FLAKY),
    *(Verdict.KNOWN_VIOLATION, Verdict.INFORMATIONAL),
)


@dataclass(slots=True)
class _Told:
    """Failures of one target that differ only in their listener: the first failure, and all listeners."""

    cell: Cell
    failure: Failure
    listeners: list[str]


def failure_lines(recorder: RunRecorder, *, width: int = 80) -> Iterator[Line]:
    """Yield the lines, from the least important to the most important."""
    yield from _left_out(recorder)
    for stale in recorder.stale_expectations:
        yield from _block(f"! stale expectation: {stale}", [], Verdict.UNEXPECTED_PASS)
    for verdict in reversed(WORST_FIRST):
        if verdict is Verdict.INCONCLUSIVE:
            yield from _problems(recorder)
        elif verdict is Verdict.UNEXPECTED_PASS:
            yield from _unexpected_passes(recorder)
        elif verdict in _WITH_FAILURES:
            yield from _failures(recorder, verdict, width)


def _block(head: str, lines: Sequence[str], verdict: Verdict) -> Iterator[Line]:
    yield Line("")
    yield Line(printable(head), MARKUP.get(verdict, {}))
    for line in lines:
        yield Line(printable(line))


def _failures(recorder: RunRecorder, verdict: Verdict, width: int) -> Iterator[Line]:
    told = _alike(recorder, verdict)
    for each in told[:MOST_TOLD]:
        failure = each.failure
        head = (
            f"{SYMBOLS[verdict]} {failure.clause} on {failure.target} "
            f"({', '.join(each.listeners)}): {CRASHES if failure.is_crash else WORDS[verdict]}"
        )
        yield from _block(head, list(_told_lines(recorder, each, width)), verdict)
    if len(told) > MOST_TOLD:
        words = f"{SYMBOLS[verdict]} {len(told) - MOST_TOLD} more of the kind {WORDS[verdict]!r}"
        yield from _block(f"{words}: see {recorder.writer.folder / 'failures'}", [], verdict)


def _alike(recorder: RunRecorder, verdict: Verdict) -> list[_Told]:
    told: dict[tuple[str, str, str, str], _Told] = {}
    for key, cell in recorder.cells.items():
        for failure in cell.failures.values():
            if cell.verdict_of(failure) is not verdict:
                continue
            same = (key.clause, key.target, failure.property_name, failure.first_line)
            listeners = told.setdefault(same, _Told(cell, failure, [])).listeners
            listeners.append(key.listener)
    return list(told.values())


def _told_lines(recorder: RunRecorder, told: _Told, width: int) -> Iterator[str]:
    failure = told.failure
    if failure.known_violation:
        yield f"  known because: {failure.known_violation}"
    yield f"  the clause: {failure.statement}"
    yield f"  seen: {failure.first_line}"
    if failure.repeats is not None:
        yield f"  repeated alone: {failure.repeats}"
    most_bytes = max(_FEWEST_BYTES, (width - _BESIDE_BYTES) // 2)
    exchanges = [exchange for step in failure.steps for exchange in step.exchanges]
    if len(exchanges) > MOST_EXCHANGES:
        yield f"  {counted(len(exchanges) - MOST_EXCHANGES, 'exchange')} before these: see exchange.txt"
    for exchange in exchanges[-MOST_EXCHANGES:]:
        received = exchange.received
        yield f"  sent {_short(exchange.request.data, most_bytes)}"
        yield f"  got  {_short(received, most_bytes) if received else exchange.outcome.value}"
    yield f"  again: {_command(recorder, failure)}"


def _short(data: bytes, most_bytes: int) -> str:
    if len(data) <= most_bytes:
        return data.hex()
    return f"{data[:most_bytes].hex()}... ({len(data)} bytes)"


def _command(recorder: RunRecorder, failure: Failure) -> str:
    """Return the command that judges it again; the stored script would need a broker that already runs."""
    place = recorder.writer.folder / "failures" / failure.signature
    words = ["kafka-conformance", "replay", str(place)]
    facts = recorder.targets.get(failure.target)
    if facts is not None and facts.launcher == ADDRESS:
        words += ["--bootstrap-server", failure.target]
    return shlex.join(words)


def _unexpected_passes(recorder: RunRecorder) -> Iterator[Line]:
    gone: dict[tuple[str, str, str], None] = {}
    for key, cell in recorder.cells.items():
        if cell.verdict is Verdict.UNEXPECTED_PASS:
            gone[key.clause, key.target, cell.planned.known_violation] = None
    for clause, target, reason in gone:
        head = f"{SYMBOLS[Verdict.UNEXPECTED_PASS]} {clause} on {target}: declared as violated, but it holds"
        yield from _block(head, [f"  declared because: {reason}"], Verdict.UNEXPECTED_PASS)


def _problems(recorder: RunRecorder) -> Iterator[Line]:
    affected: dict[str, list[CellKey]] = {}
    for key, cell in recorder.cells.items():
        for problem in cell.problems:
            affected.setdefault(problem, []).append(key)
    for problem, keys in affected.items():
        targets = list(dict.fromkeys(key.target for key in keys))
        more = f" and {len(targets) - 1} more targets" if len(targets) > 1 else ""
        head = f"{SYMBOLS[Verdict.INCONCLUSIVE]} {len(keys)} cells on {targets[0]}{more} are inconclusive:"
        yield from _block(head, [f"  {problem}"], Verdict.INCONCLUSIVE)


def _left_out(recorder: RunRecorder) -> Iterator[Line]:
    """Yield the lines about cells that apply but are judged only in part."""
    listeners: dict[tuple[str, str, str, Verdict], list[str]] = {}
    for key, cell in recorder.cells.items():
        if cell.planned.applicable and cell.planned.reason:
            same = (key.clause, key.target, cell.planned.reason, cell.verdict)
            listeners.setdefault(same, []).append(key.listener)
    for (clause, target, reason, verdict), where in listeners.items():
        head = f"{SYMBOLS[verdict]} {clause} on {target} ({', '.join(where)}) is judged without:"
        yield from _block(head, [f"  {reason}"], verdict)
