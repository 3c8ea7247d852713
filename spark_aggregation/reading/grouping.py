"""Groups rows by columns with few distinct values.

Every row gets a small number for each column. These numbers are combined into one number per row, so that counting is
array indexing: about 20 nanoseconds per row. Arrow's own `group_by` takes 40 for a single integer column and several
hundred for twelve columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.integer[Any]]

_MOST_SLOTS = 2**20
"""Above this many group numbers, rows are renumbered without the numbers that no row has."""
_MOST_NARROW = 2**31
"""Up to this many, group numbers fit into 32 bits; the processor's caches hold twice as many of those."""
_MOST_COUNTED = 4 * _MOST_SLOTS
"""Up to this many, the numbers in use are found by marking them; above, by sorting (80 nanoseconds per row)."""


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The group that each row belongs to.

    Attributes:
        of_row: the group number of each row.
        slots: all group numbers are below this; some of them may have no rows.
    """

    of_row: Integers
    slots: int

    @cached_property
    def _rows_of_slots(self) -> Integers:
        return np.bincount(self.of_row, minlength=self.slots)

    def counts(self) -> Integers:
        """Return how many rows each group has, in the order of the group numbers."""
        return self._of_groups(self._rows_of_slots)

    def first_rows(self) -> Integers:
        """Return the index of the first row of each group."""
        return self.minima(np.arange(len(self.of_row), dtype=np.int32))

    def sums(self, values: Integers) -> Integers:
        """Return the sum of each group's values (one value per row); exact below 2**53."""
        return self._of_groups(
            np.bincount(self.of_row, values, minlength=self.slots).astype(np.int64)
        )

    def minima(self, values: Integers) -> Integers:
        """Return the smallest of each group's values (one value per row)."""
        least = np.full(self.slots, np.iinfo(values.dtype).max, values.dtype)
        np.minimum.at(least, self.of_row, values)
        return self._of_groups(least)

    def _of_groups(self, of_slots: Integers) -> Integers:
        return of_slots[self._rows_of_slots > 0]


def group_rows(columns: Sequence[pa.Array]) -> Groups:
    """Group rows by the values of columns; null is a value like any other.

    Args:
        columns: dictionaries, integers or dates, of equal length. If a dictionary contains a value twice, the rows
            with that value may become two groups.
    """
    of_row: Integers = np.zeros(len(columns[0]), np.int32)
    slots = 1
    for column in columns:
        if pa.types.is_dictionary(column.type) and 2 * column.null_count > len(column):
            slots = _split_few(of_row, slots, column)
            continue
        numbers, distinct = _numbered(column)
        if distinct > 1:
            if slots * distinct > _MOST_SLOTS:
                of_row, slots = _renumbered(of_row, slots)
            if slots * distinct > _MOST_NARROW:
                of_row = of_row.astype(np.int64)
            of_row *= distinct
            of_row += numbers
            slots *= distinct
        if slots > _MOST_SLOTS:
            of_row, slots = _renumbered(of_row, slots)
    # NumPy converts indices of any other width at each use.
    return Groups(of_row=of_row.astype(np.intp), slots=slots)


def _split_few(of_row: Integers, slots: int, column: pa.DictionaryArray) -> int:
    """Split groups in place by a column that is null for most rows, looking only at the other rows."""
    values, valid = _values_and_validity(column.indices)
    places = np.flatnonzero(valid)
    pairs = of_row[places].astype(np.int64) * len(column.dictionary) + values[places]
    distinct, own = np.unique(pairs, return_inverse=True)
    of_row[places] = slots + own
    return slots + len(distinct)


def _renumbered(of_row: Integers, slots: int) -> tuple[Integers, int]:
    """Leave out the numbers that no row has."""
    if slots > _MOST_COUNTED:
        distinct, own = np.unique(of_row, return_inverse=True)
        return own.astype(np.int32), len(distinct)
    used = np.zeros(slots, np.bool_)
    used[of_row] = True
    places = np.flatnonzero(used)
    # Entries for numbers that no row has are never read. Filling them would take longer than everything else.
    new = np.empty(slots, np.int32)
    new[places] = np.arange(len(places))
    return new[of_row], len(places)


def _numbered(column: pa.Array) -> tuple[Integers, int]:
    """Number the values of a column from 0, and return how many numbers there are; nulls, if any, are 0."""
    if pa.types.is_dictionary(column.type):
        values, valid = _values_and_validity(column.indices)
        least, distinct = 0, len(column.dictionary)
    else:
        values, valid = _values_and_validity(column)
        # Days are counted from 1970. Starting at the first one avoids numbers that no row has.
        least = int(values.min()) if len(values) else 0
        distinct = int(values.max()) - least + 1 if len(values) else 0
    nulls = int(column.null_count > 0)
    if least != nulls and distinct > 1 - nulls:
        wide = np.int32 if values.itemsize <= 2 else np.int64
        values = np.subtract(values, least - nulls, dtype=wide)
    return (values * valid if nulls else values), distinct + nulls


def _values_and_validity(column: pa.Array) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return the values (0 for null), and which of them are not null.

    Arrow's `min_max`, `is_valid` and `fill_null` take 3 nanoseconds per row each; NumPy takes a tenth of that.
    """
    validity, data = column.buffers()
    rows = slice(column.offset, column.offset + len(column))
    values = np.frombuffer(data or b"", f"i{column.type.bit_width // 8}")[rows]
    if column.null_count == 0:
        return values, np.ones(len(values), np.bool_)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    valid = bits[rows].view(np.bool_)
    return values * valid, valid
