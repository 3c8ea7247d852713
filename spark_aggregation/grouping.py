"""Groups rows by columns of few distinct values.

Every row gets a small number for each column, those become one number per row, and counting is then indexing: some 20
nanoseconds a row, where Arrow's own `group_by` takes 40 for a single integer and several hundred for twelve columns.
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
"""How many numbers may be in use before those that no row has are left out."""
_MOST_NARROW = 2**31
"""Up to here they fit into 32 bits, of which twice as many fit into the processor's caches."""
_MOST_COUNTED = 4 * _MOST_SLOTS
"""Up to here they are found by marking them; above by sorting, which takes 80 nanoseconds a row."""


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Which group each row belongs to.

    Attributes:
        of_row: the number of its group, for each row.
        slots: all numbers are below it; not every one has rows.
    """

    of_row: Integers
    slots: int

    @cached_property
    def _rows_of_slots(self) -> Integers:
        return np.bincount(self.of_row, minlength=self.slots)

    def counts(self) -> Integers:
        """Count the rows of each group, groups in the order of their numbers."""
        return self._of_groups(self._rows_of_slots)

    def first_rows(self) -> Integers:
        """Give the place of the first row of each group."""
        return self.minima(np.arange(len(self.of_row), dtype=np.int32))

    def sums(self, values: Integers) -> Integers:
        """Add the values, one for each row, up for each group; exact below 2**53."""
        return self._of_groups(
            np.bincount(self.of_row, values, minlength=self.slots).astype(np.int64)
        )

    def minima(self, values: Integers) -> Integers:
        """Give the least of the values, one for each row, of each group."""
        least = np.full(self.slots, np.iinfo(values.dtype).max, values.dtype)
        np.minimum.at(least, self.of_row, values)
        return self._of_groups(least)

    def _of_groups(self, of_slots: Integers) -> Integers:
        return of_slots[self._rows_of_slots > 0]


def group_rows(columns: Sequence[pa.Array]) -> Groups:
    """Group rows by the values of columns; null is a value like any other.

    Args:
        columns: dictionaries, integers or dates, of equal length. Of a dictionary that has a value twice the rows of
            that value may become two groups.
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
    # Indices of other widths are converted at each use.
    return Groups(of_row=of_row.astype(np.intp), slots=slots)


def _split_few(of_row: Integers, slots: int, column: pa.DictionaryArray) -> int:
    """Split in place by a column that is null for most rows, looking at the others alone."""
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
    # What no row has is never read: to fill it in takes longer than all the rest.
    new = np.empty(slots, np.int32)
    new[places] = np.arange(len(places))
    return new[of_row], len(places)


def _numbered(column: pa.Array) -> tuple[Integers, int]:
    """Number the values of a column from 0, that being null where there is any, and say how many numbers that takes."""
    if pa.types.is_dictionary(column.type):
        values, valid = _values_and_validity(column.indices)
        least, distinct = 0, len(column.dictionary)
    else:
        values, valid = _values_and_validity(column)
        # Days are counted from 1970: what lies between 0 and the first of them is no value of theirs.
        least = int(values.min()) if len(values) else 0
        distinct = int(values.max()) - least + 1 if len(values) else 0
    nulls = int(column.null_count > 0)
    if least != nulls and distinct > 1 - nulls:
        wide = np.int32 if values.itemsize <= 2 else np.int64
        values = np.subtract(values, least - nulls, dtype=wide)
    return (values * valid if nulls else values), distinct + nulls


def _values_and_validity(column: pa.Array) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Give values, 0 for null, and which of them are not null.

    Arrow's own functions take 3 nanoseconds a row for each of `min_max`, `is_valid` and `fill_null`, numpy a tenth.
    """
    validity, data = column.buffers()
    rows = slice(column.offset, column.offset + len(column))
    values = np.frombuffer(data or b"", f"i{column.type.bit_width // 8}")[rows]
    if column.null_count == 0:
        return values, np.ones(len(values), np.bool_)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    valid = bits[rows].view(np.bool_)
    return values * valid, valid
