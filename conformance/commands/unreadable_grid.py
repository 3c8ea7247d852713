"""Says that the folder of a grid cannot be read as one, for the commands that read grids of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from conformance.commands.errors import InvalidFile
from reports.disk_faults import DISK_FAULTS


@contextmanager
def blaming_grid(folder: Path) -> Iterator[None]:
    """Say of errors in the block that a grid cannot be read, unless a disk or folder is at fault.

    Args:
        folder: the folder of the grid.

    Raises:
        InvalidFile: there was such an error.
    """
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OSError,
        pa.ArrowException,
    ) as error:
        if isinstance(error, OSError) and error.errno in DISK_FAULTS:
            raise
        raise InvalidFile(f"{folder} cannot be read as a grid: {error}") from error
