"""Files on any Hadoop file system, for what a history needs besides tables.

The history needs few operations besides reading and writing tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

_IS_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


_SMALL_BYTES = 20_000_000
"""About 5 * 10^6 rows, at the 4 bytes per row that real runs take."""


class AlreadyThere(Exception):
    """A file that must be new already exists."""


class Storage:
    """A folder on any file system that Hadoop knows.

    Attributes:
        root: the folder, as it was given.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        # Spark has no API to list, rename and delete files. This gateway, which Spark itself uses, reaches Hadoop's.
        gateway: Any = spark.sparkContext._gateway
        self.root = root.rstrip("/") if len(root) > 1 else root
        self._gateway = gateway
        self._hadoop = gateway.jvm.org.apache.hadoop.fs
        self._configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._files = self._path("").getFileSystem(self._configuration)

    def uri(self, *names: str) -> str:
        """Return the URI of a file or folder below the root."""
        return "/".join((self.root, *names))

    def _path(self, name: str) -> Any:
        return self._hadoop.Path(self.uri(name) if name else self.root)

    def exists(self, name: str = "") -> bool:
        """Return whether a file or folder exists; without a name, whether the root does."""
        there: bool = self._files.exists(self._path(name))
        return there

    def is_file(self) -> bool:
        """Return whether the root is a file."""
        it_is: bool = self.exists() and self._files.getFileStatus(self._path("")).isFile()
        return it_is

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of a folder's entries; none if the folder does not exist."""
        if not self.exists(folder):
            return []
        entries = self._files.listStatus(self._path(folder))
        return sorted(status.getPath().getName() for status in entries)

    def read_text(self, name: str) -> str:
        """Read a small file."""
        stream = self._files.open(self._path(name))
        try:
            text: str = self._gateway.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
            return text
        finally:
            stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Write a small file, replacing an existing one."""
        stream = self._files.create(self._path(name), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def publish_text(self, name: str, text: str, *, draft: str) -> None:
        """Create a small file atomically: complete, or not at all.

        No other process may use the name of the draft.

        Raises:
            AlreadyThere: the file exists; nothing is changed.
        """
        self.write_text(draft, text)
        self._files.mkdirs(self._path(name).getParent())
        if self.exists(name):
            self.delete(draft)
            raise AlreadyThere(self.uri(name))
        # Renaming without the overwrite option fails if another process was faster.
        context = self._hadoop.FileContext.getFileContext(self._path("").toUri(), self._configuration)
        rename = getattr(self._hadoop, "Options$Rename")
        options = self._gateway.new_array(rename, 1)
        options[0] = rename.NONE
        try:
            context.rename(self._qualified(draft), self._qualified(name), options)
        except Exception as error:
            if self.exists(draft) and self.exists(name):
                self.delete(draft)
                raise AlreadyThere(self.uri(name)) from error
            raise

    def _qualified(self, name: str) -> Any:
        return self._files.makeQualified(self._path(name))

    def take_only_part(self, folder: str, name: str) -> None:
        """Move the only file that Spark wrote into a folder to `name`, and delete the folder."""
        parts = [part for part in self.names(folder) if part.startswith("part-")]
        self.delete(name)
        if parts:
            self._files.rename(self._path(f"{folder}/{parts[0]}"), self._path(name))
        else:
            self.write_text(name, "")
        self.delete(folder)

    def delete(self, name: str) -> None:
        """Delete a file or folder, if it is there."""
        self._files.delete(self._path(name), True)


def is_uri(path: str) -> bool:
    """Return whether a path names its file system."""
    return _IS_URI.match(path) is not None


def is_small(roots: Sequence[str], *, most: int = _SMALL_BYTES) -> bool:
    """Return whether the runs are so small that starting costs more than computing.

    Runs on another file system are not examined and count as large.

    Args:
        roots: run folders, or folders of them.
        most: how many bytes the Parquet files may take in total.
    """
    if any(is_uri(root) for root in roots):
        return False
    sizes = (path.stat().st_size for root in roots for path in Path(root).rglob("*.parquet"))
    return sum(sizes) <= most


def local_path(uri: str) -> str:
    """Return a folder as the user typed it: a path for local folders, a URI for others."""
    return unquote(uri.removeprefix("file:")) if uri.startswith("file:") else uri
