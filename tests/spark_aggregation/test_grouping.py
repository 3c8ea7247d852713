"""Rows are grouped as a dictionary of tuples would group them."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_aggregation.reading import grouping
from spark_aggregation.reading.grouping import group_rows

_TEXTS = st.none() | st.sampled_from(["a", "b", "c"])
_SPARSE = st.sampled_from([None, None, None, None, "f1", "f2"])
_NUMBERS = st.none() | st.integers(-(2**15), 2**15 - 1)
_DAYS = st.none() | st.integers(0, 40_000).map(lambda days: date(1970, 1, 1) + timedelta(days))
_WIDE = st.none() | st.integers(-(2**31), 2**31 - 1)
_ROWS = st.lists(st.tuples(_TEXTS, _NUMBERS, _SPARSE, _DAYS, _WIDE, st.integers(0, 9)), max_size=40)


def _columns(rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    texts, numbers, sparse, days, wide, _ = zip(*rows, strict=True) if rows else ((),) * 6
    return [
        pa.array(texts, pa.string()).dictionary_encode(),
        pa.array(numbers, pa.int16()),
        pa.array(sparse, pa.string()).dictionary_encode(),
        pa.array(days, pa.date32()),
        pa.array(wide, pa.int32()),
    ]


@pytest.mark.parametrize(
    ("most_slots", "most_counted"),
    [
        pytest.param(2**20, 2**22, id="few"),
        pytest.param(4, 2**22, id="marked"),
        pytest.param(4, 8, id="sorted"),
    ],
)
def test_groups_are_those_of_distinct_tuples(
    monkeypatch: pytest.MonkeyPatch, most_slots: int, most_counted: int
) -> None:
    """Counts, sums, minima and first rows are correct however many group numbers are in use."""
    monkeypatch.setattr(grouping, "_MOST_SLOTS", most_slots)
    monkeypatch.setattr(grouping, "_MOST_COUNTED", most_counted)

    @given(rows=_ROWS)
    def agree(rows: list[tuple[Any, ...]]) -> None:
        values = np.array([row[-1] for row in rows], np.int32)
        groups = group_rows(_columns(rows))
        keys = [rows[place][:-1] for place in groups.first_rows()]
        expected = Counter(row[:-1] for row in rows)
        assert dict(zip(keys, groups.counts().tolist(), strict=True)) == expected
        of_key = {key: [row[-1] for row in rows if row[:-1] == key] for key in expected}
        assert groups.sums(values).tolist() == [sum(of_key[key]) for key in keys]
        assert groups.minima(values).tolist() == [min(of_key[key]) for key in keys]
        assert all(
            rows.index(next(r for r in rows if r[:-1] == key)) == place
            for key, place in zip(keys, groups.first_rows().tolist(), strict=True)
        )

    agree()
