"""A folder's files are hashed, listed and compared."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from reports.run_folders.hash_list import (
    HASH_LIST,
    InvalidHashList,
    altered_files,
    hashes_of,
    read_hash_list,
    write_hash_list,
)


def _folder(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "cells.parquet").write_bytes(b"cells")
    (tmp_path / "tables" / ".cells.parquet.crc").write_bytes(b"crc")
    (tmp_path / "index.html").write_bytes(b"page")
    return tmp_path


def test_list_is_that_of_sha256sum(tmp_path: Path) -> None:
    """Each line is hash, two spaces and name; hidden files and the list itself are left out."""
    write_hash_list(_folder(tmp_path))
    write_hash_list(tmp_path)
    assert (tmp_path / HASH_LIST).read_text().splitlines() == [
        f"{hashlib.sha256(b'page').hexdigest()}  index.html",
        f"{hashlib.sha256(b'cells').hexdigest()}  tables/cells.parquet",
    ]
    assert read_hash_list(tmp_path) == hashes_of(tmp_path)


def test_altered_files_are_named(tmp_path: Path) -> None:
    """Changed files and missing files are reported differently; unchanged files are not named."""
    expected = {**hashes_of(_folder(tmp_path)), "gone.csv": "00"}
    assert list(altered_files(tmp_path, expected)) == [("gone.csv", "is missing")]
    (tmp_path / "index.html").write_bytes(b"another page")
    assert ("index.html", "has changed") in list(altered_files(tmp_path, expected))


@pytest.mark.parametrize(
    "name",
    ["../secret", "{root}/secret", "link", "x" * 5_000, "a\0b"],
    ids=["above", "absolute", "link", "long", "null"],
)
def test_nothing_outside_of_the_folder_is_read(name: str, tmp_path: Path) -> None:
    """A list may be a stranger's: its names lead nowhere else, where something may never end or be secret."""
    (tmp_path / "secret").write_bytes(b"secret")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "link").symlink_to("../secret")
    expected = {name.format(root=tmp_path): hashlib.sha256(b"secret").hexdigest()}
    assert [what for _, what in altered_files(folder, expected)] == ["is missing"]


def test_line_that_is_none_is_named(tmp_path: Path) -> None:
    """A line that `sha256sum --check` could not read is refused, with its position."""
    (tmp_path / HASH_LIST).write_text(f"{'a' * 64}  fine\nnonsense\n")
    with pytest.raises(InvalidHashList, match="line 2"):
        read_hash_list(tmp_path)
