"""A client that plays nothing: it returns plays that a test has prepared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_model.clients.recording import Recording
from reference_model.clients.script import Script
from tests.reference_model.clients.recordings import asked, recorded, sent


@dataclass(frozen=True, kw_only=True)
class FakeAsk:
    """One of several asks."""

    ok: bool
    detail: str = "TimeoutException"


@dataclass(frozen=True, kw_only=True)
class FakeResult:
    """How a client's process ended; well, unless something else is given."""

    outcome: str | None = "ok"
    detail: str = "1 brokers"
    exit_status: int | None = 0
    signal: str | None = None
    killed_for: str = ""
    duration_ms: int = 500
    peak_rss_mb: float = 30.0
    asks: tuple[FakeAsk, ...] = ()
    output: str = "the last line"
    has_hung: bool = False
    instance_ids: tuple[str, ...] = ()
    errors: str = ""
    has_reported: bool = True


FAILED = FakeResult(outcome="error", detail="TimeoutException", exit_status=1, duration_ms=2500)
ABORTED = FakeResult(outcome=None, exit_status=None, signal="SIGABRT")
STOPPED = FakeResult(outcome=None, exit_status=None, signal="SIGKILL", killed_for="stopped")


@dataclass(frozen=True, kw_only=True)
class FakePlay:
    """What was seen of a client, and how it ended."""

    recording: Recording
    result: FakeResult = field(default_factory=FakeResult)


@dataclass(frozen=True, kw_only=True)
class FakeEntry:
    """An entry of the registry of clients."""

    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cluster_check: bool = True
    can_ask_again: bool = True
    runs_on: bool = False
    version: str = "1.0"


HEALTHY = FakePlay(recording=recorded(asked(4), sent(12)))
"""A client that knows ApiVersions v4 and Metadata v12."""


@dataclass(frozen=True, kw_only=True)
class FakeClient:
    """A client under test with one prepared play for every script.

    Attributes:
        prepared: the play.
        healthy: the play of the healthy script.
        client: its entry in the registry.
    """

    prepared: FakePlay = HEALTHY
    healthy: FakePlay = HEALTHY
    client: FakeEntry = field(default_factory=FakeEntry)

    def play(self, script: Script) -> FakePlay:
        """Return the prepared play, whatever the script is."""
        return self.prepared
