"""Writes one run folder: the header first, rows as they arrive, the footer last.

Rows are in memory or in a Parquet file. They are written in batches and when a target is done, so a run that is
cut off loses little. Readers refuse a folder without a footer by name.

If a file cannot be written, for example because the disk is full, `RunWriter.fault` says so. Nothing is written after
that, and the run ends after the current property.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from clauses.catalogue import Catalogue, Clause
from clauses.clause_sets import NEXT
from reports.command_line.distribution import suite_commit, suite_version
from reports.record_columns import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column
from reports.records import HEADER_FILE, MACHINES_FOLDER, RECORD_SCHEMA_VERSION
from reports.run.parquet_part import parquet_of
from reports.run_folders.hash_list import WrittenFiles

ROWS_PER_PART = 20_000
BYTES_PER_PART = 2**23
"""A part is also full with this much of responses, of which a hostile target sends megabytes: readers refuse large
files."""
CODE_FOLDERS = (
    "clauses",
    "conformance",
    "drivers",
    "fixtures",
    "proposals",
    "reference_model",
    "reports",
    "strategies",
    "upgrade",
    "wire",
)
CODE_SUFFIXES = (".py", ".toml", ".csv", ".json")
TESTS = "tests"
"""The folder of a proposal that no distribution has."""
TARGET_FOLDERS = (Path("fixtures") / "brokers", Path("fixtures") / "clients")
"""Folders of the files of targets and clients; each file describes one and has a digest of its own."""

Row = Mapping[str, Any]


ADDRESS = "address"
"""The launcher of a target that the suite did not start: it can be judged again only at its address."""
NOT_STARTED = "none"
"""The launcher of a target that has not been started."""
_SELDOM = ("language", "like", "folder", "commit", "ready_ms", "until_ready")
"""Facts that an entry leaves out if there is nothing to say."""


class PartWriter:
    """Writes rows of one table into numbered Parquet files of a run folder.

    Attributes:
        count: how many rows were added.
    """

    def __init__(self, files: WrittenFiles, table: str, fields: Sequence[Column]) -> None:
        self.count = 0
        self._files = files
        self._table = table
        self._fields = fields
        self._rows: list[Row] = []
        self._bytes = 0
        self._parts = 0

    def add(self, row: Row) -> None:
        """Add one row; a full batch is written immediately."""
        self._rows.append(row)
        self.count += 1
        self._bytes += sum(len(value) for value in row.values() if isinstance(value, bytes))
        if len(self._rows) >= ROWS_PER_PART or self._bytes >= BYTES_PER_PART:
            self.flush()

    def flush(self) -> None:
        """Write the rows added since the last flush, if any."""
        if not self._rows:
            return
        data = parquet_of(self._rows, self._fields)
        self._files.write(f"{self._table}/part-{self._parts:05}.parquet", data)
        self._parts += 1
        self._rows, self._bytes = [], 0


def new_run_id(now: datetime) -> str:
    """Return a unique id that sorts by time."""
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


@cache
def code_sha256() -> str:
    """Return the SHA-256 of the suite's own code and data, without the files of targets and without tests."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for folder in CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root)
            is_code = path.suffix in CODE_SUFFIXES and TESTS not in relative.parts
            if is_code and not any(map(relative.is_relative_to, TARGET_FOLDERS)):
                digest.update(f"{relative.as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def suite_facts(catalogue: Catalogue) -> Mapping[str, str | None]:
    """Return what a run's header records about the suite."""
    return {
        "version": suite_version(),
        "catalogue_sha256": catalogue.sha256,
        "python": platform.python_version(),
        "hypothesis": version("hypothesis"),
        "commit": suite_commit(),
        "code_sha256": code_sha256(),
    }


def clause_facts(clause: Clause, *, role: str) -> Row:
    """Return what a run's header records about a clause."""
    return {
        "id": clause.id,
        "role": role,
        "level": clause.level.value,
        "source": clause.source,
        "statement": clause.statement,
        "location": clause.location,
        "meaning": clause.meaning,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What a run records about a target: its identity and, separately, how it was launched.

    Attributes:
        id: the registry's id.
        implementation: family of the target.
        launcher: how it was started.
        artefacts: the pinned artefacts that ran, name to SHA-256.
        file_sha256: hash of its file in the registry; None if it has none.
        language: the language of a client library; None for any other target.
        like: id of the release that it is judged like; None if it is judged as itself.
        folder: folder of a build of one's own; None for any other target.
        commit: Kafka's commit that was built, as far as the build says it; None for any other target.
        ready_ms: how long it took until it served requests, in milliseconds; None if that was not seen.
        until_ready: what it did with requests until then; empty if it was ready at once, None if that was not seen.

    An entry leaves out the last six if there is nothing to say.
    """

    id: str
    implementation: str
    release: str
    launcher: str
    artefacts: dict[str, str]
    file_sha256: str | None = None
    language: str | None = None
    like: str | None = None
    folder: str | None = None
    commit: str | None = None
    ready_ms: int | None = None
    until_ready: str | None = None

    def entry(self) -> dict[str, Any]:
        """Return the target's entry in a run's header."""
        entry = dataclasses.asdict(self)
        return {key: value for key, value in entry.items() if key not in _SELDOM or value}


def load() -> float:
    """Return how many processes of the machine wanted to run during the last minute, on average."""
    return round(os.getloadavg()[0], 1)


def _reason(error: OSError) -> str:
    return str(error) if error.errno is None else os.strerror(error.errno)


class RunWriter:
    """One run folder while it is written.

    Attributes:
        run_id: the run's id, and the folder's name.
        run_date: the day it began, in UTC.
        folder: where it is written.
        header: the content of `run.json` without the footer; targets are added as they start.
        fault: why the records could not be written, as one sentence; empty as long as they can be.
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
        clause_set: str = NEXT,
    ) -> None:
        """Make the folder and the header.

        Args:
            runs_folder: where run folders are kept.
            catalogue: the clauses in force.
            tier: the tier that is run.
            seed: Hypothesis's seed, if one was given.
            whole: whether everything in the tier is to be judged, on every listener.
            corrects: id of an earlier run that this one replaces.
            pinned_examples: how many pinned examples (`@example`) each property has.
            clause_set: the name of the set of clauses that it judges by.
        """
        self._started_at = now = datetime.now(UTC)
        self._begun_s = time.monotonic()
        self.run_id = new_run_id(now)
        self.run_date: date = now.date()
        self.folder = runs_folder / self.run_id
        self.fault = ""
        self._keeps = True
        self.attempt(lambda: self.folder.mkdir(parents=True))
        self._files = WrittenFiles(self.folder)
        self.examples = PartWriter(self._files, "examples", EXAMPLE_FIELDS)
        self._exchanges = PartWriter(self._files, "exchanges", EXCHANGE_FIELDS)
        self._answers = PartWriter(self._files, "answers", ANSWER_FIELDS)
        self._known_answers: set[str] = set()
        self._machines = 0
        self.header: dict[str, Any] = {
            "record_schema_version": RECORD_SCHEMA_VERSION,
            "run_id": self.run_id,
            "started_at": now.isoformat(timespec="seconds"),
            "suite": suite_facts(catalogue),
            "whole": whole,
            "corrects": corrects,
            "pinned_examples": pinned_examples,
            "clause_set": clause_set,
            "seed": seed,
            "tier": tier,
            "host": {
                "system": platform.system(),
                "machine": platform.machine(),
                "cpus": os.cpu_count() or 1,
                "load_at_start": load(),
                "highest_load": load(),
            },
            "targets": [],
            "clauses": [],
            "planned_cells": [],
        }

    @property
    def load_words(self) -> str:
        """How busy the machine was during the run, in words."""
        host = self.header["host"]
        return f"{host['load_at_start']:.1f} at the start, {host['highest_load']:.1f} at most, on {host['cpus']} cores"

    def note_load(self, now: float) -> None:
        """Take a load of the machine into account that was seen during the run."""
        host = self.header["host"]
        host["highest_load"] = max(now, host["highest_load"])

    def keep_nothing(self) -> None:
        """Write nothing from now on, in a process whose records another one keeps."""
        self._keeps = False

    def attempt(self, write: Callable[[], object]) -> None:
        """Write something to the folder, unless that has failed before; a failure is noted in `fault`.

        Args:
            write: does it; only its OSError counts as a failure.
        """
        if self.fault or not self._keeps:
            return
        try:
            write()
        except OSError as error:
            self.fault = f"the records could not be written to {self.folder}: {_reason(error)}"

    def write_header(self) -> None:
        """Write `run.json` again, without a footer."""
        self.attempt(self._write_header)

    def _write_header(self, footer: Row | None = None) -> None:
        """Write the complete `run.json`; the footer marks the run as complete."""
        content = self.header if footer is None else {**self.header, "footer": footer}
        unfinished = self.folder / "run.json.unfinished"
        unfinished.write_text(json.dumps(content, indent=1) + "\n")
        unfinished.rename(self.folder / HEADER_FILE)

    def add_example(self, row: Row) -> None:
        """Take one judged example."""
        self.attempt(lambda: self.examples.add(row))

    def add_exchange(self, row: Row, received: bytes | None) -> None:
        """Add one exchange; equal responses are stored once."""
        self.attempt(lambda: self._add_exchange(row, received))

    def _add_exchange(self, row: Row, received: bytes | None) -> None:
        digest = None
        if received is not None:
            digest = hashlib.sha256(received).hexdigest()
            if digest not in self._known_answers:
                self._known_answers.add(digest)
                self._answers.add({"answer_sha256": digest, "received": received})
        self._exchanges.add({**row, "answer_sha256": digest})

    def add_machine(self, machine: Row) -> None:
        """Write what was learned of one listener, in a file of its own."""
        self._machines += 1
        self.write_file(f"{MACHINES_FOLDER}/{self._machines:03}.json", f"{json.dumps(machine)}\n".encode())

    def write_file(self, name: str, data: bytes) -> None:
        """Write one complete file of the run, for example of a failure; its name below the folder has slashes."""
        self.attempt(lambda: self._files.write(name, data))

    def flush(self) -> None:
        """Write all rows added so far to disk."""
        for part in (self.examples, self._exchanges, self._answers):
            self.attempt(part.flush)

    def close(self, exit_status: int) -> None:
        """Flush, and write the footer unless something of the run could not be written.

        If anything else wrote in the folder, or made it unreadable, `fault` says so afterwards; readers refuse what has
        changed.
        """
        self.flush()
        self.attempt(lambda: self._write_footer(exit_status))
        if self.fault or not self._keeps:
            return
        try:
            changes = list(self._files.foreign_changes())
        except OSError as error:
            self.fault = f"the records in {self.folder} could not be read again: {_reason(error)}"
            return
        if changes:
            self.fault = (
                f"something else wrote in {self.folder} during the run, perhaps the client: "
                f"{changes[0]}; readers refuse this run"
            )

    def _now(self) -> datetime:
        """Return the time in UTC; never less than has passed since the start, even if the clock was set back."""
        passed = timedelta(seconds=time.monotonic() - self._begun_s)
        return max(datetime.now(UTC), self._started_at + passed)

    def _write_footer(self, exit_status: int) -> None:
        self._write_header(
            {
                "finished_at": self._now().isoformat(timespec="seconds"),
                "exit_status": exit_status,
                "example_rows": self.examples.count,
                "exchange_rows": self._exchanges.count,
                "files": dict(sorted(self._files.hashes.items())),
            }
        )
