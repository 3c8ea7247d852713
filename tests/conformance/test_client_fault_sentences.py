"""The sentence of a client's failure says what was seen.

A table has planted faults, properties and first lines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.assertions.broker_acts import last_act, refused_for_good
from conformance.assertions.client_moves import (
    TOO_MUCH_MEMORY,
    assert_memory_stays_small,
    assert_sends_none_of,
    assert_works,
    played,
)
from conformance.assertions.play_summary import summary
from conformance.mutation.properties import client_properties
from conformance.roles.client_check import seen_lines
from conformance.roles.client_needs import NEEDS
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.in_memory_client import in_memory_client
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import HEALTHY_SCRIPT, Answer, Table
from strategies.broker_scripts import broker_with
from strategies.nonsense_scripts import TLS_ALERT
from tests.conformance.client_plays import FAILED, WELL, FakeClient, ended_well, worked
from tests.reference_model.clients.recordings import asked, opened, recorded, refused, sent
from wire.api_keys import METADATA_KEY

LISTS_V60 = broker_with(Table(changed=((METADATA_KEY, 60, 70),)))
"""A broker that lists v60 to v70 of Metadata."""
NO_VERSION = "ApiVersions v2 was refused, and nothing lower was tried"


@pytest.mark.parametrize(
    ("fault", "judged", "sentence"),
    [
        (
            "tls-alert-is-given-room",
            "test_nonsense_is_survived",
            f"{TOO_MUCH_MEMORY}: 353 MB, and 0 MB with a healthy broker",
        ),
        (
            "empty-frame-hangs-the-process",
            "test_nonsense_is_survived",
            "the client's process hangs: it has to be killed, after the broker answered ApiVersions v5 with "
            "a frame whose size says 0 bytes, and 551 came",
        ),
        (
            "first-piece-is-taken-for-the-response",
            "test_split_response_is_read",
            "the client does not work: its operation fails",
        ),
        (
            "each-feature-from-level-0-is-refused",
            "test_feature_from_level_0_is_accepted",
            "the client does not work: its operation fails",
        ),
    ],
)
def test_failure_says_what_was_seen(fault: str, judged: str, sentence: str) -> None:
    """The first pinned example that fails has the sentence of its fault."""
    assert first_sentence(fault, judged) == sentence


def first_sentence(fault: str, judged: str) -> str:
    """Return the first line of the first pinned example that fails; empty if none does."""
    found = client_properties()[judged]
    client = in_memory_client(fault)
    for values in found.pinned:
        try:
            found.body(client=client, **values)
        except AssertionError as error:
            return str(error).partition("\n")[0]
    return ""


@pytest.mark.parametrize("clause_of", ["conformance.clients", "conformance.operations"])
def test_what_pytest_adds_is_left_out(clause_of: str) -> None:
    """A summary follows the message at once, without the values of a compared expression."""
    client = FakeClient(prepared=worked(asked(4)))
    with pytest.raises(AssertionError) as caught, played(client, HEALTHY_SCRIPT):
        raise AssertionError(f"{clause_of} says it\nassert 7 <= 5\n +  where 7 = len([SeenRequest()])")
    message = str(caught.value)
    assert "assert 7" not in message
    assert "SeenRequest" not in message
    assert message.startswith(f"{clause_of} says it\n")
    assert "ApiVersions v4" in message


CLOSED: dict[str, Any] = {"closed_ms": 9, "closed_by": "broker"}


@pytest.mark.parametrize(
    ("recording", "words"),
    [
        (recorded(), ""),
        (
            recorded(connections=(opened(),)),
            "the broker accepted a connection, on which no request came",
        ),
        (
            recorded(connections=(opened(**CLOSED),)),
            "the broker closed the connection before any request",
        ),
        (
            recorded(connections=(opened(**CLOSED, was_reset=True),)),
            "the broker reset the connection before any request",
        ),
        (recorded(asked(4)), "the broker answered ApiVersions v4 with a table"),
        (
            recorded(asked(4, Answer(then="reset")), connections=(opened(**CLOSED, was_reset=True),)),
            "the broker answered ApiVersions v4 with a table and reset the connection",
        ),
        (
            recorded(asked(4, refused())),
            "the broker answered ApiVersions v4 with UNSUPPORTED_VERSION",
        ),
        (
            recorded(asked(4, Answer(error_code=42))),
            "the broker answered ApiVersions v4 with INVALID_REQUEST",
        ),
        (
            recorded(asked(4, Answer(raw=TLS_ALERT))),
            "the broker answered ApiVersions v4 with a frame whose size says 352,518,912 bytes, and 3 came",
        ),
        (
            recorded(asked(4, Answer(raw=b"\x15\x03"))),
            "the broker answered ApiVersions v4 with 2 bytes, fewer than a size has",
        ),
        (
            recorded(asked(4, Answer(cut_to=20))),
            "the broker answered ApiVersions v4 with a response that cannot be decoded",
        ),
        (
            recorded(asked(4, Answer(delay_ms=700))),
            "the broker answered ApiVersions v4 with a table, 700 ms later",
        ),
        (recorded(asked(4), sent(9)), "the broker answered Metadata v9"),
        (recorded(asked(4), sent(9, response=b"")), "the broker sent no response to Metadata v9"),
        (
            recorded(asked(4), sent(9, response=b""), connections=(opened(**CLOSED),)),
            "the broker closed the connection on Metadata v9",
        ),
    ],
)
def test_the_last_act_of_the_broker_is_said(recording: Recording, words: str) -> None:
    """The request and its version, what came in response, and whether the end was a reset."""
    assert last_act(recording) == words


@pytest.mark.parametrize(
    ("requests", "version"),
    [
        ((asked(2, refused()),), 2),
        ((asked(2, refused()), asked(2, refused(), at_ms=1)), 2),
        ((asked(4, refused((0, 2))), asked(2, refused(), at_ms=1)), 2),
        ((asked(4, refused((0, 2))), asked(2, at_ms=1)), None),
        ((asked(0, refused()),), None),
        ((asked(4),), None),
    ],
)
def test_a_version_that_is_refused_for_good_is_known(requests: tuple[SeenRequest, ...], version: int | None) -> None:
    """A client that pins a version tries nothing lower after it was refused."""
    assert refused_for_good(recorded(*requests)) == version


def test_a_client_that_pins_a_version_is_said_to_try_nothing_lower() -> None:
    """In the first line, which is what a run shows as seen; a client that works is not judged by it."""
    recording = recorded(asked(2, refused()))
    with pytest.raises(AssertionError, match=f"^the client does not work: {NO_VERSION}\n"):
        assert_works(Play(recording=recording, result=FAILED))
    assert_works(ended_well(recording))


@pytest.mark.parametrize(
    ("requests", "how"),
    [
        ((asked(4), sent(12)), "although the broker lists v60 to v70"),
        (
            (asked(4, Answer(delay_ms=9)), sent(12)),
            "before it has the broker's table, which lists v60 to v70",
        ),
        (
            (sent(12), asked(4, at_ms=5)),
            "without having asked for versions on that connection; the broker lists v60 to v70",
        ),
    ],
)
def test_a_request_before_the_table_is_not_said_to_defy_it(requests: tuple[SeenRequest, ...], how: str) -> None:
    """What a client could not know yet is said as such."""
    with pytest.raises(AssertionError) as caught:
        assert_sends_none_of(worked(*requests, script=LISTS_V60), {METADATA_KEY})
    assert str(caught.value) == f"the client sends Metadata v12, {how}"
    assert_sends_none_of(worked(asked(4), sent(1, api_key=1), script=LISTS_V60), {METADATA_KEY})


def test_resets_are_summed_up() -> None:
    """A summary says who reset connections; an end with FIN is the usual one."""
    ends = (opened(**CLOSED, was_reset=True), opened(1), opened(2, was_reset=True))
    text = summary(ended_well(recorded(asked(4), connections=ends)))
    assert "1 connection reset by the broker, 1 connection reset by the client" in text
    assert "reset" not in summary(worked(asked(4)))


@pytest.mark.parametrize(("peak_mb", "is_red"), [(286.0, False), (287.0, True)])
def test_memory_is_compared_with_the_healthy_play(peak_mb: float, is_red: bool) -> None:
    """A client may use 256 MB more than with a healthy broker, which is less than an alert of TLS announces as a
    size."""
    play = replace(worked(asked(4)), result=replace(WELL, peak_rss_mb=peak_mb))
    if not is_red:
        assert_memory_stays_small(FakeClient(), play)
        return
    with pytest.raises(AssertionError, match=f"^{TOO_MUCH_MEMORY}: 287 MB, and 30 MB with"):
        assert_memory_stays_small(FakeClient(), play)


@pytest.mark.parametrize(
    ("requests", "is_seen"),
    [((asked(0),), False), ((asked(1),), False), ((asked(0), asked(1)), True), ((asked(3),), True)],
)
def test_which_version_is_the_newest_must_have_been_seen(requests: tuple[SeenRequest, ...], is_seen: bool) -> None:
    """A client that sends one old version alone does not show whether it begins with its newest."""
    assert NEEDS["newest_is_seen"].is_met(FakeClient(healthy=worked(*requests))) is is_seen


def test_check_says_that_a_client_has_no_name() -> None:
    """What `--client-check` prints has the remark that a run has at its end."""
    lines = list(seen_lines("fake", worked(asked(1), sent(4))))
    assert any(line.startswith("Note: it sends ApiVersions v1 alone, which has no name") for line in lines)
    assert not any(line.startswith("Note") for line in seen_lines("fake", worked(asked(3))))
