"""A summary of one play of a client in one sentence.

The module also counts what assertions need, and says whether and why the client hangs.
"""

from __future__ import annotations

from collections import Counter

from conformance.assertions.broker_acts import last_act
from fixtures.client_processes.driver_output import OK
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.limits import rate_of
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.rules.software_rules import software_named_in
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.profiles.known_apis import label_of
from reports.wording.verdict_labels import counted
from wire.api_keys import METADATA_KEY

_MAX_QUOTES = 3
_MAX_QUOTE = 150


OUTSIDE_THE_TABLE = ("KIP-35.client-uses-overlap", "KIP-35.client-asks-per-connection")
"""The clauses that forbid requests which a table does not list."""


def summary(play: Play) -> str:
    """Return in one sentence what a client did in a play, and how it ended."""
    recording, result = play.recording, play.result
    parts = [
        _requests(recording),
        _resets(recording),
        _names(recording),
        _end(result),
        _recovery(recording),
        recording.cut_short and f"the play was cut short because {recording.cut_short}",
    ]
    return "; ".join(part for part in parts if part)


def quoted_errors(result: DriverResult) -> str:
    """Return the last lines of a client's standard error, each with a line end; none if it reports in lines of JSON."""
    lines = [] if result.has_reported else result.errors.strip().splitlines()
    return "".join(f"stderr: {line[:_MAX_QUOTE]}\n" for line in lines[-_MAX_QUOTES:])


def _requests(recording: Recording) -> str:
    versions = Counter(f"{label_of(each.api_key)} v{each.api_version}" for each in recording.requests)
    named = ", ".join(f"{count:,} {name}" for name, count in versions.most_common())
    of_all = recording.all_requests
    more = f" among the first {len(recording.requests):,} of {of_all:,} requests"
    connections = counted(recording.all_connections, "connection")
    seen = f"{named or 'no request'}{more if of_all > len(recording.requests) else ''}"
    return f"{rate_of(recording)}: {seen} on {connections}"


def _resets(recording: Recording) -> str:
    """Return how many connections ended with RST; any other one that has ended did so with FIN."""
    by = Counter(each.closed_by for each in recording.connections if each.was_reset)
    return ", ".join(f"{counted(times, 'connection')} reset by the {who}" for who, times in by.items())


def _names(recording: Recording) -> str:
    names = {
        f"{each.body.client_software_name} {each.body.client_software_version}"
        for each in recording.requests
        if each.body is not None and each.body.client_software_name
    }
    return f"software {', '.join(sorted(names))}" if names else "no software name"


def software_in_words(recording: Recording) -> str:
    """Return which software a client names in a recording, in words that follow its name."""
    software = software_named_in(recording)
    if software is None:
        return "names no software to brokers"
    name, version = software
    return f"names its software {name!r} and the version {version!r} to brokers"


def _end(result: DriverResult) -> str:
    after = f"after {result.duration_ms / 1000:.1f} s"
    if result.killed_for:
        how = f"killed {after} ({result.killed_for}, {result.peak_rss_mb:,.0f} MB)"
    elif result.signal:
        how = f"ended by {result.signal} {after}"
    else:
        how = f"exit status {result.exit_status} {after}"
    if result.outcome is None:
        return how
    reported = "success" if result.outcome == OK else "error"
    return f"{how}, {reported} reported: {result.detail}"


def _recovery(recording: Recording) -> str:
    if recording.script.heals_after_ms is None:
        return ""
    recovered = recovered_after_ms(recording)
    if recovered is None:
        return "not recovered"
    return f"recovered {recovered / 1000:.1f} s after healing"


def recovered_after_ms(recording: Recording) -> int | None:
    """Return how long after the broker healed a client got metadata; None if it never did."""
    healed_ms = recording.healed_ms
    if healed_ms is None:
        return None
    return next(
        (each.at_ms - healed_ms for each in metadata_requests(recording) if each.response and each.at_ms >= healed_ms),
        None,
    )


def metadata_requests(recording: Recording) -> list[SeenRequest]:
    """Return the Metadata requests of a client."""
    return [each for each in recording.requests if each.api_key == METADATA_KEY]


def never_returned(play: Play) -> bool:
    """Return whether the driver's own watchdog ended a client that had all its time since its first connection.

    A client that connected later may only be slow, like a JVM on a busy machine.
    """
    result, recording = play.result, play.recording
    opened_ms = min((each.opened_ms for each in recording.connections), default=recording.duration_ms)
    had_its_time = recording.duration_ms - opened_ms >= recording.script.timeout_ms
    return result.has_hung and not result.killed_for and had_its_time


def cause_of_hang(recording: Recording) -> str:
    """Return the cause of a hang, in words that follow "hangs".

    The cause is the last request outside a table that got no response, or else the broker's last act.
    """
    unanswered = {
        (move.request.connection, move.number) for move in History(recording).moves if not move.request.response
    }
    causes = [
        move.sentence
        for move in forbidden_moves(recording)
        if move.clause in OUTSIDE_THE_TABLE and (move.connection, move.request) in unanswered
    ]
    cause = causes[-1] if causes else last_act(recording)
    return f", after {cause}" if cause else ""
