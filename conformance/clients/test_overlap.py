"""Tests that a client uses only versions in the table that its connection got.

They are about versions of other APIs.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=brokers_with_metadata_ranges())
@example(script=broker_with(metadata_ranges(0, 1)))
@example(script=broker_with(metadata_ranges(3, 13)))
@example(script=broker_with(metadata_ranges(4, 5)))
@example(script=broker_with(metadata_ranges(0, 32767)))
@example(script=broker_of("0.10.0.1"))
def test_version_lies_in_the_overlap(client: ClientUnderTest, script: Script) -> None:
    """A client sends versions that the broker lists, and works if its usual one is among them."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-uses-overlap")
        low, high = range_of_metadata(script)
        usual = newest_metadata(client.healthy)
        assert usual is not None
        if low <= usual <= high:
            assert_works(play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=brokers_without_overlap())
@example(script=broker_with(metadata_ranges(60, 70), timeout_ms=FAILURE_MS))
@example(script=broker_with(metadata_ranges(7, 2), timeout_ms=FAILURE_MS))
@example(script=broker_with(metadata_ranges(-3, -1), timeout_ms=FAILURE_MS))
@example(script=broker_with(Table(removed=(3,)), timeout_ms=FAILURE_MS))
@example(script=broker_with(EMPTY, timeout_ms=FAILURE_MS))
def test_no_overlap_is_an_error(client: ClientUnderTest, script: Script) -> None:
    """A client that shares no version of Metadata with the broker reports an error.

    It sends nothing that is not listed.
    """
    with played(client, script) as play:
        assert_sends_none_of(play, {METADATA_KEY})
        assert_allowed(play, "KIP-35.client-uses-overlap")
        assert_bounded(play)
        assert_reports_error(play)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-35.client-prefers-newest")
@given(script=brokers_with_older_apis())
@example(script=broker_with(metadata_ranges(0, 4)))
@example(script=broker_with(metadata_ranges(0, 5)))
@example(script=broker_with_older_apis(2, 6, 0))
def test_newest_common_version_is_used(client: ClientUnderTest, script: Script) -> None:
    """A client sends in each request the broker's newest version of its API if that is below its own newest."""
    with played(client, script) as play:
        assert_newest_common_versions(play, newest_versions([client.healthy]))


@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-35.client-asks-per-connection")
@given(script=brokers_that_change())
@example(script=changing_broker(with_table(metadata_ranges(0, 4))))
@example(script=two_nodes_with(with_table(metadata_ranges(0, 4))))
@example(script=changed_versions(NEWEST_VERSION, 2))
@example(script=changed_versions(4, 2))
@example(script=changed_versions(2, 4))
@example(script=changing_broker(connection_of("2.8.2")))
def test_each_connection_has_its_own_table(client: ClientUnderTest, script: Script) -> None:
    """A client requests the table on each connection, and uses no other table there."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-asks-per-connection")


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "asks_again")
@pytest.mark.clause("KIP-35.client-asks-per-connection")
@given(script=brokers_that_heal())
@settings(max_examples=2)
@example(script=healing(Answer(cut_to=20)))
@example(script=healing(Answer(error_code=-1, table=HEALTHY)))
@example(script=healing(Answer(action="close")))
def test_healed_broker_is_asked_for_its_table(client: ClientUnderTest, script: Script) -> None:
    """A client requests the table on each connection to a broker that failed before, and now answers well."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-asks-per-connection")


@pytest.mark.needs("asks_versions", "asks_metadata", "asks_again")
@pytest.mark.clause("KIP-35.client-asks-per-connection")
@given(script=late_tables())
@settings(max_examples=2)
@example(script=late_table())
@example(script=late_table(always=False))
def test_late_table_is_used_on_no_other_connection(client: ClientUnderTest, script: Script) -> None:
    """A client that did not wait for the table of a connection uses it on no other one when it comes at last."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-asks-per-connection")


@pytest.mark.needs("asks_versions", "option:tls")
@pytest.mark.clause("KIP-35.client-asks-per-connection")
@given(script=lower_brokers().map(lambda later: changing_broker(later, listener=SSL)))
@settings(max_examples=2)
@example(script=changing_broker(with_table(metadata_ranges(0, 4)), listener=SSL))
def test_each_tls_connection_has_its_own_table(client: ClientUnderTest, script: Script) -> None:
    """A client requests the table on each TLS connection, and uses no other table there."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-asks-per-connection")


@pytest.mark.needs("asks_versions", "option:sasl_plain")
@pytest.mark.clause("KIP-35.client-asks-per-connection")
@given(script=lower_brokers().map(lambda later: changing_broker(later, listener=SASL_PLAINTEXT)))
@settings(max_examples=2)
@example(script=changing_broker(with_table(metadata_ranges(0, 4)), listener=SASL_PLAINTEXT))
def test_each_sasl_connection_has_its_own_table(client: ClientUnderTest, script: Script) -> None:
    """A client requests the table on each connection with SASL, and uses no other table there."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-asks-per-connection")


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-35.client-tolerates-unknown-keys")
@given(script=brokers_of_the_future())
@example(script=broker_with(Table(after=((10_000, 0, 3), (32_767, 0, 0)))))
@example(script=broker_with(Table(before=((200, 0, 1),))))
# The first APIs with these bytes have the keys 256, 512 and -256, and those of Metadata 259, 515 and -253.
@example(script=broker_with_twins(1, 0, 0))
@example(script=broker_with_twins(1, 60, 70, where="before"))
@example(script=broker_with_twins(2, 0, 0))
@example(script=broker_with_twins(-1, 0, 0))
@example(script=one_node(Answer(unknown_tags=((10, b"a"), (300, b""))), timeout_ms=SUCCESS_MS))
@example(
    script=one_node(
        Answer(supported_features=(("x", 1, 9),), finalized_features=(("x", 9, 1),)),
        timeout_ms=SUCCESS_MS,
    )
)
def test_unknown_keys_change_nothing(client: ClientUnderTest, script: Script) -> None:
    """A client works as usual if the broker lists APIs, tagged fields and features that it does not know."""
    with played(client, script) as play:
        assert_works(play)
        assert_newest_metadata(play, newest_metadata(client.healthy), "as usual")
        assert_as_new_as_usual(play, client.healthy)
