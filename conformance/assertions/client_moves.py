"""Assertions about a client: its moves, its process, and its application.

They check how the process ended, and what the application saw.

The first line of a failure stays the same for all plays that fail alike, apart from its numbers; the last line sums the
play up. What the environment causes is a `HarnessError`, never a violation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from conformance.assertions.broker_acts import refused_for_good
from conformance.assertions.evidence import assert_in_time
from conformance.assertions.messages import message_of
from conformance.assertions.play_summary import (
    cause_of_hang,
    metadata_requests,
    never_returned,
    quoted_errors,
    summary,
)
from fixtures.client_processes.driver_output import ERROR, OK
from fixtures.client_processes.driver_process import COULD_NOT_START, MEMORY, TIME, DriverResult
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.limits import left_open, loop_in, loops_on_one_connection
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.oracle import begins_below, forbidden_moves
from reference_model.clients.rules.software_rules import software_named_in
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import Script
from reference_model.clients.scripts.served_apis import NEWEST_SERVED
from reference_model.profiles.known_apis import label_of
from strategies.broker_scripts import listed_versions
from wire.api_keys import SASL_KEYS
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.sasl import BARE_TOKEN

FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"})
"""Signals that a process does not send itself: somebody or the system ended it."""
TOO_MUCH_MEMORY = "the client's process uses more memory than it may"
"""The start of the message about a client whose processes use more than `Client.memory_mb`."""
MAX_KEPT_MB = 100
"""Less than any client may use, and more than what the clients of the registry need for attempts that fail."""
MAX_GROWTH_MB = 256
"""Far more than any healthy client needs for a few requests, and less than the 352,518,912 bytes that an alert of
TLS announces as a size."""
_MAX_MOVES = 5


class ClientAborted(AssertionError):
    """A response aborted the client's process: reports say that it crashes."""


@contextmanager
def played(client: ClientUnderTest, script: Script) -> Iterator[Play]:
    """Play a script; a failure inside the block ends with a summary of the play.

    Raises:
        HarnessError: the client could not be run.
    """
    play = client.play(script)
    check_environment(play.result)
    try:
        yield play
    except AssertionError as error:
        error.args = (f"{message_of(error)}\n{quoted_errors(play.result)}{summary(play)}",)
        raise


def check_environment(result: DriverResult) -> None:
    """Raise `HarnessError` if the client's process was ended from outside, or could not be started."""
    if result.killed_for:
        return
    if result.signal in FROM_OUTSIDE:
        raise HarnessError(f"the client's process was ended from outside by {result.signal}")
    if result.outcome is None and result.exit_status in COULD_NOT_START:
        raise HarnessError(
            f"the client could not be started (exit status {result.exit_status}): {result.output.strip()}"
        )


def newest_metadata(play: Play) -> int | None:
    """Return the newest version of Metadata that a client sent; None if it sent none."""
    return max((each.api_version for each in metadata_requests(play.recording)), default=None)


def newest_api_versions(play: Play) -> int:
    """Return the newest version of ApiVersions that a client sent; -1 if it sent none."""
    return max(play.recording.versions_of_api_versions, default=-1)


def sasl_steps(play: Play) -> dict[int, int]:
    """Return the newest version of each request of SASL that a client sent, by key; -1 is that of a bare token."""
    steps: dict[int, int] = {}
    for request in play.recording.requests:
        if request.api_key in SASL_KEYS:
            steps[request.api_key] = max(request.api_version, steps.get(request.api_key, BARE_TOKEN))
    return steps


def flexible_tables(play: Play) -> set[int]:
    """Return the served flexible versions of ApiVersions in which the client was sent a response."""
    return {
        each.api_version
        for each in play.recording.requests
        if each.is_about_versions and each.api_version >= FIRST_FLEXIBLE_VERSION and each.is_served and each.response
    }


def got_error(play: Play, error: ErrorCode) -> bool:
    """Return whether a client was sent an error as the response to a version that can be answered with it."""
    return any(
        move.ends_connection and move.response is not None and move.response.error_code is error
        for move in History(play.recording).moves
    )


def assert_allowed(play: Play, *clauses: str) -> None:
    """Fail if a client made a move that one of the clauses forbids."""
    moves = [move for move in forbidden_moves(play.recording) if move.clause in clauses]
    if moves:
        first, *others = moves
        lines = [first.sentence, _request_in_words(play, first.connection, first.request)]
        lines += (f"and {move.sentence}" for move in others[: _MAX_MOVES - 1])
        if len(moves) > _MAX_MOVES:
            lines.append(f"and {len(moves) - _MAX_MOVES:,} further moves of this kind")
        raise AssertionError("\n".join(lines))


def _request_in_words(play: Play, connection: int, number: int) -> str:
    requests = [each for each in play.recording.requests if each.connection == connection]
    return f"request {number} of that connection, after {requests[number].at_ms} ms"


def assert_sends_none_of(play: Play, api_keys: Collection[int]) -> None:
    """Fail if the client sends a request of one of these APIs, of which it shares no version with the broker."""
    for move in History(play.recording).moves:
        key, version = move.request.api_key, move.request.api_version
        if key not in api_keys:
            continue
        listed = listed_versions(play.recording.script, key)
        if move.table is not None:
            how = f"although the broker lists {listed}"
        elif move.has_asked:
            how = f"before it has the broker's table, which lists {listed}"
        else:
            how = f"without having asked for versions on that connection; the broker lists {listed}"
        raise AssertionError(f"the client sends {label_of(key)} v{version}, {how}")


def assert_knows_what_it_asks(play: Play, newest: int) -> None:
    """Fail if the client sends a version of ApiVersions that it cannot know.

    Args:
        play: a play.
        newest: the newest version that it sent to a healthy broker. It may know those of proposals besides.
    """
    sent = newest_api_versions(play)
    assert sent <= max(newest, NEWEST_SERVED), (
        f"the client sends ApiVersions v{sent}, which it does not know: with a healthy broker its newest version is v{newest}"
    )


def assert_sends_what_is_listed(play: Play) -> None:
    """Fail if a client that never asks for the broker's table sends a version that is not in it."""
    table = play.recording.script.nodes[0].connection(0).answer(0).table
    for request in play.recording.requests:
        ranges = table.ranges_of(request.api_key)
        listed = " and ".join(f"v{low} to v{high}" for low, high in ranges) or "no version"
        assert any(low <= request.api_version <= high for low, high in ranges), (
            f"the client never asks for versions and sends {label_of(request.api_key)} v{request.api_version}, "
            f"of which release {table.base} supports {listed}"
        )


def assert_newest_metadata(play: Play, expected: int | None, why: str) -> None:
    """Fail unless a version is the newest of Metadata that the client sends."""
    newest = newest_metadata(play)
    problem = f"the client sends Metadata up to v{newest}, and not up to v{expected}, {why}"
    assert_in_time(newest is not None or expected is None, problem)
    assert newest == expected, problem


def assert_names_version(play: Play, version: str) -> None:
    """Fail unless the software version that the client sends contains the version of its library, if that is known.

    A library on top of another one may name both.
    """
    software = software_named_in(play.recording)
    # Not as a part of another version: 2.1 is not in 2.10, 12.1 or 2.1.1, but 2.1.0 is the same.
    own = rf"(?<![\d.]){re.escape(version)}(?:\.0)*(?!\w|\.\d)"
    assert software is None or not version or re.search(own, software[1]), (
        f"the client names its version {software[1]!r}, but version {version} is installed"
    )


def assert_names_software(play: Play, name: str) -> None:
    """Fail unless the client sends the software name that its registry entry has.

    Pass if the entry has no name, or if the client sends none.
    """
    software = software_named_in(play.recording)
    assert software is None or not name or software[0] == name, (
        f"the client names itself {software[0]!r}, and not {name!r}"
    )


def assert_begins_with_newest(play: Play, newest: int) -> None:
    """Fail if a connection begins with a version of ApiVersions below the newest one for no reason."""
    lower = begins_below(play.recording, newest=newest)
    assert not lower, "\n".join(map(str, lower[:_MAX_MOVES]))


def assert_closes_after(play: Play, error: ErrorCode) -> None:
    """Fail if the client keeps a connection on which it got an error that ends its use."""
    connection = left_open(play.recording, error)
    assert_in_time(not connection, connection)


def assert_waits_for_tls(play: Play) -> None:
    """Fail if the client writes unencrypted bytes before the TLS handshake of a connection is finished.

    Raises:
        HarnessError: no connection with TLS came about, so nothing can be judged.
    """
    connections = play.recording.connections
    if not connections:
        raise HarnessError("the client finished no TLS handshake, even with a healthy broker")
    for connection in connections:
        assert not connection.is_before_tls, (
            f"connection {connection.number}: the client writes before the TLS handshake is finished, unencrypted: {connection.unreadable.hex(' ')}"
        )


def assert_bounded(play: Play) -> None:
    """Fail if a client sends ApiVersions requests in a loop."""
    loop = loop_in(play.recording)
    assert not loops_on_one_connection(play.recording), loop
    assert_in_time(not loop, loop)


def assert_forgets_refusals(client: ClientUnderTest, play: Play) -> None:
    """Fail if a client keeps something of attempts that ended with INVALID_REQUEST: a connection, or memory.

    Its memory may be much the same as after one operation with a healthy broker.
    """
    assert_closes_after(play, ErrorCode.INVALID_REQUEST)
    grown_mb = play.result.peak_rss_mb - client.healthy.result.peak_rss_mb
    assert grown_mb <= MAX_KEPT_MB, (
        f"the client's memory grows from one attempt to the next: {grown_mb:,.0f} MB more than with a healthy broker"
    )


def assert_ends_by_itself(client: ClientUnderTest, play: Play) -> None:
    """Fail if the client's process was aborted, ran out of memory, hung, or ended without a result."""
    result = play.result
    if result.signal is not None and not result.killed_for:
        raise ClientAborted(f"the client's process is aborted by {result.signal}\n{_last_lines(result)}")
    assert result.killed_for != MEMORY, f"{TOO_MUCH_MEMORY}: {result.peak_rss_mb:,.0f} MB"
    assert_in_time(
        result.killed_for != TIME,
        f"the client's process hangs: it has to be killed{cause_of_hang(play.recording)}",
    )
    assert_in_time(
        not never_returned(play),
        f"the client hangs: it does not return to its application{cause_of_hang(play.recording)}",
    )
    reports = client.healthy.result.outcome is not None
    assert result.outcome is not None or result.killed_for or not reports, (
        f"the client's process ends without a result, with exit status {result.exit_status}\n{_last_lines(result)}"
    )


def _last_lines(result: DriverResult) -> str:
    return "\n".join(result.output.strip().splitlines()[-5:])


def outcome_of(play: Play) -> str | None:
    """Return what the application saw: "ok" or "error"; None if the client did not return to it in its time.

    A client that prints no result says it by its exit status.
    """
    result = play.result
    if never_returned(play):
        return None
    if result.outcome is not None or result.exit_status is None or result.killed_for:
        return result.outcome
    return OK if result.exit_status == 0 else ERROR


def assert_memory_stays_small(client: ClientUnderTest, play: Play) -> None:
    """Fail if the client's processes use far more memory than with a healthy broker, though no more than they may."""
    usual, peak = client.healthy.result.peak_rss_mb, play.result.peak_rss_mb
    assert peak - usual <= MAX_GROWTH_MB, (
        f"{TOO_MUCH_MEMORY}: {peak:,.0f} MB, and {usual:,.0f} MB with a healthy broker"
    )


def assert_works(play: Play) -> None:
    """Fail unless the client's operation succeeds."""
    outcome, refused = outcome_of(play), refused_for_good(play.recording)
    why = saw(outcome)
    if refused is not None:
        why = f"ApiVersions v{refused} was refused, and nothing lower was tried"
    assert_in_time(outcome == OK, f"the client does not work: {why}\n{play.result.detail}")


def assert_no_connection_is_lost(play: Play) -> None:
    """Fail if the broker closed a connection: it does so only on a request that it does not support."""
    for connection in play.recording.connections:
        end = "resets" if connection.was_reset else "closes"
        assert connection.closed_by != "broker", f"the broker {end} a connection, on a request that it does not support"


def assert_reports_error(play: Play) -> None:
    """Fail unless an error reaches the application before its time is over."""
    outcome = outcome_of(play)
    problem = f"the application gets no error: {saw(outcome)}"
    assert_in_time(outcome is not None, problem)
    assert outcome == ERROR, problem


def assert_refused_name_is_an_error(play: Play) -> None:
    """Fail unless a client whose name was refused closes the connection and reports an error."""
    assert_bounded(play)
    assert_allowed(play, "KIP-511.client-errors-on-42")
    assert_closes_after(play, ErrorCode.INVALID_REQUEST)
    # A client that sends no name to such a broker is judged by another clause.
    if got_error(play, ErrorCode.INVALID_REQUEST):
        assert_reports_error(play)


def saw(outcome: str | None) -> str:
    """Return what the application saw, as reports say it."""
    return {
        OK: "its operation succeeds",
        ERROR: "its operation fails",
        None: "its operation never ends",
    }[outcome]


def misrouted_at_ms(play: Play) -> list[int]:
    """Return when the client learnt that it is misrouted."""
    return [move.request.at_ms for move in History(play.recording).misrouted]


def gives_ids(recording: Recording) -> bool:
    """Return whether a client gave an id of cluster or broker (KIP-1242)."""
    return any(any(move.gives_ids) for move in History(recording).moves)


def assert_gives_no_ids(play: Play) -> None:
    """Fail if the client gives a cluster id or a node id."""
    for move in History(play.recording).moves:
        body = move.request.body
        assert body is None or not any(move.gives_ids), (
            f"{move} gives a cluster id or node id: {(body.cluster_id, body.node_id)}"
        )
