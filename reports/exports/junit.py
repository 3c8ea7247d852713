"""The grid as JUnit XML: one suite per listener of a target, one case per clause.

Failures are what fails a run: a violated MUST (or PIN, if it binds the target), and a declared violation that is gone.
Known violations, and those of a SHOULD or MAY, are skipped with their reason. Cells that could not be judged are
errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC
from pathlib import Path
from xml.etree import ElementTree as ET

from reports.escaping import one_line, xml_text
from reports.exports.issue_texts import first_line
from reports.exports.links import JUNIT
from reports.grid.grid_tables import Grid, GridCell, GridClause, GridTarget
from reports.grid.history_tables import KeptFailure
from reports.records import VIOLATED_VERDICTS, Verdict, gates
from reports.verdict_labels import CRASH_KINDS, CRASHES, WORDS

_FAILURE, _SKIPPED, _ERROR = "failure", "skipped", "error"
_ALWAYS = {
    Verdict.UNEXPECTED_PASS: _FAILURE,
    Verdict.KNOWN_VIOLATION: _SKIPPED,
    Verdict.NOT_APPLICABLE: _SKIPPED,
    Verdict.INCONCLUSIVE: _ERROR,
    Verdict.NOT_RUN: _ERROR,
}
_COUNTS = {_FAILURE: "failures", _ERROR: "errors", _SKIPPED: "skipped"}
_LONGEST_DETAIL = 4_000


def write_junit(grid: Grid, failures: Sequence[KeptFailure], out_dir: Path) -> None:
    """Write junit.xml."""
    root = junit_document(grid, failures)
    ET.indent(root, space="")
    ET.ElementTree(root).write(out_dir / JUNIT, encoding="utf-8", xml_declaration=True)


def junit_document(grid: Grid, failures: Iterable[KeptFailure]) -> ET.Element:
    """Return the document's root."""
    clauses = {clause.clause: clause for clause in grid.clauses}
    kept = {failure.signature: failure for failure in failures}
    cells: dict[tuple[str, str], list[GridCell]] = {}
    for cell in grid.cells:
        cells.setdefault((cell.target, cell.listener), []).append(cell)
    root = ET.Element("testsuites", name="Kafka conformance")
    totals: Counter[str] = Counter()
    for target in grid.targets:
        suite = _suite(target, cells.get((target.target, target.listener), []), clauses, kept)
        root.append(suite)
        totals.update({name: int(suite.get(name, "0")) for name in ("tests", *_COUNTS.values())})
    for name in ("tests", "failures", "errors"):
        root.set(name, str(totals[name]))
    return root


def _suite(
    target: GridTarget,
    cells: Sequence[GridCell],
    clauses: dict[str, GridClause],
    kept: dict[str, KeptFailure],
) -> ET.Element:
    suite = ET.Element("testsuite", name=xml_text(f"{target.target} {target.listener}"))
    results: Counter[str] = Counter()
    for cell in cells:
        result = result_of(cell.verdict, clauses[cell.clause].level)
        results[result] += 1
        suite.append(_case(cell, clauses[cell.clause], result, kept))
    suite.set("tests", str(len(cells)))
    for result, name in _COUNTS.items():
        suite.set(name, str(results[result]))
    started = target.started_at.replace(tzinfo=target.started_at.tzinfo or UTC)
    suite.set("timestamp", started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    # A cell has no time of its own: its properties run with those of other cells.
    suite.set("time", "0")
    return suite


def result_of(verdict: Verdict, level: str) -> str:
    """Return the name of the element for a case's result; empty for a case that passed."""
    if verdict in VIOLATED_VERDICTS:
        return _FAILURE if gates(level) else _SKIPPED
    return _ALWAYS.get(verdict, "")


def _case(
    cell: GridCell, clause: GridClause, result: str, kept: dict[str, KeptFailure]
) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=xml_text(f"{cell.target}.{cell.listener}"),
        name=xml_text(cell.clause),
        time="0",
    )
    seen = [kept[each.signature] for each in cell.failures if each.signature in kept]
    if result:
        element = ET.SubElement(case, result, message=_message(cell, clause, seen))
        if result != _SKIPPED:
            element.set("type", f"{clause.level} {cell.verdict.value}")
            element.text = xml_text(_detail(clause, seen))
    elif cell.verdict is Verdict.INFORMATIONAL:
        ET.SubElement(case, "system-out").text = _message(cell, clause, seen)
    return case


def _message(cell: GridCell, clause: GridClause, seen: Sequence[KeptFailure]) -> str:
    reason = _declared(cell, seen) or cell.why
    crashes = any(each.kind in CRASH_KINDS for each in seen)
    words = [
        CRASHES if crashes else WORDS[cell.verdict],
        reason or "; ".join(first_line(each) for each in seen[:3]),
    ]
    if cell.verdict in VIOLATED_VERDICTS and not gates(clause.level):
        words[0] = f"{words[0]}, but a violated {clause.level} does not fail a run"
    return one_line(": ".join(word for word in words if word))


def _declared(cell: GridCell, seen: Sequence[KeptFailure]) -> str:
    """Return the declarations that describe the failures of a known violation; its cell may have others."""
    if cell.verdict is not Verdict.KNOWN_VIOLATION:
        return ""
    return "; ".join(dict.fromkeys(each.known_violation for each in seen if each.known_violation))


def _detail(clause: GridClause, seen: Sequence[KeptFailure]) -> str:
    """Return the clause and the bytes of the first failure."""
    lines = [f"The clause: {clause.statement}", f"Why it matters: {clause.meaning}"]
    for failure in seen[:1]:
        dump = failure.hex_dump[:_LONGEST_DETAIL]
        cut = "\n(cut)" if len(dump) < len(failure.hex_dump) else ""
        lines += [f"Seen: {failure.message[:_LONGEST_DETAIL]}", f"{dump}{cut}"]
    return "\n".join(lines)
