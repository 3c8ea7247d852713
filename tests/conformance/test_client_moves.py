"""Tests of what properties assert about a client, and what the environment causes.

The assertions are about its moves, its process and its application.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from conformance.assertions.client_moves import (
    assert_allowed,
    assert_bounded,
    assert_ends_by_itself,
    assert_forgets_refusals,
    assert_gives_no_ids,
    assert_names_software,
    assert_names_version,
    assert_reports_error,
    assert_waits_for_tls,
    assert_works,
    got_error,
    misrouted_at_ms,
    newest_api_versions,
    newest_metadata,
    played,
)
from conformance.assertions.client_success import (
    assert_keeps_working,
    assert_recovers,
    assert_recovers_if_asked_again,
)
from conformance.assertions.play_summary import recovered_after_ms, summary
from fixtures.client_processes.driver_process import DriverResult
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import (
    EMPTY,
    HEALTHY_SCRIPT,
    Answer,
    Script,
)
from tests.conformance.client_plays import (
    ABORTED,
    FAILED,
    HEALTHY,
    STOPPED,
    WELL,
    FakeClient,
    asks,
    ended_well,
    entry,
    worked,
)
from tests.reference_model.clients.recordings import asked, listing, opened, recorded, sent
from wire.error_codes import ErrorCode

OVERLAP = "KIP-35.client-uses-overlap"
WRONG_VERSION = recorded(asked(3, listing((3, 0, 1))), sent(12), sent(13, at_ms=2))
LOOP = recorded(*(asked(3, at_ms=10 * n) for n in range(30)), connections=(opened(api_versions_requests=30),))
CUT_SHORT = replace(HEALTHY.recording, cut_short="the client got enough responses")
CLOSED_BY_BROKER = replace(CUT_SHORT, connections=(opened(closed_ms=5, closed_by="broker"), opened()))
HEALS = Script(heals_after_ms=700)
ENDS = partial(assert_ends_by_itself, FakeClient())
FAILING = Play(recording=HEALTHY.recording, result=FAILED)
STOPPED_PLAY = Play(recording=HEALTHY.recording, result=STOPPED)
SILENT_CLIENT = FakeClient(healthy=Play(recording=HEALTHY.recording, result=replace(WELL, outcome=None)))
"""A foreign command, which prints no result and is known by its exit status."""


def ending(**result: object) -> Play:
    """Return a play with a healthy recording and this end."""
    return Play(recording=HEALTHY.recording, result=replace(WELL, **result))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "play"),
    [
        pytest.param(ENDS, HEALTHY, id="works"),
        pytest.param(ENDS, FAILING, id="fails"),
        pytest.param(ENDS, STOPPED_PLAY, id="we-stopped-it"),
        pytest.param(
            partial(assert_ends_by_itself, SILENT_CLIENT),
            ending(outcome=None, exit_status=2),
            id="foreign-command-fails",
        ),
        pytest.param(assert_works, HEALTHY, id="ok"),
        pytest.param(assert_works, ending(outcome=None), id="exit-status-0"),
        pytest.param(assert_reports_error, FAILING, id="error"),
        pytest.param(assert_reports_error, ending(outcome=None, exit_status=3), id="exit-status-3"),
        pytest.param(assert_bounded, HEALTHY, id="two-requests"),
        pytest.param(partial(assert_names_version, version="1.0"), HEALTHY, id="own-version"),
        pytest.param(partial(assert_names_software, name="kgo"), HEALTHY, id="own-name"),
        pytest.param(partial(assert_names_software, name=""), HEALTHY, id="unknown-name"),
        pytest.param(partial(assert_names_software, name="a"), worked(asked(2)), id="no-name"),
        pytest.param(assert_waits_for_tls, HEALTHY, id="tls-first"),
        pytest.param(partial(assert_names_version, version="2"), worked(asked(2)), id="no-software"),
        pytest.param(
            partial(assert_names_version, version="2.16.1"),
            worked(asked(3, software=("a", "2.16.1-rdkafka-2.16.0"))),
            id="version-of-another-library-too",
        ),
        pytest.param(partial(assert_names_version, version=""), HEALTHY, id="unknown-version"),
        pytest.param(partial(assert_names_version, version="1"), HEALTHY, id="with-a-zero"),
        pytest.param(assert_allowed, ended_well(WRONG_VERSION), id="no-clause"),
        pytest.param(
            lambda play: assert_allowed(play, "KIP-511.client-name-valid"),
            ended_well(WRONG_VERSION),
            id="another-clause",
        ),
        pytest.param(assert_keeps_working, HEALTHY, id="metadata"),
        pytest.param(partial(assert_keeps_working, after_ms=0), HEALTHY, id="metadata-later"),
        pytest.param(assert_keeps_working, ending(asks=asks(True, False)), id="no-time-left"),
        pytest.param(
            assert_keeps_working,
            Play(recording=CUT_SHORT, result=replace(WELL, asks=asks(False, True))),
            id="first-ask-fails",
        ),
        pytest.param(
            assert_keeps_working,
            Play(
                recording=CLOSED_BY_BROKER,
                result=replace(WELL, asks=asks(True, False)),
            ),
            id="broker-closed-a-connection",
        ),
        pytest.param(assert_gives_no_ids, worked(asked(5)), id="no-ids"),
        pytest.param(
            assert_recovers,
            worked(sent(1, at_ms=900), connections=(opened(at_ms=100),), script=HEALS),
            id="recovers",
        ),
    ],
)
def test_play_is_as_it_has_to_be(check: Callable[[Play], None], play: Play) -> None:
    """Nothing is raised for a play that is as the assertion says."""
    check(play)


@pytest.mark.parametrize(
    ("check", "play", "message"),
    [
        pytest.param(
            ENDS,
            Play(recording=HEALTHY.recording, result=ABORTED),
            "the client's process is aborted by SIGABRT\nthe last line",
            id="abort",
        ),
        pytest.param(
            ENDS,
            ending(outcome=None, signal="SIGKILL", killed_for="memory", peak_rss_mb=4812.3),
            "the client's process uses more memory than it may: 4,812 MB",
            id="memory",
        ),
        pytest.param(
            partial(assert_names_software, name="librdkafka"),
            HEALTHY,
            "the client names itself 'kgo', and not 'librdkafka'",
            id="another-name",
        ),
        pytest.param(
            assert_waits_for_tls,
            worked(connections=(opened(unreadable=b"\0\n", is_before_tls=True),)),
            "connection 0: the client writes before the TLS handshake is finished, unencrypted: 00 0a",
            id="unencrypted",
        ),
        pytest.param(
            partial(assert_names_version, version="1.1"),
            HEALTHY,
            "the client names its version '1.0', but version 1.1 is installed",
            id="another-version",
        ),
        *(
            pytest.param(
                partial(assert_names_version, version="2.1"),
                worked(asked(3, software=("a", named))),
                f"the client names its version '{named}', but version 2.1 is installed",
                id=f"version-in-{named}",
            )
            for named in ("2.10", "12.1", "2.1.1", "2.1rc1")
        ),
        pytest.param(
            ENDS,
            ending(outcome=None, signal="SIGKILL", killed_for="time"),
            "the client's process hangs: it has to be killed, after the broker answered Metadata v12",
            id="hang",
        ),
        pytest.param(
            ENDS,
            ending(outcome=None, exit_status=2, output="goroutine 1\npanic: nil\n"),
            "the client's process ends without a result, with exit status 2\ngoroutine 1\npanic: nil",
            id="panic",
        ),
        pytest.param(
            assert_works,
            FAILING,
            "the client does not work: its operation fails\nTimeoutException",
            id="does-not-work",
        ),
        pytest.param(
            assert_works,
            STOPPED_PLAY,
            "the client does not work: its operation never ends\n1 brokers",
            id="never-ends",
        ),
        pytest.param(
            assert_reports_error,
            HEALTHY,
            "the application gets no error: its operation succeeds",
            id="no-error",
        ),
        pytest.param(
            assert_bounded,
            ended_well(LOOP),
            "the client loops on one connection: 30 ApiVersions requests in 2.0 s, 15 per second",
            id="loop",
        ),
        pytest.param(
            lambda play: assert_allowed(play, OVERLAP),
            ended_well(WRONG_VERSION),
            "Metadata v12 on connection 0 was sent although the table of that connection lists v0 to v1\n"
            "request 1 of that connection, after 1 ms\n"
            "and Metadata v13 on connection 0 was sent although the table of that connection lists v0 to v1",
            id="wrong-versions",
        ),
        pytest.param(
            assert_keeps_working,
            worked(asked(4), sent(12, response=b"")),
            "the client does not get metadata",
            id="no-metadata",
        ),
        pytest.param(
            partial(assert_keeps_working, after_ms=1),
            HEALTHY,
            "the client does not get metadata any more",
            id="no-metadata-later",
        ),
        pytest.param(
            assert_keeps_working,
            Play(recording=CUT_SHORT, result=replace(WELL, asks=asks(True, False))),
            "the client got metadata but does not work\nTimeoutException",
            id="last-ask-fails",
        ),
        pytest.param(
            assert_keeps_working,
            Play(
                recording=CLOSED_BY_BROKER,
                result=replace(WELL, asks=asks(False, False)),
            ),
            "the client got metadata but does not work\nTimeoutException",
            id="more-asks-fail-than-connections-are-closed",
        ),
        pytest.param(
            assert_gives_no_ids,
            worked(asked(5, ids=("c", 1))),
            "ApiVersions v5 on connection 0 gives a cluster id or node id: ('c', 1)",
            id="ids",
        ),
        pytest.param(
            assert_recovers,
            worked(sent(1, at_ms=799), connections=(opened(at_ms=100),), script=HEALS),
            "the client does not work again after the broker healed",
            id="does-not-recover",
        ),
    ],
)
def test_play_that_is_otherwise_is_a_failure(check: Callable[[Play], None], play: Play, message: str) -> None:
    """The message says what the client does, and what was measured."""
    with pytest.raises(AssertionError) as caught:
        check(play)
    assert str(caught.value).split("\nassert")[0] == message


def test_many_moves_are_counted() -> None:
    """Of many forbidden moves five are named and the others counted."""
    requests = (sent(50, at_ms=n) for n in range(1, 21))
    with pytest.raises(AssertionError) as caught:
        assert_allowed(worked(asked(3), *requests), OVERLAP)
    lines = str(caught.value).splitlines()
    assert len(lines) == 7
    assert lines[-1] == "and 15 further moves of this kind"


def test_failure_ends_with_a_summary() -> None:
    """A failure of a play ends with one sentence about all of it."""
    client = FakeClient(prepared=Play(recording=WRONG_VERSION, result=FAILED))
    with (
        pytest.raises(AssertionError) as caught,
        played(client, HEALTHY_SCRIPT) as play,
    ):
        assert_allowed(play, OVERLAP)
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith("Metadata v12 on connection 0 was sent")
    assert last == summary(client.prepared)


def test_failure_quotes_a_client_that_reports_nothing() -> None:
    """The last lines of its standard error stand before the summary, unless it prints lines of JSON."""
    errors = "one\ntwo\n\nthree " + "x" * 300 + "\nfour\n"
    for has_reported in (True, False):
        result = replace(WELL, outcome=None, exit_status=1, errors=errors, has_reported=has_reported)
        client = FakeClient(prepared=Play(recording=WRONG_VERSION, result=result))
        with pytest.raises(AssertionError) as caught, played(client, HEALTHY_SCRIPT) as play:
            assert_allowed(play, OVERLAP)
        quotes = [line for line in str(caught.value).splitlines() if line.startswith("stderr: ")]
        assert [quote[:13] for quote in quotes] == (
            [] if has_reported else ["stderr: ", "stderr: three", "stderr: four"]
        )
        assert all(len(quote) <= 158 for quote in quotes)


@pytest.mark.parametrize(
    ("play", "sentence"),
    [
        pytest.param(
            HEALTHY,
            "1 ApiVersions request in 2.0 s: 1 ApiVersions v4, 1 Metadata v12 on 1 connection; software kgo 1.0; "
            "exit status 0 after 0.5 s, success reported: 1 brokers",
            id="healthy",
        ),
        pytest.param(
            Play(recording=recorded(script=HEALS), result=FAILED),
            "0 ApiVersions requests in 2.0 s: no request on 0 connections; no software name; "
            "exit status 1 after 2.5 s, error reported: TimeoutException; not recovered",
            id="no-request",
        ),
        pytest.param(
            Play(
                recording=Recording(
                    script=HEALS,
                    connections=(opened(at_ms=100),),
                    requests=(asked(4, at_ms=100), sent(12, at_ms=1200)),
                    all_connections=40_000,
                    all_requests=42_930,
                    api_versions_requests=42_929,
                    duration_ms=2200,
                    cut_short="the client has recovered",
                ),
                result=STOPPED,
            ),
            "42,929 ApiVersions requests in 2.1 s, 20,442 per second: 1 ApiVersions v4, 1 Metadata v12 among the first 2 of "
            "42,930 requests on 40,000 connections; software kgo 1.0; killed after 0.5 s (stopped, 30 MB); "
            "recovered 0.4 s after healing; the play was cut short because the client has recovered",
            id="loop",
        ),
        pytest.param(
            Play(recording=recorded(asked(0, software=("", ""))), result=ABORTED),
            "1 ApiVersions request in 2.0 s: 1 ApiVersions v0 on 1 connection; no software name; "
            "ended by SIGABRT after 0.5 s",
            id="abort",
        ),
    ],
)
def test_play_is_summed_up(play: Play, sentence: str) -> None:
    """The summary has the requests, their rate, the software, the end of the process, and the recovery."""
    assert summary(play) == sentence


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        pytest.param(
            replace(WELL, outcome=None, exit_status=127, output="sh: not found\n"),
            r"could not be started \(exit status 127\): sh: not found",
            id="not-found",
        ),
        pytest.param(
            replace(WELL, outcome=None, exit_status=None, signal="SIGKILL"),
            "ended from outside by SIGKILL",
            id="killed-by-the-system",
        ),
    ],
)
def test_environment_is_not_the_clients_fault(result: DriverResult, reason: str) -> None:
    """A client that did not run, or was ended by somebody else, is no violation."""
    client = FakeClient(prepared=Play(recording=recorded(), result=result))
    with pytest.raises(HarnessError, match=reason), played(client, HEALTHY_SCRIPT):
        pass


def test_client_that_we_killed_is_judged() -> None:
    """A client that was killed because of its time or memory is judged."""
    client = FakeClient(prepared=Play(recording=recorded(), result=STOPPED))
    with played(client, HEALTHY_SCRIPT) as play:
        assert play is client.prepared


def test_error_counts_in_versions_that_can_have_it() -> None:
    """INVALID_REQUEST has a meaning from v3 on."""
    error = ErrorCode.INVALID_REQUEST
    refused = Answer(error_code=error, table=EMPTY)
    assert got_error(worked(asked(3, refused)), error)
    assert not got_error(worked(asked(2, refused)), error)
    assert not got_error(worked(asked(3), sent(12)), error)


def test_versions_are_the_newest_ones() -> None:
    """Of several versions the newest counts; a client without requests has none."""
    play = worked(asked(3), asked(4), sent(12), sent(1))
    assert (newest_api_versions(play), newest_metadata(play)) == (4, 12)
    assert (
        newest_api_versions(worked()),
        newest_metadata(worked()),
    ) == (-1, None)


def test_misrouting_has_its_times() -> None:
    """Each REBOOTSTRAP_REQUIRED to a request with ids is found."""
    misrouted = Answer(error_code=129, table=EMPTY)
    play = worked(asked(5, misrouted, at_ms=4), asked(5, misrouted, connection=1, at_ms=9))
    assert misrouted_at_ms(play) == [4, 9]


def test_recovery_needs_a_script_that_heals() -> None:
    """Without healing, or without a connection, there is no recovery."""
    assert recovered_after_ms(HEALTHY.recording) is None
    assert recovered_after_ms(recorded(script=HEALS)) is None


def test_recovery_is_asked_of_a_client_that_asks_again() -> None:
    play = worked(asked(4, Answer(cut_to=1)), script=HEALS)
    once, again = (FakeClient(client=entry(can_ask_again=can)) for can in (False, True))
    assert_recovers_if_asked_again(once, play)
    with pytest.raises(AssertionError, match="does not work again"):
        assert_recovers_if_asked_again(again, play)


REFUSED = asked(4, Answer(error_code=42, table=EMPTY))
CLOSED_AT_ONCE = recorded(REFUSED, connections=(opened(closed_ms=5),))
NEVER_CLOSED = recorded(REFUSED, connections=(opened(closed_ms=None, closed_by=""),))
LARGE = replace(FAILED, peak_rss_mb=FAILED.peak_rss_mb + 150.0)


@pytest.mark.parametrize(
    ("recording", "result", "failure"),
    [
        pytest.param(CLOSED_AT_ONCE, FAILED, "", id="forgotten"),
        pytest.param(
            NEVER_CLOSED,
            FAILED,
            "connection 0 stays open for 2000 ms after INVALID_REQUEST",
            id="connection",
        ),
        pytest.param(
            CLOSED_AT_ONCE,
            LARGE,
            "the client's memory grows from one attempt to the next: 150 MB more than with a healthy broker",
            id="memory",
        ),
    ],
)
def test_refused_attempts_are_forgotten(recording: Recording, result: DriverResult, failure: str) -> None:
    """A connection that was refused is closed, and its memory freed, before the client's process ends."""
    text = ""
    try:
        assert_forgets_refusals(FakeClient(), Play(recording=recording, result=result))
    except AssertionError as error:
        text = str(error)
    assert text == failure
