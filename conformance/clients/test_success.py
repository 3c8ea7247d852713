"""Tests of what a client takes for a success.

No response with an error counts, nor does a response to another request or an operation that failed.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


@pytest.mark.malformed
@pytest.mark.needs("asks_metadata")
@pytest.mark.clause("KIP-35.client-reports-failure")
@given(script=brokers_before_api_versions() | brokers_without_overlap() | brokers_that_talk_nonsense())
@settings(max_examples=3)
@example(script=without_answer(on_open="close"))
@example(script=broker_with(ITSELF, timeout_ms=FAILURE_MS))
@example(script=always_answering(Answer(cut_to=20)))
def test_success_needs_metadata(client: ClientUnderTest, script: Script) -> None:
    """A client reports success only if a broker answered its request for metadata."""
    with played(client, script) as play:
        assert_success_is_earned(client, play)


@pytest.mark.malformed
@pytest.mark.needs("asks_metadata", "asks_again")
@pytest.mark.clause("KIP-35.client-reports-failure")
@given(script=brokers_that_fail_for_long())
@settings(max_examples=2)
@example(script=failing_for_long(first_works=True))
@example(script=failing_for_long(first_works=True, answer=Answer(cut_to=20)))
@example(script=failing_for_long(first_works=False, answer=Answer(cut_to=20)))
def test_every_success_needs_metadata(client: ClientUnderTest, script: Script) -> None:
    """A client that asks again and again reports no success while the broker fails, whatever it reported before."""
    with played(client, script) as play:
        assert_every_success_is_earned(client, play)


@pytest.mark.malformed
@pytest.mark.needs("asks_metadata", "option:sasl_plain")
@pytest.mark.clause("KIP-35.client-reports-failure")
@given(script=brokers_with_sasl_ranges() | sasl_brokers_that_talk_nonsense() | brokers_that_refuse_login())
@settings(max_examples=3)
@example(script=broker_that_refuses_login("password"))
@example(script=broker_that_refuses_login("mechanism"))
@example(script=broker_that_refuses_login("close"))
@example(script=broker_that_refuses_login("close", (0, 0)))
@example(script=broker_with_sasl_ranges(None, None))
@example(script=broker_with_sasl_ranges((3, 9), (0, 2)))
@example(script=sasl_nonsense(Answer(table=Table(null=True))))
def test_success_needs_authentication(client: ClientUnderTest, script: Script) -> None:
    """A client that could not authenticate reports no success."""
    with played(client, script) as play:
        assert_success_is_earned(client, play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-511.client-ignores-table-of-35")
@given(script=tables_with_errors())
@settings(max_examples=3)
@example(script=table_with_error(-1))
@example(script=table_with_error(15, 8))
@example(script=table_with_error(33))
def test_table_with_an_error_is_not_used(client: ClientUnderTest, script: Script) -> None:
    """A client that gets nothing but errors chooses no version from the tables that come with them."""
    with played(client, script) as play:
        assert_table_is_not_used(client, play, "with an error")


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-35.client-survives-nonsense")
@given(script=foreign_tables())
@settings(max_examples=3)
@example(script=foreign_table(1))
@example(script=foreign_table(-1, 8))
def test_table_for_another_request_is_not_used(client: ClientUnderTest, script: Script) -> None:
    """A client chooses no version from a table whose correlation id is not that of its request."""
    with played(client, script) as play:
        assert_table_is_not_used(client, play, "with another correlation id")
