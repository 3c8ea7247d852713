"""Counting in request logs keeps apart what decides about a client, above all its first request."""

from __future__ import annotations

import re

import pytest

from tests.wire.logged_requests import ENTRIES, counted
from wire.request_log import read_entry
from wire.request_log_counts import LogCounts

_ID = re.compile(rb'(correlation_?id"?[:=] ?)\d+', re.IGNORECASE)


@pytest.mark.parametrize("release", ENTRIES)
def test_a_correlation_id_makes_no_difference(release: str) -> None:
    """Lines that differ in their correlation ids only count as the same request."""
    lines = [_ID.sub(rb"\g<1>%d" % number, ENTRIES[release][0]) for number in (0, 1, 5, 10)]
    assert len(set(lines)) == len(lines)
    assert list(counted(*lines).requests.values()) == [len(lines)]


def test_a_client_id_may_look_like_a_correlation_id() -> None:
    """Clients that differ in their id alone are counted apart, also if the id has the text before the correlation id."""
    lines = [
        ENTRIES["1.0"][0].replace(b"named", b"a, correlationId=" + name) for name in (b"x", b"y")
    ]
    assert counted(*lines).requests == {read_entry(line): 1 for line in lines}
    assert len(counted(*lines).requests) == 2


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
    expected = (
        {read_entry(line): 2, read_entry(other): 1} if other != line else {read_entry(line): 3}
    )
    assert counted(line, other, line).requests == expected


def test_lines_are_counted_as_often_as_they_come() -> None:
    """A line that says what an earlier one said counts again, within one look and in the next one."""
    counts = LogCounts()
    line = ENTRIES["2.8"][0]
    for times in (3, 2):
        counts.count([line] * times)
    assert counts.requests == {read_entry(line): 5}
