"""Captures and request logs are read together, and logs are followed until a signal or for a time."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from conformance.watch import captures, request_logs
from conformance.watch.running import GivenFiles, read_given_files
from conformance.watch.sightings import Sightings

FOLDER = Path(__file__).parents[2] / "vectors" / "same-traffic"
CAPTURE, LOG = FOLDER / "requests.pcap", FOLDER / "requests.log"


def test_all_files_are_read() -> None:
    """The requests of a capture and of a log are put together, and what neither can show is said."""
    sightings = Sightings()
    said = read_given_files(GivenFiles(captures=[CAPTURE], request_logs=[LOG]), sightings)
    assert {each.principal for each in sightings.clients} == {None, "User:ANONYMOUS"}
    assert {*captures.LIMITS, *request_logs.LIMITS} <= {*said}
    assert sightings.versions_of_all[0] == (0, 11)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_following(ending: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read until the signal counts, and signals have their usual effect afterwards."""
    monkeypatch.setattr(request_logs, "POLL_INTERVAL_S", 0.001)
    before = signal.getsignal(ending)
    sightings = Sightings()
    seen: list[tuple[int, int]] = []

    def on_read() -> None:
        seen.append((len(sightings.clients), len(sightings.tables)))
        signal.raise_signal(ending)

    files = GivenFiles(request_logs=[LOG], follow=True)
    read_given_files(files, sightings, on_read)
    assert set(seen) == {(5, 1)}
    assert signal.getsignal(ending) is before


def test_time_ends_following() -> None:
    """Following ends after the given time."""
    sightings = Sightings()
    files = GivenFiles(request_logs=[LOG], follow=True, time_s=0.01)
    read_given_files(files, sightings)
    assert len(sightings.clients) == 5
