"""Writes one run folder: the header first, rows as they come, the footer last.

Whatever is judged is in memory or in a Parquet file; rows go to disk in batches and when a target is done, so
that a run which is cut off loses little. Without the footer a reader refuses the folder by name.

A file that cannot be written, on a full disk for example, is a fault of ours in the middle of anything. It is noted
in `RunWriter.fault`, nothing is written after it, and the run ends as soon as the property that runs is judged.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clauses.catalogue import Catalogue, Clause
from reports.arrow_schemas import arrow_schema, dictionary_columns
from reports.distribution import suite_commit, suite_version
from reports.hash_list import hashes_of
from reports.records import (
    ANSWER_FIELDS,
    EXAMPLE_FIELDS,
    EXCHANGE_FIELDS,
    RECORD_SCHEMA_VERSION,
    Column,
)

ROWS_PER_PART = 20_000
HASHED_PARTS = ("examples", "exchanges", "answers", "failures")
"""What the footer has hashes of: all that a grid is made from, `run.json` itself apart."""
CODE_FOLDERS = (
    "clauses",
    "conformance",
    "fixtures",
    "reference_model",
    "reports",
    "strategies",
    "wire",
)
CODE_SUFFIXES = (".py", ".toml", ".csv", ".json")
TARGET_FILES = Path("fixtures") / "brokers"
"""Each of them is about one target, and has a digest of its own."""

Row = Mapping[str, Any]


class PartWriter:
    """Writes rows of one table into numbered Parquet files of a folder.

    Attributes:
        count: how many rows it took.
    """

    def __init__(self, folder: Path, fields: Sequence[Column]) -> None:
        self.count = 0
        self._folder = folder
        self._schema = arrow_schema(fields)
        self._dictionary = dictionary_columns(fields)
        self._rows: list[Row] = []
        self._parts = 0

    def add(self, row: Row) -> None:
        """Take one row; a full batch is written at once."""
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= ROWS_PER_PART:
            self.flush()

    def flush(self) -> None:
        """Write what was taken since the last time, if anything."""
        if not self._rows:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(self._rows, schema=self._schema)
        part = self._folder / f"part-{self._parts:05}.parquet"
        unfinished = part.with_suffix(".unfinished")
        pq.write_table(table, unfinished, use_dictionary=self._dictionary)
        unfinished.rename(part)
        self._parts += 1
        self._rows = []


def new_run_id(now: datetime) -> str:
    """Return an id that sorts by time and that no other run has."""
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


@cache
def code_sha256() -> str:
    """Return the SHA-256 of the suite's own code and data, the targets' files apart."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            place = path.relative_to(root)
            if path.suffix in CODE_SUFFIXES and place.parent != TARGET_FILES:
                digest.update(f"{place.as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def suite_facts(catalogue: Catalogue) -> Mapping[str, str | None]:
    """Return what a run's header says of the suite."""
    return {
        "version": suite_version(),
        "catalogue_sha256": catalogue.sha256,
        "python": platform.python_version(),
        "hypothesis": version("hypothesis"),
        "commit": suite_commit(),
        "code_sha256": code_sha256(),
    }


def clause_facts(clause: Clause, *, role: str) -> Row:
    """Return what a run's header says of a clause."""
    return {
        "id": clause.id,
        "role": role,
        "level": clause.level.value,
        "source": clause.source,
        "statement": clause.statement,
        "location": clause.location,
        "meaning": clause.meaning,
    }


class RunWriter:
    """One run folder while it is written.

    Attributes:
        run_id: the run's id, and the folder's name.
        run_date: the day it began, in UTC.
        folder: where it is written.
        header: what `run.json` says; targets are added to it as they start.
        fault: why the records could not be written, as one sentence; empty while they could.
    """

    def __init__(
        self,
        runs_folder: Path,
        *,
        catalogue: Catalogue,
        tier: str,
        seed: int | None,
        whole: bool = True,
        corrects: str | None = None,
        pinned_examples: Mapping[str, int] | None = None,
    ) -> None:
        """Make the folder and the header.

        Args:
            runs_folder: where run folders are kept.
            catalogue: the clauses in force.
            tier: the tier that is run.
            seed: Hypothesis' seed, where one was given.
            whole: whether everything that the tier has is to be judged, on every listener.
            corrects: id of an earlier run that this one takes the place of.
            pinned_examples: how many examples are written down with each property.
        """
        now = datetime.now(UTC)
        self.run_id = new_run_id(now)
        self.run_date: date = now.date()
        self.folder = runs_folder / self.run_id
        self.fault = ""
        self.attempt(lambda: self.folder.mkdir(parents=True))
        self.examples = PartWriter(self.folder / "examples", EXAMPLE_FIELDS)
        self._exchanges = PartWriter(self.folder / "exchanges", EXCHANGE_FIELDS)
        self._answers = PartWriter(self.folder / "answers", ANSWER_FIELDS)
        self._known_answers: set[str] = set()
        self.header: dict[str, Any] = {
            "record_schema_version": RECORD_SCHEMA_VERSION,
            "run_id": self.run_id,
            "started_at": now.isoformat(timespec="seconds"),
            "suite": suite_facts(catalogue),
            "whole": whole,
            "corrects": corrects,
            "pinned_examples": pinned_examples,
            "seed": seed,
            "tier": tier,
            "host": {
                "system": platform.system(),
                "machine": platform.machine(),
                "cpus": os.cpu_count() or 1,
            },
            "targets": [],
            "clauses": [],
            "planned_cells": [],
        }

    def attempt(self, write: Callable[[], object]) -> None:
        """Write something to the folder, unless that has failed before; a failure is noted in `fault`.

        Args:
            write: does it; only its OSError counts as a failure.
        """
        if self.fault:
            return
        try:
            write()
        except OSError as error:
            # Arrow puts sentences of its own around the system's.
            reason = str(error) if error.errno is None else os.strerror(error.errno)
            self.fault = f"the records could not be written to {self.folder}: {reason}"

    def write_header(self) -> None:
        """Write `run.json` again, without a footer."""
        self.attempt(self._write_header)

    def _write_header(self, footer: Row | None = None) -> None:
        """Write `run.json` as a whole; the footer marks the run as complete."""
        content = self.header if footer is None else {**self.header, "footer": footer}
        unfinished = self.folder / "run.json.unfinished"
        unfinished.write_text(json.dumps(content, indent=1) + "\n")
        unfinished.rename(self.folder / "run.json")

    def add_example(self, row: Row) -> None:
        """Take one judged example."""
        self.attempt(lambda: self.examples.add(row))

    def add_exchange(self, row: Row, received: bytes | None) -> None:
        """Take one exchange; equal answers are stored once.

        Args:
            row: all of `EXCHANGE_FIELDS` but the hash.
            received: the answer with its size prefix, where one came.
        """
        self.attempt(lambda: self._add_exchange(row, received))

    def _add_exchange(self, row: Row, received: bytes | None) -> None:
        digest = None
        if received is not None:
            digest = hashlib.sha256(received).hexdigest()
            if digest not in self._known_answers:
                self._known_answers.add(digest)
                self._answers.add({"answer_sha256": digest, "received": received})
        self._exchanges.add({**row, "answer_sha256": digest})

    def flush(self) -> None:
        """Put every row that was taken on disk."""
        for part in (self.examples, self._exchanges, self._answers):
            self.attempt(part.flush)

    def close(self, exit_status: int) -> None:
        """Flush, and write the footer; there is none where anything of the run could not be written."""
        self.flush()
        self.attempt(lambda: self._write_footer(exit_status))

    def _write_footer(self, exit_status: int) -> None:
        self._write_header(
            {
                "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "exit_status": exit_status,
                "example_rows": self.examples.count,
                "exchange_rows": self._exchanges.count,
                "files": hashes_of(self.folder, HASHED_PARTS),
            }
        )
