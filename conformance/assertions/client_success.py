"""Assertions about a client's success and recovery.

A success must be earned, and pauses between attempts must be long enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from clauses.operations import METADATA, NEEDS_OF_SASL, OPERATIONS
from conformance.assertions.client_moves import assert_works, newest_metadata, outcome_of, saw
from conformance.assertions.evidence import assert_in_time
from conformance.assertions.missing_support import missing_in, names_what_is_missing
from conformance.assertions.newest_versions import newest_versions
from conformance.assertions.play_summary import metadata_requests, recovered_after_ms
from fixtures.client_processes.driver_output import ERROR, OK, Ask
from fixtures.registry.clients import FOREIGN
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.limits import reconnects_in
from reference_model.clients.rules.read_response import ResponseKind, read_response
from reference_model.profiles.listeners import SASL_LISTENERS
from strategies.broker_scripts import range_of_metadata
from strategies.cluster_scripts import healthy_cluster
from wire.api_keys import SASL_KEYS
from wire.described_messages import CLUSTER_APIS

SAYS_NOTHING = "the error does not say what the broker lacks"
NEVER_ENDS = "the client neither works nor fails in its time"
REFUSES_NEEDLESSLY = "the client fails with a broker that lists all that it needs"


def assert_success_is_earned(client: ClientUnderTest, play: Play) -> None:
    """Fail if a client reports success although no broker answered the request that it needs for that.

    Args:
        client: the client; it needs the request if it sent one to the healthy broker.
        play: the play.
    """
    recording = play.recording
    is_seen = recording.all_requests == len(recording.requests)
    if outcome_of(play) != OK or not is_seen or not _got_metadata(client.healthy):
        return
    assert _got_metadata(play), "the client reports success, although no broker sent it metadata"


def _got_metadata(play: Play) -> bool:
    return any(each.api_key in CLUSTER_APIS and each.response for each in play.recording.requests)


def assert_works_or_says_why(client: ClientUnderTest, play: Play) -> None:
    """Fail unless the client's operation succeeds, or its error names what the broker lacks.

    Args:
        client: the client; of a foreign command no more is known than what it sends to a healthy broker.
        play: a play in which the broker has one table.
    """
    outcome, detail = outcome_of(play), play.result.detail
    if outcome == OK:
        return
    assert_in_time(outcome == ERROR, f"the client does not work: {saw(outcome)}")
    table = play.recording.script.nodes[0].connection(0).answer(0).table
    needs = _needs(client, play)
    missing = missing_in({key: table.ranges_of(key) for key in needs}, needs)
    # A foreign command need not print its error.
    if missing and play.result.outcome is None:
        return
    is_refusal = names_what_is_missing(detail)
    problem = why_unhelpful(play)
    if not missing:
        said = "no result in its time" if play.result.was_given_up else detail or play.result.summary
        problem = f"{REFUSES_NEEDLESSLY}: {said}"
    # A machine that is slow is the cause of many other errors.
    assert_in_time(is_refusal, problem)
    assert missing, problem


def why_unhelpful(play: Play) -> str:
    """Return what is wrong with an error that does not name what the broker lacks."""
    return NEVER_ENDS if play.result.was_given_up else f"{SAYS_NOTHING}: {play.result.detail}"


def _needs(client: ClientUnderTest, play: Play) -> Mapping[int, int]:
    """Return the APIs that a client needs with a healthy broker, with a version of each.

    On SASL listeners they include the APIs of authentication.
    """
    is_foreign = client.client.install.kind == FOREIGN
    needs = dict.fromkeys(newest_versions([client.healthy]), 0) if is_foreign else OPERATIONS[METADATA].needs
    is_sasl = play.recording.script.listener in SASL_LISTENERS
    return {**needs, **(NEEDS_OF_SASL if is_sasl else {})}


def assert_every_success_is_earned(client: ClientUnderTest, play: Play) -> None:
    """Fail if an ask of a client that asks again succeeded although no broker answered a request of it.

    Args:
        client: the client. If it answers some asks of a healthy play from what it knows, then only those before its
            first answer have to fail.
        play: a play in which the client keeps asking.
    """
    if play.recording.all_requests > len(play.recording.requests) or not _got_metadata(client.healthy):
        return
    unearned = _unearned_asks(play)
    # The latest play of the client stays the one that is judged.
    if any(_unearned_asks(client.plays.of(healthy_cluster()))):
        first_ms = min(_answers_ms(play), default=play.recording.duration_ms)
        unearned = [ask for ask in unearned if _latest_ms(ask, play) < first_ms]
    assert not unearned, (
        f"the client reports success after {unearned[0].at_ms} ms, although no broker sent it metadata for that\n"
        f"{len(unearned)} of {sum(ask.ok for ask in play.result.asks)} successes, the first one with {unearned[0].detail!r}"
    )


def _unearned_asks(play: Play) -> list[Ask]:
    """Return the successful asks during which no answer with metadata was written."""
    asks = play.result.asks
    begins_ms = (0, *(ask.at_ms for ask in asks))
    answers_ms = _answers_ms(play)
    return [
        ask
        for begin_ms, ask in zip(begins_ms, asks, strict=False)
        if ask.ok and not any(begin_ms <= each <= _latest_ms(ask, play) for each in answers_ms)
    ]


def _latest_ms(ask: Ask, play: Play) -> int:
    """Return when an ask may have ended at the latest, from the start of the play.

    The clock of a driver starts later than that of the play, but not after the client's first connection.
    """
    return ask.at_ms + play.recording.connections[0].opened_ms


def _answers_ms(play: Play) -> list[int]:
    return [each.responded_ms for each in play.recording.requests if each.api_key in CLUSTER_APIS and each.response]


def assert_table_is_not_used(client: ClientUnderTest, play: Play, what: str) -> None:
    """Fail if a client sends the newest version of Metadata of a table that it must not use.

    A client may send its usual version, or one that it guesses, without looking at any table; other clauses judge that.
    """
    _, listed = range_of_metadata(play.recording.script)
    usual = newest_metadata(client.healthy)
    if usual is None or usual <= listed:
        return
    used = [each for each in metadata_requests(play.recording) if each.api_version == listed]
    assert not used, f"the client sends Metadata v{listed}, as the table of a response {what} lists"


def assert_keeps_working(play: Play, *, after_ms: int = -1) -> None:
    """Fail unless the client gets metadata, after a time if one is given, and its latest ask succeeded.

    Args:
        play: a play in which the client keeps asking until it got enough responses.
        after_ms: the time, from the start of the play.
    """
    assert_in_time(
        any(each.response and each.at_ms > after_ms for each in metadata_requests(play.recording)),
        "the client does not get metadata" + (" any more" if after_ms >= 0 else ""),
    )
    asks = play.result.asks
    failed = [ask for ask in asks if not ask.ok]
    closed = sum(each.closed_by == "broker" for each in play.recording.connections)
    # The last ask of a client that was not stopped may have had no time left, and a client may report
    # each connection that the broker closes.
    stopped_in_failure = play.recording.cut_short and failed and asks[-1] is failed[-1]
    works = not stopped_in_failure or len(failed) <= closed
    assert_in_time(works, f"the client got metadata but does not work\n{'' if works else failed[-1].detail}")


def assert_uses_later_connections(play: Play) -> None:
    """Fail unless the client gets a response on a connection after its first one.

    Responses to ApiVersions and SASL requests do not count.
    """
    assert_in_time(
        any(
            each.response and each.connection > 0
            for each in play.recording.requests
            if not each.is_about_versions and each.api_key not in SASL_KEYS
        ),
        "the client uses none of its later connections",
    )


def assert_recovers(play: Play) -> None:
    """Fail unless the client gets metadata once the broker has healed."""
    assert_in_time(
        recovered_after_ms(play.recording) is not None,
        "the client does not work again after the broker healed",
    )


def assert_recovers_if_asked_again(client: ClientUnderTest, play: Play) -> None:
    """Fail unless the client recovers; one that ends after its first operation may report an error instead."""
    if client.client.can_ask_again:
        assert_recovers(play)


def assert_pauses(play: Play) -> None:
    """Fail if a client connects again and again without a pause."""
    reconnects = reconnects_in(play.recording)
    assert_in_time(not reconnects, reconnects)


def assert_uses_late_table(play: Play) -> None:
    """Fail unless a client works that kept its connection open until a slow broker had written its table.

    A client may give up before that; then it has closed the connection.
    """
    slow = (
        each for each in play.recording.requests if each.answer is not None and each.answer.delay_ms and each.is_served
    )
    if any(read_response(each).kind is ResponseKind.TABLE for each in slow):
        assert_works(play)
