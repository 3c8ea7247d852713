"""Captures and request logs are read together; following a log ends in time."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from upgrade.prediction.observed_requests import ObservedRequests
from upgrade.traffic_files import captures, request_logs
from upgrade.traffic_files.reading import TrafficFiles, _ended_by_signal, read_files

FOLDER = Path(__file__).parents[2] / "vectors" / "same-traffic"
CAPTURE, LOG = FOLDER / "requests.pcap", FOLDER / "requests.log"


def test_all_files_are_read() -> None:
    """The requests of a capture and of a log are put together, and what neither can show is said."""
    observed = ObservedRequests()
    sentence = read_files(TrafficFiles(captures=[CAPTURE], request_logs=[LOG]), observed)
    assert {each.principal for each in observed.clients} == {None, "User:ANONYMOUS"}
    assert {*captures.LIMITS, *request_logs.LIMITS} <= {*sentence}
    assert observed.versions_of_all[0] == (0, 11)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_following(ending: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read until the signal counts, and signals have their usual effect afterwards."""
    monkeypatch.setattr(request_logs, "POLL_INTERVAL_S", 0.001)
    before = signal.getsignal(ending)
    observed = ObservedRequests()
    seen: list[tuple[int, int]] = []

    def on_read() -> None:
        seen.append((len(observed.clients), len(observed.tables)))
        signal.raise_signal(ending)

    files = TrafficFiles(request_logs=[LOG], follow=True)
    read_files(files, observed, on_read)
    assert set(seen) == {(5, 1)}
    assert signal.getsignal(ending) is before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """`nohup` ignores SIGHUP, so that the terminal can be closed."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with _ended_by_signal(None):
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_time_ends_following() -> None:
    """Following ends after the given time."""
    observed = ObservedRequests()
    files = TrafficFiles(request_logs=[LOG], follow=True, time_s=0.01)
    read_files(files, observed)
    assert len(observed.clients) == 5
