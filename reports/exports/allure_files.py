"""The grid as Allure results: one per clause and target, labelled like the suite's own (`reports.run.allure_results`).

They form one archive, because a site with a file for each would be slow to write and to publish. A target's listeners
are folded into the worst verdict, and each is a parameter of the result. File names depend only on clause and target,
so that results of two nights line up in Allure's history.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from allure_commons.model2 import ATTACHMENT_PATTERN, TEST_CASE_PATTERN, Status
from allure_commons.types import LabelType

from reports.distribution import DISTRIBUTION
from reports.escaping import one_line
from reports.exports.links import ALLURE_RESULTS
from reports.grid.grid_view import FoldedCell, reason_text
from reports.grid.history_tables import KeptFailure
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
from reports.verdict_labels import verdict_word

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


def write_allure_results(
    products: Sequence[Product], failures: Sequence[KeptFailure], out_dir: Path
) -> None:
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
        "labels": [
            {"name": label, "value": one_line(value)} for label, value in _labels(product, own)
        ],
        "parameters": [
            {"name": one_line(each.listener), "value": verdict_word(each.verdict, own.role)}
            for each in cell.listeners
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
