"""Requests in a broker's request log are counted, each as often as it comes."""

from __future__ import annotations

import json
import pickle
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.logged_requests import ENTRIES, FORWARDED, counted
from wire import request_log, request_log_counts
from wire.request_log import read_entry
from wire.request_log_counts import LogCounts

OF_2_8 = ENTRIES["2.8"][0]


def test_forwarded_requests_are_not_counted() -> None:
    """A request that a broker has passed on is in that broker's log, so the controller's entry does not count."""
    entry, _ = json.JSONDecoder().raw_decode(FORWARDED[FORWARDED.index(b"{") :].decode())
    turned = json.dumps(dict(reversed(entry.items()))).encode()
    assert read_entry(FORWARDED) is None
    assert counted(FORWARDED, FORWARDED, request_log.ENTRY + turned).forwarded == 3


def test_the_tables_of_brokers_are_kept() -> None:
    """An ApiVersions response in a log says which versions the listener serves; a refusal does not replace that."""
    of_text, refused = ENTRIES["2.4"][0], ENTRIES["1.0"][0].replace(b"41257", b"42055")
    counts = counted(OF_2_8, of_text, refused)
    counts.merge(counted(refused.replace(b"correlationId=7", b"correlationId=1")))
    assert counts.tables == {
        "127.0.0.1:45663": {0: (0, 9), 1: (0, 12)},
        "127.0.0.1:42055": {0: (0, 8), 1: (0, 11)},
    }


@settings(max_examples=30)
@given(order=st.permutations([*ENTRIES, *ENTRIES]), split=st.integers(0, len(ENTRIES) * 2))
def test_counting_agrees_with_reading(order: list[str], split: int) -> None:
    """Counting remembers entries and counts in parts, and finds what reading every line finds."""
    lines = [ENTRIES[each][0] for each in order]
    counts, rest = counted(*lines[:split]), counted(*lines[split:])
    counts.merge(pickle.loads(pickle.dumps(rest)))
    assert counts.requests == Counter([expected for _, expected in ENTRIES.values()] * 2)


def test_counts_are_written_for_other_programs() -> None:
    """What was counted is the same after it was written as text and read again."""
    counts = counted(*(line for line, _ in ENTRIES.values()), FORWARDED, b"other", request_log.ENTRY)
    again = LogCounts.from_json(counts.to_json())
    assert again.requests == counts.requests
    assert (again.tables, again.forwarded, again.unreadable, again.other_lines, again.left_out) == (
        counts.tables,
        1,
        1,
        1,
        0,
    )


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many kinds of requests a log has, only so many are counted; the rest is counted as left out."""
    monkeypatch.setattr(request_log_counts, "MAX_COUNTED", 3)
    lines = [OF_2_8.replace(b"named", b"client-%d" % number) for number in range(8)]
    counts = counted(*lines, *lines)
    assert (len(counts.requests), counts.left_out) == (3, 10)
    assert counts.take_requests().total() == 6
    assert counts.requests == {}


@pytest.mark.parametrize("release", ["2.7", "2.8"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"-127.0.0.1:", b"-127.0.0.2:", id="host"),
        pytest.param(b"User:ANONYMOUS", b"User:other", id="user"),
        pytest.param(b"1.2.3", b"1.2.4", id="software-in-json"),
        pytest.param(b"2.16.1", b"2.16.2", id="software-in-text"),
    ],
)
def test_what_names_a_client_is_counted_apart(release: str, old: bytes, new: bytes) -> None:
    """Lines that differ in one part of a client's identity are those of two clients."""
    line = ENTRIES[release][0]
    other = line.replace(old, new)
    expected = {read_entry(line): 2, read_entry(other): 1} if other != line else {read_entry(line): 3}
    assert counted(line, other, line).requests == expected


def test_lines_are_counted_as_often_as_they_come() -> None:
    """A line that says what an earlier one said counts again, within one look and in the next one."""
    counts = LogCounts()
    line = ENTRIES["2.8"][0]
    for times in (3, 2):
        counts.count([line] * times)
    assert counts.requests == {read_entry(line): 5}
