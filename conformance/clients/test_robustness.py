"""Tests of clients that meet errors, nonsense and silence.

A client stays bounded, reports an error, and works again after a better response.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *

NULL_TABLE = Answer(table=Table(null=True))
HUGE_COUNT = Answer(table=Table(claimed_count=2**31 - 1))
CUT_OFF = Answer(cut_to=20)
ALERT = Answer(raw=TLS_ALERT, then="close")
ALERT_AFTER_A_TABLE = Answer(appended=TLS_ALERT, then="close")
ONLY_CODE_35 = Answer(error_code=35, table=ITSELF, layout=0, cut_to=2)


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-511.client-errors-on-42")
@given(script=brokers_that_refuse_names())
@example(script=refused_for_name())
@example(script=refused_for_name(table=HEALTHY))
@example(script=name_refused_by_an_older_broker(NEWEST_VERSION))
@example(script=name_refused_by_an_older_broker())
def test_refused_name_is_an_error(client: ClientUnderTest, script: Script) -> None:
    """A client whose name is refused closes the connection, sends nothing more on it, and reports an error."""
    with played(client, script) as play:
        assert_refused_name_is_an_error(play)


@pytest.mark.needs("sends_v3", "asks_again")
@pytest.mark.clause("KIP-511.client-errors-on-42")
@given(script=brokers_that_refuse_names_again_and_again())
@settings(max_examples=1)
@example(script=refused_again_and_again())
def test_refusals_leave_nothing_behind(client: ClientUnderTest, script: Script) -> None:
    """A client whose name is refused at every attempt closes all connections and frees its memory.

    Each attempt begins when the client's application asks.
    """
    with played(client, script) as play:
        assert_forgets_refusals(client, play)


@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-35.client-survives-old-broker")
@given(script=brokers_before_api_versions())
@example(script=without_answer("close"))
@example(script=without_answer("silence"))
@example(script=without_answer(on_open="close"))
@example(script=without_answer("close", newest=0))
@example(script=always_answering(Answer(held_back=True)))
@example(script=swapping_broker())
def test_broker_before_api_versions_is_survived(client: ClientUnderTest, script: Script) -> None:
    """A client that gets no response to ApiVersions ends within its time.

    It sends no flood of requests or connections.
    """
    with played(client, script) as play:
        assert_bounded(play)
        assert_pauses(play)
        assert_ends_by_itself(client, play)


@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-35.client-survives-old-broker")
@given(script=slow_brokers())
@settings(max_examples=2)
@example(script=slow_broker())
@example(script=slow_broker(pieces=2, delay_ms=LONG_PAUSE_MS // 2))
@example(script=slow_broker(always=False))
def test_pause_of_seconds_is_survived(client: ClientUnderTest, script: Script) -> None:
    """A client works with a table that came after seconds if it has waited so long.

    It ends within its time in any case.
    """
    with played(client, script) as play:
        assert_bounded(play)
        assert_ends_by_itself(client, play)
        assert_uses_late_table(play)


@pytest.mark.needs("asks_metadata", "sends_v1")
@pytest.mark.clause("KIP-35.client-works-when-throttled")
@given(script=throttling_brokers())
@settings(max_examples=2)
@example(script=throttling_broker(1))
@example(script=throttling_broker(500))
def test_throttled_client_works_after_the_pause(client: ClientUnderTest, script: Script) -> None:
    """A client uses a table whose throttle time is above zero, and does not ask for it again and again."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_works(play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-35.client-survives-nonsense")
@given(script=brokers_that_talk_nonsense())
@example(script=always_answering(NULL_TABLE))
@example(script=always_answering(HUGE_COUNT))
@example(script=always_answering(CUT_OFF))
@example(script=always_answering(ONLY_CODE_35))
@example(script=always_answering(Answer(flexible_header=True)))
@example(script=always_answering(Answer(correlation_shift=1, then="close")))
@example(script=always_answering(Answer(error_code=129, table=EMPTY)))
@example(script=always_answering(Answer(error_code=-1, table=HEALTHY)))
@example(script=always_answering(Answer(table=Table(changed=((3, 9, 1), (18, 5, 0))))))
@example(script=always_answering(Answer(claimed_size=ABSURD_SIZE, pieces=3)))
@example(script=always_answering(Answer(claimed_size=-1)))
@example(script=always_answering(Answer(claimed_size=0)))
@example(script=always_answering(Answer(claimed_size=1)))
@example(script=always_answering(Answer(claimed_size=2)))
@example(script=always_answering(Answer(claimed_size=3)))
@example(script=always_answering(Answer(claimed_size=-1, then="close")))
@example(script=always_answering(Answer(claimed_size=0, then="close")))
@example(script=always_answering(Answer(claimed_size=1, then="close")))
@example(script=always_answering(Answer(claimed_size=2, then="close")))
@example(script=always_answering(Answer(claimed_size=3, then="close")))
@example(script=always_answering(Answer(trailing=bytes(4))))
@example(script=always_answering(Answer(throttle_time_ms=-1)))
@example(script=always_answering(Answer(throttle_time_ms=2**31 - 1)))
@example(script=always_answering(Answer(tag_section=DUPLICATE_TAG)))
@example(script=always_answering(Answer(tag_section=bytes.fromhex("01 0affffffff0f61"))))
@example(script=always_answering(Answer(tag_section=HUGE_FEATURE_COUNT)))
@example(script=always_answering(Answer(table=Table(claimed_count=-2))))
@example(script=always_answering(Answer(table=Table(count_bytes=ENDLESS_COUNT))))
@example(script=always_answering(Answer(copies=2)))
@example(script=unasked_response(Answer(correlation_shift=1)))
@example(script=always_answering(ALERT))
@example(script=always_answering(ALERT_AFTER_A_TABLE))
def test_nonsense_is_survived(client: ClientUnderTest, script: Script) -> None:
    """A client that gets nonsense for a table is not aborted, keeps its memory small, and sends no flood."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_memory_stays_small(client, play)
        assert_bounded(play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "asks_again")
@pytest.mark.clause("KIP-35.client-survives-nonsense")
@given(script=brokers_that_heal())
@example(script=healing(Answer(action="close")))
@example(script=healing(CUT_OFF))
@example(script=healing(ONLY_CODE_35))
@example(script=healing(NULL_TABLE))
@example(script=healing(Answer(correlation_shift=1, then="close")))
@example(script=healing(Answer(table=UNUSABLE_TABLES[0])))
@example(script=healing(Answer(table=UNUSABLE_TABLES[1])))
@example(script=healing(Answer(table=UNUSABLE_TABLES[2])))
@example(script=healing(Answer(table=UNUSABLE_TABLES[3])))
@example(script=healing(Answer(table=UNUSABLE_TABLES[4])))
@example(script=healing_after_a_huge_frame())
@example(script=healing(ALERT))
def test_client_works_again_with_a_healthy_broker(client: ClientUnderTest, script: Script) -> None:
    """A client that got nonsense for a table works without a restart once the broker is healthy."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_recovers(play)
