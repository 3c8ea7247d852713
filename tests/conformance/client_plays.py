"""A client that plays nothing: it returns plays that a test has prepared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fixtures.client_processes.driver_output import Ask
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import Script
from tests.reference_model.clients.recordings import asked, recorded, sent

WELL = DriverResult(
    outcome="ok",
    detail="1 brokers",
    exit_status=0,
    signal=None,
    killed_for="",
    duration_ms=500,
    peak_rss_mb=30.0,
    asks=(),
    output="the last line",
    has_reported=True,
)
"""A client's process that ended well."""
FAILED = replace(WELL, outcome="error", detail="TimeoutException", exit_status=1, duration_ms=2500)
ABORTED = replace(WELL, outcome=None, exit_status=None, signal="SIGABRT")
STOPPED = replace(WELL, outcome=None, exit_status=None, signal="SIGKILL", killed_for="stopped")


def asks(*ok: bool) -> tuple[Ask, ...]:
    """Return one ask for each of these: whether it got metadata."""
    return tuple(Ask(ok=each, at_ms=0, detail="TimeoutException") for each in ok)


def ended_well(recording: Recording) -> Play:
    """Return a play with this recording and a good end."""
    return Play(recording=recording, result=WELL)


@dataclass(frozen=True, kw_only=True)
class FakeEntry:
    """An entry of the registry of clients."""

    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cluster_check: bool = True
    can_ask_again: bool = True
    runs_on: bool = False
    version: str = "1.0"


HEALTHY = ended_well(recorded(asked(4), sent(12)))
"""A client that knows ApiVersions v4 and Metadata v12."""


@dataclass(frozen=True, kw_only=True)
class FakeClient:
    """A client under test with one prepared play for every script.

    Attributes:
        prepared: the play.
        healthy: the play of the healthy script.
        client: its entry in the registry.
    """

    prepared: Play = HEALTHY
    healthy: Play = HEALTHY
    client: FakeEntry = field(default_factory=FakeEntry)

    def play(self, script: Script) -> Play:
        """Return the prepared play, whatever the script is."""
        return self.prepared
