"""The grid as JUnit XML, which CI servers show.

It has one suite per product, one case per clause and listener, or per operation and release. A case has the share of
its run's time that its examples have of the run's examples: properties run together, so a time of its own does not
exist. Cells that no run asked for are left out. Failures are what fails a run: a violated MUST (or PIN, if it binds the
target), and a declared violation that is gone. Known violations, and those of a SHOULD or MAY, are skipped with their
reason. Cells that could not be judged are errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from reports.exports.issues import first_line
from reports.grid.addresses import JUNIT
from reports.grid.grid_tables import Grid
from reports.grid.products import OwnCell, Product
from reports.records import (
    VIOLATED_VERDICTS,
    Verdict,
    gates,
)
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.failure_rows import KeptFailure
from reports.wording.escaping import one_line, xml_text
from reports.wording.verdict_labels import CRASH_KINDS, CRASHES, verdict_word

_FAILURE, _SKIPPED, _ERROR = "failure", "skipped", "error"
_ALWAYS = {
    Verdict.UNEXPECTED_PASS: _FAILURE,
    Verdict.KNOWN_VIOLATION: _SKIPPED,
    Verdict.NOT_APPLICABLE: _SKIPPED,
    Verdict.INCONCLUSIVE: _ERROR,
    Verdict.NOT_RUN: _ERROR,
}
_COUNTS = {_FAILURE: "failures", _ERROR: "errors", _SKIPPED: "skipped"}
_MAX_DETAIL = 4_000


def write_junit(grid: Grid, products: Sequence[Product], failures: Iterable[KeptFailure], out_dir: Path) -> None:
    """Write junit.xml."""
    (out_dir / JUNIT).write_text(junit_text(grid, products, failures), encoding="utf-8")


def junit_text(grid: Grid, products: Sequence[Product], failures: Iterable[KeptFailure]) -> str:
    """Return the document as text."""
    root = junit_document(grid, products, failures)
    ET.indent(root, space="")
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text.decode()


def junit_document(grid: Grid, products: Sequence[Product], failures: Iterable[KeptFailure]) -> ET.Element:
    """Return the document's root."""
    kept = {failure.signature: failure for failure in failures}
    seconds = _seconds_per_example(grid)
    started = {run.run_id: run.started_at for run in grid.runs}
    root = ET.Element("testsuites", name="Kafka conformance")
    totals: Counter[str] = Counter()
    for product in products:
        suite = _suite(product, seconds, started, kept)
        root.append(suite)
        totals.update({name: int(suite.get(name, "0")) for name in ("tests", *_COUNTS.values())})
    for name in ("tests", "failures", "errors"):
        root.set(name, str(totals[name]))
    return root


def _seconds_per_example(grid: Grid) -> Mapping[str, float]:
    """Return how long an example of each run took on average, with everything that the run did meanwhile."""
    examples: Counter[str] = Counter()
    for cell in grid.cells:
        examples[cell.run_id] += cell.examples
    return {
        run.run_id: (run.finished_at - run.started_at).total_seconds() / examples[run.run_id]
        for run in grid.runs
        if examples[run.run_id]
    }


def _suite(
    product: Product,
    seconds: Mapping[str, float],
    started: Mapping[str, datetime],
    kept: Mapping[str, KeptFailure],
) -> ET.Element:
    suite = ET.Element("testsuite", name=xml_text(product.name))
    results: Counter[str] = Counter()
    runs = set()
    total_s = 0.0
    for own in product.cells:
        for row in [each.row for each in own.cell.listeners if each.row is not None]:
            result = result_of(row.verdict, own.clause.level)
            case_s = seconds.get(row.run_id, 0.0) * row.examples
            results[result] += 1
            total_s += case_s
            runs.add(row.run_id)
            suite.append(_case(row, own, result, kept, case_s))
    suite.set("tests", str(len(suite)))
    for result, name in _COUNTS.items():
        suite.set(name, str(results[result]))
    began = min((started[run] for run in runs if run in started), default=None)
    if began is not None:
        suite.set("timestamp", began.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    suite.set("time", f"{total_s:.3f}")
    return suite


def result_of(verdict: Verdict, level: str) -> str:
    """Return the name of the element for a case's result; empty for a case that passed."""
    if verdict in VIOLATED_VERDICTS:
        return _FAILURE if gates(level) else _SKIPPED
    return _ALWAYS.get(verdict, "")


def _case(cell: GridCell, own: OwnCell, result: str, kept: Mapping[str, KeptFailure], seconds: float) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=xml_text(f"{cell.target}.{cell.listener}"),
        name=xml_text(cell.clause),
        time=f"{seconds:.3f}",
    )
    clause = own.clause
    seen = [kept[each.signature] for each in cell.failures if each.signature in kept]
    if result:
        element = ET.SubElement(case, result, message=_message(cell, own, seen))
        if result != _SKIPPED:
            element.set("type", f"{clause.level} {cell.verdict.value}")
            element.text = xml_text(_detail(clause, seen))
    elif cell.verdict is Verdict.INFORMATIONAL:
        ET.SubElement(case, "system-out").text = _message(cell, own, seen)
    return case


def _message(cell: GridCell, own: OwnCell, seen: Sequence[KeptFailure]) -> str:
    reason = _declared(cell, seen) or cell.why
    if cell.is_newer:
        reason = "; ".join([reason, *(first_line(each) for each in seen[:3])])
    crashes = any(each.kind in CRASH_KINDS for each in seen)
    words = [
        CRASHES if crashes else verdict_word(cell.verdict, own.role),
        reason or "; ".join(first_line(each) for each in seen[:3]),
    ]
    if cell.verdict in VIOLATED_VERDICTS and not gates(own.clause.level):
        words[0] = f"{words[0]}, but a violated {own.clause.level} does not fail a run"
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
        dump = failure.hex_dump[:_MAX_DETAIL]
        cut = "\n(cut)" if len(dump) < len(failure.hex_dump) else ""
        lines += [f"Seen: {failure.message[:_MAX_DETAIL]}", f"{dump}{cut}"]
    return "\n".join(lines)
