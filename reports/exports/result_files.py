"""The grid as results of tests, which other tools show: JUnit XML, and Allure's.

JUnit has one suite per product, one case per clause and listener, or per operation and release. A case has the share of
its run's time that its examples have of the run's examples: properties run together, so a time of its own does not
exist. Cells that no run asked for are left out. Failures are what fails a run: a violated MUST (or PIN, if it binds the
target), and a declared violation that is gone. Known violations, and those of a SHOULD or MAY, are skipped with their
reason. Cells that could not be judged are errors.

Allure has one result per clause and target, labelled like the suite's own (`reports.run.allure_results`). They form one
archive, because a site with a file for each would be slow to write and to publish. A target's listeners are folded into
the worst verdict, and each is a parameter of the result. File names depend only on clause and target, so that results
of two nights line up in Allure's history.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from allure_commons.model2 import ATTACHMENT_PATTERN, TEST_CASE_PATTERN, Status
from allure_commons.types import LabelType

from reports.distribution import DISTRIBUTION
from reports.escaping import one_line, xml_text
from reports.exports.issues import first_line
from reports.grid.addresses import ALLURE_RESULTS, JUNIT
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedCell, reason_text
from reports.grid.products import OwnCell, Product
from reports.records import (
    DUMP_FILE,
    FACTS_FILE,
    OPERATION,
    REPRODUCER_FILE,
    VIOLATED_VERDICTS,
    Verdict,
    gates,
)
from reports.run.allure_results import SEVERITIES
from reports.run.failures import READS_FACTS
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.failure_rows import KeptFailure
from reports.verdict_labels import CRASH_KINDS, CRASHES, verdict_word

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
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:kafka-conformance:allure")
_STATUSES = {
    Verdict.CONFORMS: Status.PASSED,
    Verdict.INFORMATIONAL: Status.PASSED,
    Verdict.UNEXPECTED_PASS: Status.FAILED,
    Verdict.INCONCLUSIVE: Status.BROKEN,
    Verdict.NOT_RUN: Status.BROKEN,
}
_SEVERITY_OF_LEVEL = {level.value: severity.value for level, severity in SEVERITIES.items()}
_FOLDER = "allure-results"
_MILLISECONDS = 1_000


def write_junit(grid: Grid, products: Sequence[Product], failures: Iterable[KeptFailure], out_dir: Path) -> None:
    """Write junit.xml."""
    root = junit_document(grid, products, failures)
    ET.indent(root, space="")
    ET.ElementTree(root).write(out_dir / JUNIT, encoding="utf-8", xml_declaration=True)


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


def write_allure_results(products: Sequence[Product], failures: Sequence[KeptFailure], out_dir: Path) -> None:
    """Write the archive, with the folder `allure-results` in it: a result for every cell that a product answers for."""
    kept = {failure.signature: failure for failure in failures}
    with ZipFile(out_dir / ALLURE_RESULTS, "w", compression=ZIP_DEFLATED) as archive:
        for product in products:
            for own in product.cells:
                result = _result(product, own)
                attachments = _attachments(own.cell, kept, archive, of=result["uuid"])
                name = TEST_CASE_PATTERN.format(prefix=result["uuid"])
                _add(archive, name, json.dumps({**result, "attachments": attachments}))


def _add(archive: ZipFile, name: str, text: str) -> None:
    """Add a file with a fixed time, so that the same grid produces the same archive."""
    entry = ZipInfo(f"{_FOLDER}/{name}")
    entry.compress_type = ZIP_DEFLATED
    archive.writestr(entry, text.encode())


def _result(product: Product, own: OwnCell) -> dict[str, Any]:
    clause, cell, column = own.clause, own.cell, own.column
    name = one_line(f"{clause.clause} on {cell.target}")
    started = max(entry.started_at for entry in column.listeners)
    at = int(started.timestamp()) * _MILLISECONDS
    identity = hashlib.sha256(f"{clause.clause}\0{cell.target}".encode()).hexdigest()
    texts = (clause.statement, clause.meaning, clause.location)
    return {
        "uuid": str(uuid.UUID(identity[:32])),
        "historyId": identity,
        "testCaseId": identity,
        "fullName": name,
        "name": name,
        "status": _status(cell.verdict, clause.level),
        "statusDetails": {
            "message": one_line(
                f"{verdict_word(cell.verdict, own.role)} on {cell.worst.listener}: {reason_text(cell.worst)}"
            ),
            "known": cell.verdict is Verdict.KNOWN_VIOLATION,
            "flaky": cell.verdict is Verdict.FLAKY,
        },
        "stage": "finished",
        "description": "\n\n".join(one_line(text) for text in texts),
        "labels": [{"name": label, "value": one_line(value)} for label, value in _labels(product, own)],
        "parameters": [
            {"name": one_line(each.listener), "value": verdict_word(each.verdict, own.role)} for each in cell.listeners
        ],
        "titlePath": [one_line(product.name), one_line(clause.source)],
        "start": at,
        "stop": at,
    }


def _status(verdict: Verdict, level: str) -> str:
    if verdict in VIOLATED_VERDICTS:
        return Status.FAILED if gates(level) else Status.SKIPPED
    return _STATUSES.get(verdict, Status.SKIPPED)


def _labels(product: Product, own: OwnCell) -> Iterator[tuple[str, str]]:
    clause = own.clause
    yield LabelType.TAG, clause.clause
    yield LabelType.TAG, clause.level
    if clause.level in _SEVERITY_OF_LEVEL:
        yield LabelType.SEVERITY, _SEVERITY_OF_LEVEL[clause.level]
    yield LabelType.PARENT_SUITE, product.column.group if product.column else product.name
    yield LabelType.SUITE, product.name
    # What an operation was tried with says more than its "source", which is the client.
    is_operation = own.role == OPERATION
    yield LabelType.SUB_SUITE, own.column.name if is_operation else clause.source
    yield LabelType.FRAMEWORK, DISTRIBUTION


def _attachments(
    cell: FoldedCell, kept: Mapping[str, KeptFailure], archive: ZipFile, *, of: str
) -> list[dict[str, str]]:
    """Attach the first stored failure of the listener with the worst verdict to the result with the id `of`."""
    failures = cell.worst.row.failures if cell.worst.row else ()
    failure = next((kept[each.signature] for each in failures if each.signature in kept), None)
    if failure is None:
        return []
    contents = {
        DUMP_FILE: failure.hex_dump,
        REPRODUCER_FILE: failure.reproducer,
        "example.txt": failure.example,
        FACTS_FILE: failure.facts if READS_FACTS in failure.reproducer else "",
    }
    attached = []
    for name, content in contents.items():
        if content:
            prefix = uuid.uuid5(_NAMESPACE, f"{of}-{name}")
            source = ATTACHMENT_PATTERN.format(prefix=prefix, ext=name.rpartition(".")[2])
            _add(archive, source, content)
            attached.append({"name": name, "source": source, "type": "text/plain"})
    return attached
