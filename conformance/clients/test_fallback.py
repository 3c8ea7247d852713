"""Tests of a client's fallback after UNSUPPORTED_VERSION.

They check which version comes next, and what the response's table means.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


@pytest.mark.needs("sends_v1")
@pytest.mark.clause("KIP-35.client-falls-back-on-35")
@given(script=brokers_before_named_ranges())
@example(script=broker_up_to(0, REFUSAL_WITHOUT_RANGE))
def test_client_falls_back_to_v0(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker that supports v0 alone and names no range when it refuses another version."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-35.client-falls-back-on-35")
        assert_works(play)


@pytest.mark.malformed
@pytest.mark.needs("sends_v1", "gives_up")
@pytest.mark.clause("KIP-35.client-falls-back-on-35")
@given(script=brokers_with_useless_ranges())
@example(script=broker_up_to(0, refusal((9, 12)), timeout_ms=FAILURE_MS))
@example(script=broker_up_to(0, refusal((4, 2)), timeout_ms=FAILURE_MS))
@example(script=broker_up_to(0, refusal((-3, -1)), timeout_ms=FAILURE_MS))
@example(script=always_answering(REFUSAL_WITHOUT_RANGE))
@example(script=broker_that_refuses_what_it_named(2))
def test_useless_range_is_no_reason_to_repeat(client: ClientUnderTest, script: Script) -> None:
    """A client whose version is refused, and no lower one named, continues with a lower one or gives up."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-35.client-falls-back-on-35")
        assert_ends_by_itself(client, play)


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-511.client-uses-named-range")
@given(script=brokers_that_name_their_range())
@example(script=broker_up_to(0))
@example(script=broker_up_to(2))
@example(script=broker_up_to(3))
@example(script=broker_up_to(4))
def test_client_uses_the_named_range(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker that refuses its version and names an older range."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-511.client-uses-named-range")
        # Whether a client can read a table in a flexible version is another clause.
        if not flexible_tables(play):
            assert_works(play)


@pytest.mark.needs("sends_v3", "asks_again")
@pytest.mark.clause("KIP-511.client-uses-named-range")
@given(script=brokers_whose_versions_change())
@settings(max_examples=2)
@example(script=changed_versions(4, 2))
@example(script=changed_versions(2, 4))
@example(script=changed_versions(5, 0))
@example(script=changed_versions(2, 5))
def test_changed_range_is_followed(client: ClientUnderTest, script: Script) -> None:
    """A client works again with a broker that supports other versions of ApiVersions on its later connections."""
    readable = _readable_versions(client)
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-511.client-uses-named-range")
        if flexible_tables(play) <= readable:
            assert_uses_later_connections(play)


def _readable_versions(client: ClientUnderTest) -> set[int]:
    """Return the flexible versions of ApiVersions in which a client was seen to read a table.

    Another clause judges the other versions.
    """
    lower = range(FIRST_FLEXIBLE_VERSION, newest_api_versions(client.healthy))
    works = {each for each in lower if outcome_of(client.play(broker_up_to(each))) == OK}
    return works | flexible_tables(client.healthy)


@pytest.mark.needs("sends_v4")
@pytest.mark.clause("KIP-511.client-uses-newest-named-version")
@given(script=brokers_that_name_flexible_versions())
@settings(max_examples=2)
@example(script=broker_up_to(3))
@example(script=broker_up_to(4))
def test_client_keeps_its_name_in_an_older_version(client: ClientUnderTest, script: Script) -> None:
    """A client continues with the newest version that a refusal names, if that one has the client's name."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-511.client-uses-newest-named-version")


@pytest.mark.malformed
@pytest.mark.needs("sends_v3", "gives_up")
@pytest.mark.clause("KIP-511.client-uses-named-range")
@given(script=brokers_with_odd_ranges())
@example(script=always_answering(refusal((0, 5))))
@example(script=always_answering(refusal((0, 2))))
@example(script=broker_up_to(2, refusal((0, 5)), timeout_ms=FAILURE_MS))
@example(script=descending_refusals(4))
def test_versions_descend_to_an_end(client: ClientUnderTest, script: Script) -> None:
    """A client whose versions are refused again and again sends lower and lower ones, and comes to an end."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-511.client-uses-named-range")
        assert_ends_by_itself(client, play)


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-511.client-ignores-table-of-35")
@given(script=tables_in_refusals())
@example(script=broker_up_to(2))
@example(script=refusal_with_metadata(2, 1))
@example(script=refusal_with_metadata(0, 0, base="healthy"))
def test_table_of_a_refusal_is_not_used(client: ClientUnderTest, script: Script) -> None:
    """A client uses the table that comes without an error, and nothing of the table in a refusal."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-511.client-ignores-table-of-35")
        got_table = any(each.is_about_versions and each.is_served and each.response for each in play.recording.requests)
        if got_table:
            assert_works(play)
            assert_newest_metadata(play, newest_metadata(client.healthy), "as without a refusal")


@pytest.mark.malformed
@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-511.client-ignores-table-of-35")
@given(script=tables_in_every_refusal())
@example(script=table_in_every_refusal(1))
@example(script=table_in_every_refusal(4))
def test_refusal_is_never_taken_for_a_success(client: ClientUnderTest, script: Script) -> None:
    """A client that gets nothing but refusals does not choose a version from the tables in them."""
    with played(client, script) as play:
        usual = newest_metadata(client.healthy)
        # A client may send its usual version without looking at any table; other clauses judge that.
        if usual is not None and usual > range_of_metadata(script)[1]:
            assert_allowed(play, "KIP-511.client-ignores-table-of-35")
