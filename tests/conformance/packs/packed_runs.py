"""Packs to tamper with: their members as a value, written as a pack again."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.records import FACTS_FILE, HEADER_FILE
from reports.run_folders.run_pack import MANIFEST

Row = dict[str, Any]


class Members(dict[str, bytes]):
    """The members of a pack, by name."""

    def rows(self, table: str) -> list[Row]:
        """Return all rows of a table."""
        rows: list[Row] = self._table(table).to_pylist()
        return rows

    def write_rows(self, table: str, rows: Iterable[Row]) -> None:
        """Replace the rows of a table."""
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([*rows], schema=self._table(table).schema), buffer, compression="snappy")
        self[self._name(table)] = buffer.getvalue()

    def json(self, name: str) -> Any:
        """Return a member that is JSON."""
        return json.loads(self[name])

    def write_json(self, name: str, value: object) -> None:
        """Replace a member that is JSON."""
        self[name] = json.dumps(value).encode()

    def drop_failures(self) -> None:
        """Remove the folders of all failures."""
        for name in [each for each in self if each.endswith(FACTS_FILE)]:
            del self[name]

    def hash_again(self, **footer: object) -> None:
        """Let the footer and the manifest fit to what is there, as whoever tampers with a pack can do it."""
        names = sorted(self.keys() - {MANIFEST, HEADER_FILE})
        header = self.json(HEADER_FILE)
        header["footer"] |= {
            "files": {name: _sha256(self[name]) for name in names},
            "example_rows": len(self.rows("examples")),
            "exchange_rows": len(self.rows("exchanges")),
            **footer,
        }
        self.write_json(HEADER_FILE, header)
        self.list_again()

    def list_again(self) -> None:
        """Let the manifest fit to what is there."""
        hashes = {name: _sha256(content) for name, content in self.items() if name != MANIFEST}
        self.write_json(MANIFEST, {"pack_format": 1, "members": hashes})

    def zipped(self) -> bytes:
        """Return the archive."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    def _name(self, table: str) -> str:
        (name,) = (each for each in self if each.startswith(f"{table}/"))
        return name

    def _table(self, table: str) -> pa.Table:
        return pq.read_table(io.BytesIO(self[self._name(table)]))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_members(pack: Path) -> Members:
    """Return the members of a pack."""
    with zipfile.ZipFile(pack) as archive:
        return Members({name: archive.read(name) for name in archive.namelist()})


def with_changed_rows(rows: Iterable[Row], chosen: Callable[[Row], bool], changes: Mapping[str, Any]) -> list[Row]:
    """Return rows, of which those that are chosen are changed."""
    return [{**row, **changes} if chosen(row) else row for row in rows]
