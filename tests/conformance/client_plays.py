"""A client that plays nothing: it returns plays that a test has prepared."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from fixtures.client_processes.driver_output import Ask
from fixtures.client_processes.driver_process import DriverResult
from fixtures.registry.clients import BUILT_IN, DEFAULT_RING, FOREIGN, Client, ClientInstallation
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.play_cache import PlayCache
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Script
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT, SSL
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


def worked(*requests: SeenRequest, **others: Any) -> Play:
    """Return a play in which the client sent these requests, with a good end."""
    return ended_well(recorded(*requests, **others))


def entry(*, can_ask_again: bool = True, **changes: Any) -> Client:
    """Return an entry of the registry of clients, or a command that cannot be told to ask again."""
    return Client(
        id="fake",
        library="kgo",
        language="",
        ring=DEFAULT_RING,
        memory_mb=300,
        install=ClientInstallation(kind=BUILT_IN if can_ask_again else FOREIGN, command=()),
        **{"version": "1.0", "cluster_check": True, **changes},
    )


HEALTHY = worked(asked(4), sent(12))
"""A client that knows ApiVersions v4 and Metadata v12."""


class FakeClient(ClientUnderTest):
    """A client under test with one prepared play for every script.

    Attributes:
        prepared: the play.
        client: its entry in the registry.
    """

    def __init__(self, *, prepared: Play = HEALTHY, healthy: Play = HEALTHY, client: Client | None = None) -> None:
        super().__init__(client or entry(), PlayCache(self._submit), artefacts={}, too_slow=str)
        self.prepared = prepared
        self._healthy = dict.fromkeys((PLAINTEXT, SASL_PLAINTEXT, SSL), healthy)

    def play(self, script: Script) -> Play:
        """Return the prepared play, whatever the script is."""
        return self.prepared

    def _submit(self, _: Script) -> Future[Play]:
        done: Future[Play] = Future()
        done.set_result(self.prepared)
        return done
