"""Writer of synthetic run folders of any size.

The rows are distributed like the rows of real runs.

The proportions come from standard runs of all 31 releases of Apache Kafka (250,408 rows). One property has a
tenth of the rows, the next a twentieth, the last 30 in a million. Six rows in ten are from the listener
`plaintext`, and one row in 2,000 is a violation. A third of the rows have no latency; the others spread over some
40 buckets. Rows of one property are adjacent, as in a real run. Exchanges are kept for the first examples of each
property, as in a run with few failures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clauses.catalogue import catalogue
from reference_model.profiles.listeners import (
    CONTROLLER,
    PLAINTEXT,
    SASL_PLAINTEXT,
    SSL,
    SSL_CLIENT_AUTH,
)
from reports.arrow_schemas import arrow_schema, dictionary_columns
from reports.record_columns import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS
from reports.records import HEADER_FILE, SAMPLED_EXAMPLES_PER_PROPERTY
from reports.run.run_writer import PartWriter, clause_facts, suite_facts
from reports.run_folders.hash_list import WrittenFiles, hashes_of
from tests.run_folders import planned_cell, run_header
from wire.api_versions import NEWEST_VERSION
from wire.exchange import probe_request

ROWS_PER_FILE = 500_000
"""The suite writes 20,000."""
CLAUSES = 75
"""How many clauses a run knows, taken from the start of the catalogue."""
LISTENERS = {
    PLAINTEXT: 0.63,
    SASL_PLAINTEXT: 0.115,
    SSL: 0.108,
    SSL_CLIENT_AUTH: 0.103,
    CONTROLLER: 0.044,
}
CLAUSE_WEIGHTS = (0.1, 0.053, 0.027)
"""Shares of the first three clauses; the others decrease evenly from 0.0235 to 0.00003."""
KINDS = tuple(f"v{version}{broken}" for version in range(NEWEST_VERSION + 1) for broken in ("", "-broken"))
KINDS_OF_A_CELL = 3
"""Kinds of request among the examples of one cell, the mean of real runs."""
OUTCOMES = {"answer": 0.7704, "closed": 0.2282, "silent": 0.0008, "none": 0.0006}
ERROR_CODES = {0: 0.617, 35: 0.209, 42: 0.0553, None: 0.1187}
"""Shares among responses."""
VIOLATES, INFORMATIONAL = 0.0005, 0.0001
NO_LATENCY, MIDDLE_BUCKET, SPREAD = 0.319, 33, 4.0
SIGNATURES = 3
"""Distinct failures of a cell that has failures."""
BUCKETS = 100
ANSWER_BYTES = 476
"""Size of 4.4.0's v0 response, including its size prefix."""
_FEW_VALUES = ("error_code", "latency_bucket")
"""Further columns to write with a dictionary: real rows take 3 bytes, and random values do not come close without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticRun:
    """One run to write, of one target, as `kafka-conformance matrix` makes them.

    Attributes:
        number: determines its id and seeds its random values.
        target: the target's id.
        rows: the minimum number of judged examples.
        started_at: when it started.
    """

    number: int
    target: str
    rows: int
    started_at: datetime

    @property
    def run_id(self) -> str:
        """Its id, in the suite's format."""
        return f"{self.started_at:%Y%m%dT%H%M%SZ}-{self.number:08x}"


def night(day: int, rows: int, *, targets: int) -> list[SyntheticRun]:
    """Plan the runs of one night.

    Args:
        day: days since the first night.
        rows: rows of all runs together.
        targets: how many targets are judged.
    """
    begun = datetime(2025, 11, 1, 2, tzinfo=UTC) + timedelta(days=day)
    return [
        SyntheticRun(
            number=day * 1_000 + index,
            target=f"apache-kafka-{index // 10}.{index % 10}.0",
            rows=rows // targets,
            started_at=begun + timedelta(minutes=index),
        )
        for index in range(targets)
    ]


def write_runs(root: Path, runs: Sequence[SyntheticRun], *, workers: int) -> int:
    """Write each run to its own folder below `root`, and return the total number of rows."""
    with ProcessPoolExecutor(workers) as pool:
        return sum(pool.map(write_run, [root] * len(runs), runs))


def write_run(root: Path, run: SyntheticRun) -> int:
    """Write one run to its own folder below `root`, and return the number of its rows."""
    folder = root / run.run_id
    (folder / "examples").mkdir(parents=True)
    header = _header(run)
    cells = [(cell["clause"], cell["listener"]) for cell in header["planned_cells"]]
    per_cell = _rows_per_cell(run)
    random = np.random.default_rng(run.number)
    for part, table in enumerate(_tables(run, cells, per_cell, random)):
        pq.write_table(
            table,
            folder / "examples" / f"part-{part:05}.parquet",
            use_dictionary=[*dictionary_columns(EXAMPLE_FIELDS), *_FEW_VALUES],
            # Otherwise the files would describe Arrow's dictionaries to readers, which the suite's files do not.
            store_schema=False,
        )
    rows = int(per_cell.sum())
    exchanges = _write_exchanges(folder, run, cells, per_cell)
    header["footer"] = {
        "finished_at": (run.started_at + timedelta(seconds=40)).isoformat(timespec="seconds"),
        "exit_status": 1,
        "example_rows": rows,
        "exchange_rows": exchanges,
        "files": hashes_of(folder),
    }
    (folder / HEADER_FILE).write_text(json.dumps(header, indent=1))
    return rows


def _write_exchanges(
    folder: Path,
    run: SyntheticRun,
    cells: Sequence[tuple[str, str]],
    per_cell: np.ndarray[Any, np.dtype[np.int64]],
) -> int:
    """Write the exchanges of each cell's first examples, all with the same response; return how many."""
    answer = bytes(ANSWER_BYTES)
    digest = hashlib.sha256(answer).hexdigest()
    files = WrittenFiles(folder)
    answers = PartWriter(files, "answers", ANSWER_FIELDS)
    answers.add({"answer_sha256": digest, "received": answer})
    exchanges = PartWriter(files, "exchanges", EXCHANGE_FIELDS)
    for (clause, listener), rows in zip(cells, per_cell, strict=True):
        for number in range(1, min(int(rows), SAMPLED_EXAMPLES_PER_PROPERTY) + 1):
            exchanges.add(
                {
                    "run_id": run.run_id,
                    "target": run.target,
                    "listener": listener,
                    "clause": clause,
                    "property": f"test_{clause}",
                    "example_number": number,
                    "step": 0,
                    "outcome": "answer",
                    "sent": probe_request(0).data,
                    "answer_sha256": digest,
                }
            )
    for part in (answers, exchanges):
        part.flush()
    return exchanges.count


def _header(run: SyntheticRun) -> dict[str, Any]:
    known = list(catalogue())[:CLAUSES]
    return run_header(
        [planned_cell(clause.id, run.target, listener=listener) for listener in LISTENERS for clause in known],
        run_id=run.run_id,
        started_at=run.started_at.isoformat(timespec="seconds"),
        suite=dict(suite_facts(catalogue())),
        whole=True,
        seed=run.number,
        clauses=[clause_facts(clause, role="broker") for clause in known],
    )


def _rows_per_cell(run: SyntheticRun) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Distribute a run's rows over its cells, listener by listener; each cell has at least one."""
    tail = np.linspace(0.0235, 0.00003, CLAUSES - len(CLAUSE_WEIGHTS))
    clauses = np.concatenate([CLAUSE_WEIGHTS, tail])
    shares = np.outer(list(LISTENERS.values()), clauses).ravel()
    rows: np.ndarray[Any, np.dtype[np.int64]] = np.maximum(
        np.floor(shares / shares.sum() * run.rows).astype(np.int64), 1
    )
    return rows


def _tables(
    run: SyntheticRun,
    cells: Sequence[tuple[str, str]],
    per_cell: np.ndarray[Any, np.dtype[np.int64]],
    random: np.random.Generator,
) -> Iterator[pa.Table]:
    ends = np.cumsum(per_cell)
    starts = ends - per_cell
    for first in range(0, int(ends[-1]), ROWS_PER_FILE):
        rows = np.arange(first, min(first + ROWS_PER_FILE, int(ends[-1])))
        cell = np.searchsorted(ends, rows, side="right")
        yield _table(run, cells, cell, (rows - starts[cell] + 1).astype(np.int32), random)


def _table(
    run: SyntheticRun,
    cells: Sequence[tuple[str, str]],
    cell: np.ndarray[Any, np.dtype[np.int64]],
    numbers: np.ndarray[Any, np.dtype[np.int32]],
    random: np.random.Generator,
) -> pa.Table:
    count = len(cell)
    outcome = random.choice(len(OUTCOMES), count, p=list(OUTCOMES.values())).astype(np.int8)
    error = random.choice(len(ERROR_CODES), count, p=list(ERROR_CODES.values())).astype(np.int8)
    luck = random.random(count)
    verdict = np.select([luck < VIOLATES, luck < VIOLATES + INFORMATIONAL], [1, 2], 0)
    failure = cell * SIGNATURES + numbers % SIGNATURES
    kind = (cell + random.integers(0, KINDS_OF_A_CELL, count)) % len(KINDS)
    latency = np.clip(random.normal(MIDDLE_BUCKET, SPREAD, count), 0, BUCKETS).astype(np.int16)
    implementation, _, release = run.target.rpartition("-")
    clauses, listeners = [clause for clause, _ in cells], [listener for _, listener in cells]
    codes = pa.array(list(ERROR_CODES), pa.int16())
    columns = {
        "run_id": _constant(run.run_id, count),
        "run_date": pa.repeat(pa.scalar(run.started_at.date(), pa.date32()), count),
        "target": _constant(run.target, count),
        "implementation": _constant(implementation, count),
        "release": _constant(release, count),
        "launcher": _constant("process", count),
        "listener": _chosen(listeners, cell),
        "client": pa.nulls(count, pa.string()),
        "clause": _chosen(clauses, cell),
        "property": _chosen([f"test_{clause}" for clause in clauses], cell),
        "tier": _constant("standard", count),
        "phase": _constant("generate", count),
        "example_number": pa.array(numbers),
        "request": _chosen(KINDS, kind),
        "outcome": _chosen(list(OUTCOMES), outcome),
        "error_code": codes.take(pa.array(np.where(outcome == 0, error, 3))),
        "verdict": _chosen(["conforms", "violates", "informational"], verdict),
        "failure_signature": _chosen(
            [f"{number:016x}" for number in range(len(cells) * SIGNATURES)],
            failure,
            missing=verdict != 1,
        ),
        "latency_bucket": pa.array(latency, mask=(random.random(count) < NO_LATENCY) | (outcome != 0)),
    }
    fields = arrow_schema(EXAMPLE_FIELDS)
    kept = [pa.field(f.name, columns[f.name].type, f.nullable) for f in fields]
    return pa.table(columns, schema=pa.schema(kept))


def _constant(text: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), pa.array([text]))


def _chosen(
    texts: Sequence[str],
    text_indexes: np.ndarray[Any, Any],
    missing: np.ndarray[Any, np.dtype[np.bool_]] | None = None,
) -> pa.Array:
    # A dictionary that has a text twice would be written as plain strings.
    order = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    dictionary_indexes = np.array([order[text] for text in texts], np.int32)[text_indexes]
    return pa.DictionaryArray.from_arrays(pa.array(dictionary_indexes, mask=missing), pa.array(list(order)))
